"""Trees as rules: one per leaf, with the conditions of its path merged."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any, NamedTuple

from marginwood._core.nodes import LEAF
from marginwood._drawing import name_value, show_labels
from marginwood._fitted import read_tree
from marginwood._support.text import one_line
from marginwood._trees.table import IntervalTree

__all__ = ["Condition", "Rule", "leaf_conditions", "to_rules"]


class Condition(NamedTuple):
    """What a rule asks of one feature.

    Parameters
    ----------
    feature : str
        Name of the feature.
    above : float or None, default=None
        Numbers must be greater; None for no bound.
    at_most : float, default=inf
        Numbers must not be greater.
    missing : bool, default=True
        Whether the condition holds for NaN, or for a category that is missing or was not known to
        training.
    categories : tuple or None, default=None
        The categories that it holds for; None for numbers.

    Examples
    --------
    >>> from marginwood.export import Condition
    >>> print(Condition("dose", above=1.5))
    (dose > 1.5 or missing)
    """

    feature: str
    above: float | None = None
    at_most: float = inf
    missing: bool = True
    categories: tuple[Any, ...] | None = None

    def __str__(self) -> str:
        name = one_line(self.feature)
        if self.categories is not None:
            labels = f"{name} in {show_labels(list(self.categories), len(self.categories))}"
            missing = f"({labels} or missing)" if self.categories else f"{name} is missing"
            return missing if self.missing else labels
        if self.missing and self.above is not None and self.above >= self.at_most:
            return f"{name} is missing"
        if not self.missing and self.above is None and self.at_most == inf:
            return f"{name} is present"
        if self.above is None:
            numbers = f"{name} <= {self.at_most:g}"
        elif self.at_most == inf:
            numbers = f"{name} > {self.above:g}"
        else:
            numbers = f"{self.above:g} < {name} <= {self.at_most:g}"
        return f"({numbers} or missing)" if self.missing else numbers


class Rule(NamedTuple):
    """A leaf of a tree.

    Parameters
    ----------
    conditions : tuple of Condition
        All must hold for a row to come here.
    value : float
        The prediction.
    low, high : float
        Ends of the interval of equally good predictions.
    n_samples : int
        Number of training rows.
    """

    conditions: tuple[Condition, ...]
    value: float
    low: float
    high: float
    n_samples: int

    def __str__(self) -> str:
        conditions = " and ".join(map(str, self.conditions)) or "always"
        value = name_value(self.value, self.low, self.high, lambda number: f"{number:g}")
        return f"{conditions}: {value}, samples: {self.n_samples}"


def to_rules(tree: Any, *, feature_names: Any = None) -> list[Rule]:
    r"""Turn a fitted tree into rules, of which every row satisfies exactly one.

    Parameters
    ----------
    tree : estimator
        A fitted tree of this package, or a pipeline that ends in one; of a forest or of boosting,
        one of its ``estimators_``.
    feature_names : sequence of str, default=None
        Names of the features; by default those seen by `fit`, or ``x[0]``, ``x[1]``, ...

    Returns
    -------
    list of Rule
        One rule per leaf, with at most one condition per feature. Its text shows six digits; its
        fields are exact.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.export import to_rules
    >>> tree = MaxMarginIntervalTree().fit([[1], [2], [3], [float("nan")]], [(0, 1), (4, 6), (8, 9), (8, 9)])
    >>> rules = to_rules(tree, feature_names=["dose"])
    >>> print(*rules, sep="\n")
    dose <= 1.5: 0.5 in [0, 1], samples: 1
    1.5 < dose <= 2.5: 5 in [4, 6], samples: 1
    (dose > 2.5 or missing): 8.5 in [8, 9], samples: 2
    >>> rules[1].conditions
    (Condition(feature='dose', above=1.5, at_most=2.5, missing=False, categories=None),)
    """
    fitted, table = read_tree(tree)
    rules = []
    for idx, conditions in leaf_conditions(
        table, fitted.feature_names(feature_names), fitted.categories
    ):
        leaf = table.nodes[idx]
        value, low, high = (float(leaf[field]) for field in ("value", "value_low", "value_high"))
        rules.append(
            Rule(tuple(conditions.values()), value, low, high, int(leaf["n_node_samples"]))
        )
    return rules


def leaf_conditions(
    tree: IntervalTree, names: list[str], categories: Any = None, *, in_order: bool = False
) -> Iterator[tuple[int, dict[int, Condition]]]:
    """Each leaf, from left to right, with a condition for each feature of its path.

    For reading `in_order`, where the first leaf whose conditions hold counts, only turns to the
    left are conditions: if all leaves to the left of a leaf are out, the turns to the right are
    taken.
    """
    fields = ("feature", "threshold", "missing_go_to_left", "children_left", "children_right")
    nodes = list(zip(*(tree.nodes[field].tolist() for field in fields), strict=True))
    pending: list[tuple[int, dict[int, Condition]]] = [(0, {})]
    while pending:
        idx, conditions = pending.pop()
        feature, threshold, missing_goes_left, left, right = nodes[idx]
        if left == LEAF:
            yield idx, conditions
            continue
        codes = tree.codes_of(idx)
        labels = () if codes is None else tuple(categories[feature])
        here = conditions.get(
            feature, Condition(names[feature], categories=None if codes is None else labels)
        )
        sides = [
            _narrow(here, threshold, goes_left, bool(missing_goes_left))
            for goes_left in (True, False)
        ]
        if codes is not None:
            listed = {labels[code] for code in codes}
            sides = [
                _choose(here, listed, goes_left, bool(missing_goes_left))
                for goes_left in (True, False)
            ]
        pending.append((right, conditions if in_order else conditions | {feature: sides[1]}))
        pending.append((left, conditions | {feature: sides[0]}))


def _choose(
    condition: Condition, listed: set[Any], goes_left: bool, missing_goes_left: bool
) -> Condition:
    """A condition and that of one side of a split of categories."""
    kept = tuple(label for label in condition.categories or () if (label in listed) == goes_left)
    return condition._replace(
        categories=kept, missing=condition.missing and goes_left == missing_goes_left
    )


def _narrow(
    condition: Condition, threshold: float, goes_left: bool, missing_goes_left: bool
) -> Condition:
    """A condition and that of one side of a split."""
    missing = condition.missing and goes_left == missing_goes_left
    above = condition.above
    if goes_left:
        return condition._replace(at_most=min(condition.at_most, threshold), missing=missing)
    return condition._replace(
        above=threshold if above is None else max(above, threshold), missing=missing
    )
