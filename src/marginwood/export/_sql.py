"""Models as SQL expressions."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import lru_cache
from typing import Any

from marginwood._fitted import read
from marginwood._trees.table import IntervalTree
from marginwood.export._rules import Condition, leaf_conditions
from marginwood.export._xgboost import EXPECTED, read_any_ensemble

__all__ = ["to_sql"]


def to_sql(model: Any, *, feature_names: Any = None, table: str | None = None) -> str:
    """Turn a fitted tree, forest, boosting or linear model into an SQL expression that predicts.

    A tree is one ``CASE`` with a branch per leaf, in an order that lets each branch do with few
    conditions. It is flat: the depth of the tree does not matter. Missing features are NULL, and
    categories are literals of their labels.

    Parameters
    ----------
    model : estimator
        A fitted tree of this package, boosting, XGBoost's included, a forest that takes the mean,
        or a linear model. A pipeline that changes the columns is refused: pass its last step, which
        predicts from the changed ones.
    feature_names : sequence of str, default=None
        Names of the columns; by default those seen by `fit`, or ``x[0]``, ``x[1]``, ...
    table : str, default=None
        Name of the table to put before the names of columns. SQLite takes a quoted name that no
        column has for a text, and compares with that, unless the table is named.

    Returns
    -------
    str
        A standard SQL expression, with quoted names.

    Notes
    -----
    Databases that read and add doubles as IEEE 754 says, such as SQLite and DuckDB, give the same
    predictions, bit for bit; those of XGBoost are added in single precision by itself, and those of
    a linear model in another order. All numbers have an exponent: standard SQL reads ``1.5`` as a
    decimal and ``1.5e0`` as a double. PostgreSQL reads both as decimals, so its sums may differ in
    the last bits. SQLite before 3.43 may miss the last bit of numbers below 1e-280. It takes up to
    some 950 trees, and paths that turn left at up to some 950 features. The time per row grows with
    the number of leaves. A NaN in a column, which databases take for a large number, has to become
    NULL.

    Examples
    --------
    >>> from marginwood import MaxMarginIntervalTree
    >>> from marginwood.export import to_sql
    >>> tree = MaxMarginIntervalTree().fit([[1.0], [2.0], [float("nan")]], [(0, 1), (4, 6), (4, 6)])
    >>> print(to_sql(tree, feature_names=["dose"], table="patients"))
    CASE
      WHEN "patients"."dose" <= 1.5e0 THEN 0.5e0
      ELSE 5.0e0
    END
    """
    fitted = read(model, expected=EXPECTED).untransformed("to_sql")
    names = fitted.feature_names(feature_names)
    if len(set(names)) < len(names) or any("\0" in name for name in names):
        raise ValueError(
            "feature_names: expected names of columns, all different and without NUL characters."
        )
    if table is not None and (not isinstance(table, str) or not table or "\0" in table):
        raise ValueError(f"table: expected the name of a table, or None, got {table!r}.")
    columns = [
        _quote(name) if table is None else f"{_quote(table)}.{_quote(name)}" for name in names
    ]
    if hasattr(fitted.estimator, "coef_"):
        fitted.of_numbers("to_sql")
        return _weighted_sum(fitted.estimator, columns)
    _, ensemble = read_any_ensemble(model)
    trees, aggregation, init = ensemble.added("to_sql")
    total = "\n+ ".join(_case(tree, columns, fitted.categories) for tree in trees)
    if aggregation == "mean":
        return f"({total}) / {_number(float(len(trees)))}"
    return total if init == 0 else f"{_number(init)} + ({total})"


def _weighted_sum(model: Any, columns: list[str]) -> str:
    """A linear model, without the features of weight 0."""
    weights = zip(model.coef_.tolist(), columns, strict=True)
    terms = [f"{_number(weight)} * {column}" for weight, column in weights if weight != 0]
    return "\n+ ".join([_number(model.intercept_), *terms])


def _case(tree: IntervalTree, columns: list[str], categories: Any) -> str:
    """One tree; the first branch that holds counts, and the last leaf is what remains."""
    values = tree.nodes["value"].tolist()
    *leaves, (last, _) = leaf_conditions(tree, columns, categories, in_order=True)
    if not leaves:
        return _number(values[last])
    branches = []
    for idx, conditions in leaves:
        held = [
            _predicate(condition)
            if condition.categories is None
            else _membership(condition, categories[feature])
            for feature, condition in conditions.items()
        ]
        branches.append(f"  WHEN {' AND '.join(held)} THEN {_number(values[idx])}\n")
    return f"CASE\n{''.join(branches)}  ELSE {_number(values[last])}\nEND"


def _membership(condition: Condition, known: list[Any]) -> str:
    """``column IN (...)``; where missing and unknown categories hold, too, those that do not are listed."""
    column = condition.feature
    held = condition.categories or ()
    if not condition.missing:
        return f"{column} IN ({', '.join(map(_literal, held))})" if held else "1 = 0"
    others = [label for label in known if label not in held]
    if not others:
        return "1 = 1"
    return f"({column} IS NULL OR {column} NOT IN ({', '.join(map(_literal, others))}))"


def _literal(label: Any) -> str:
    """A label as SQL writes it."""
    if isinstance(label, bool):
        return str(label).upper()
    return "'" + label.replace("'", "''") + "'" if isinstance(label, str) else _number(float(label))


def _predicate(condition: Condition) -> str:
    """``column <= at_most``, where SQL cannot write infinities. NULL is not at most anything."""
    column = condition.feature
    at_most = condition.at_most
    if at_most == math.inf:
        numbers = f"{column} IS NOT NULL"
    elif at_most == -math.inf:
        numbers = f"{column} < -1.7976931348623157e308"
    else:
        numbers = f"{column} <= {_number(at_most)}"
    return f"({numbers} OR {column} IS NULL)" if condition.missing else numbers


@lru_cache(maxsize=4096)  # neighbouring leaves share most of their conditions
def _number(value: float) -> str:
    """A literal that is read as this very double.

    The shortest text may lie close to the middle of two doubles, where readers that round twice, as
    SQLite's, go wrong. Without an exponent it would be a decimal to many: 0.1 + 0.2 is 0.3 then.
    """
    if not math.isfinite(value):
        return "NULL" if math.isnan(value) else "9e999" if value > 0 else "-9e999"
    shortest = repr(float(value))  # JSON may have turned 2.0 into 2
    is_safe = 4 * abs(Decimal(shortest) - Decimal(value)) <= Decimal(math.ulp(value))
    text = shortest if is_safe else f"{value:.17e}"
    return text if "e" in text else f"{text}e0"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
