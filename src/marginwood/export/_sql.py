"""Models as SQL expressions."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from marginwood._fitted import read
from marginwood._support.checks import check_choice
from marginwood._trees.table import IntervalTree
from marginwood.export._conditions import Condition, leaf_conditions
from marginwood.export._xgboost import EXPECTED, read_any_ensemble

__all__ = ["to_sql"]


class _Dialect(NamedTuple):
    """How a database writes a double, the value of a column, and that of one that may hold booleans."""

    number: str
    column: str
    flag: str


# NaN is no NULL to databases that have both: it is larger than all numbers, and equal to itself.
# Only PostgreSQL cannot turn booleans into doubles; their text it can tell from a number's.
DIALECTS = {
    "ansi": _Dialect("{}", "{}", "{}"),
    "duckdb": _Dialect("{}", *2 * ("NULLIF(CAST({} AS DOUBLE), CAST('NaN' AS DOUBLE))",)),
    "postgres": _Dialect(
        "CAST('{}' AS float8)",
        "NULLIF(CAST({} AS float8), 'NaN')",
        "NULLIF(CAST(CASE CAST({0} AS text) WHEN 'true' THEN '1' WHEN 'false' THEN '0' ELSE CAST({0} AS text) "
        "END AS float8), 'NaN')",
    ),
}


def to_sql(
    model: Any,
    *,
    feature_names: Any = None,
    table: str | None = None,
    dialect: Literal["ansi", "duckdb", "postgres"] = "ansi",
) -> str:
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
    dialect : {"ansi", "duckdb", "postgres"}, default="ansi"
        The database. "ansi" is standard SQL, for SQLite and others whose columns hold numbers and
        NULL. With "duckdb" and "postgres" NaN counts as missing, too, columns of booleans as 0 and
        1, and all arithmetic is that of doubles.

    Returns
    -------
    str
        A standard SQL expression, with quoted names.

    Notes
    -----
    Databases that read and add doubles as IEEE 754 says, such as SQLite, DuckDB and PostgreSQL,
    each with its dialect, give the same predictions, bit for bit; those of XGBoost are added in
    single precision by itself, and those of a linear model in another order. All numbers have an
    exponent: standard SQL reads ``1.5`` as a decimal and ``1.5e0`` as a double. SQLite before 3.43
    may miss the last bit of numbers below 1e-280. It takes up to some 950 trees, and paths that
    turn left at up to some 950 features. The time per row grows with the number of leaves. In
    standard SQL a NaN in a column, which databases take for a large number, has to become NULL.

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
    check_choice("dialect", dialect, DIALECTS)
    form = DIALECTS[dialect]
    columns = [
        _quote(name) if table is None else f"{_quote(table)}.{_quote(name)}" for name in names
    ]
    if hasattr(fitted.estimator, "coef_"):
        fitted.of_numbers("to_sql")
        return _weighted_sum(fitted.estimator, [form.flag.format(one) for one in columns], form)
    _, ensemble = read_any_ensemble(model)
    trees, aggregation, init = ensemble.added("to_sql")
    kinds = [fitted.categories[i] if fitted.categories else None for i in range(len(columns))]
    columns = [
        _value_of(column, kind, form, _may_be_flag(trees, i))
        for i, (column, kind) in enumerate(zip(columns, kinds, strict=True))
    ]
    total = "\n+ ".join(_case(tree, columns, fitted.categories, form) for tree in trees)
    if aggregation == "mean":
        return f"({total}) / {_number(float(len(trees)), form)}"
    return total if init == 0 else f"{_number(init, form)} + ({total})"


def _value_of(column: str, known: list[Any] | None, form: _Dialect, may_be_flag: bool) -> str:
    """A column as a number that is NULL where it is missing; one of words or of booleans stays as it is."""
    if known is not None and any(isinstance(label, str | bool) for label in known):
        return column
    return (form.flag if may_be_flag and known is None else form.column).format(column)


def _may_be_flag(trees: Any, feature: int) -> bool:
    """Whether all thresholds of a feature lie between 0 and 1, as those of booleans do."""
    nodes = [tree.nodes[tree.nodes["feature"] == feature]["threshold"] for tree in trees]
    return all(((at >= 0) & (at < 1)).all() for at in nodes)


def _weighted_sum(model: Any, columns: list[str], form: _Dialect) -> str:
    """A linear model, without the features of weight 0."""
    weights = zip(model.coef_.tolist(), columns, strict=True)
    terms = [f"{_number(weight, form)} * {column}" for weight, column in weights if weight != 0]
    return "\n+ ".join([_number(model.intercept_, form), *terms])


def _case(tree: IntervalTree, columns: list[str], categories: Any, form: _Dialect) -> str:
    """One tree; the first branch that holds counts, and the last leaf is what remains."""
    values = tree.nodes["value"].tolist()
    *leaves, (last, _) = leaf_conditions(tree, columns, categories, in_order=True)
    if not leaves:
        return _number(values[last], form)
    branches = []
    for idx, conditions in leaves:
        held = [
            _predicate(condition, form)
            if condition.categories is None
            else _membership(condition, categories[feature])
            for feature, condition in conditions.items()
        ]
        branches.append(f"  WHEN {' AND '.join(held)} THEN {_number(values[idx], form)}\n")
    return f"CASE\n{''.join(branches)}  ELSE {_number(values[last], form)}\nEND"


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


def _predicate(condition: Condition, form: _Dialect) -> str:
    """``column <= at_most``, where SQL cannot write infinities. NULL is not at most anything."""
    column = condition.feature
    at_most = condition.at_most
    if at_most == math.inf:
        numbers = f"{column} IS NOT NULL"
    elif at_most == -math.inf:
        numbers = f"{column} < {form.number.format('-1.7976931348623157e308')}"
    else:
        numbers = f"{column} <= {_number(at_most, form)}"
    return f"({numbers} OR {column} IS NULL)" if condition.missing else numbers


@lru_cache(maxsize=4096)  # neighbouring leaves share most of their conditions
def _number(value: float, form: _Dialect = DIALECTS["ansi"]) -> str:
    """A literal that is read as this very double.

    The shortest text may lie close to the middle of two doubles, where readers that round twice, as
    SQLite's, go wrong. Without an exponent it would be a decimal to many: 0.1 + 0.2 is 0.3 then.
    """
    if math.isnan(value):
        return "NULL"
    if math.isinf(value):
        word = "9e999" if form.number == "{}" else "Infinity"
        return form.number.format(word if value > 0 else f"-{word}")
    shortest = repr(float(value))  # JSON may have turned 2.0 into 2
    is_safe = 4 * abs(Decimal(shortest) - Decimal(value)) <= Decimal(math.ulp(value))
    text = shortest if is_safe else f"{value:.17e}"
    return form.number.format(text if "e" in text else f"{text}e0")


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
