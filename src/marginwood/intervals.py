"""The one door for targets.

An *interval* is the label of one sample: a pair ``(lower, upper)`` with ``lower <= upper``, whose
ends may be infinite. Its finite ends are its *limits*. It holds what is greater than `lower` and at
most `upper`; two equal ends are that value. Whatever form a target comes in,
:func:`check_intervals` turns it into an ``(n, 2)`` float64 array or says what is wrong with it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import DataConversionWarning

from marginwood._brackets import read_brackets, read_categories
from marginwood._ends import SIDES, close_ends, move_ends
from marginwood._ends import BoolArray as BoolArray
from marginwood._ends import FloatArray as FloatArray
from marginwood._mistakes import explain_codes, explain_order
from marginwood._support.arrays import as_columns, as_numbers, raise_first
from marginwood._support.checks import check_choice
from marginwood._support.notation import read_measurements
from marginwood._support.notices import warn
from marginwood._support.tables import as_known_table, find_intervals

__all__ = [
    "CENSORING_KINDS",
    "censoring_kind",
    "check_intervals",
    "from_brackets",
    "from_detection_limits",
    "from_events",
    "make_intervals",
]

IntArray: TypeAlias = npt.NDArray[np.int64]

# Squared differences of larger limits, summed over millions of rows, would overflow. The neighbour
# of 1e150 is allowed, too: as a lower end that belongs to its interval -1e150 is the number right
# below it.
LARGEST_LIMIT = float(np.nextafter(1e150, np.inf))
# Relative to the heaviest row; a lighter one counts as absent, because its share of a sum would
# underflow.
LEAST_WEIGHT = 1e-300

CENSORING_KINDS = ("uncensored", "left", "right", "interval", "uninformative")

_ACCEPTED = (
    "Accepted: an (n, 2) array or list of (lower, upper) pairs, a two-column pandas or polars frame, a 1-D array "
    "(un-censored), a structured array of one event field (boolean, or 0 and 1) and one time field, or a pandas "
    "interval array."
)


def check_intervals(y: Any, *, name: str = "y") -> FloatArray:
    """Turn a target of any accepted form into an array of intervals.

    Parameters
    ----------
    y : array-like
        One of:

        - an array of shape (n, 2), or a list of ``(lower, upper)`` pairs; an unknown end is
          ``-inf`` or ``inf``;
        - a pandas or polars frame with two columns, lower then upper, or a table of another library
          that has ``__arrow_c_stream__`` or ``__dataframe__``, such as `pyarrow.Table`;
        - a 1-D array or series: un-censored values, ``lower == upper``. A column of shape (n, 1) is
          taken as one too, with a ``DataConversionWarning``;
        - a structured array with one field of booleans, or of whole numbers 0 and 1 (event), and
          one numeric field (time), as scikit-survival uses: an event is ``(time, time)``, a
          censored row ``(time, inf)``;
        - a pandas IntervalArray, IntervalIndex, series of intervals, or the result of
          ``pandas.cut``, read by its own ``closed``.

        In all others a row ``lower < upper`` holds its upper end and not its lower one: ``closed``
        of
        :func:`make_intervals` says otherwise.
    name : str, default="y"
        What error messages call the target.

    Returns
    -------
    ndarray of shape (n, 2)
        C-contiguous, writeable float64; `y` itself if it already is that.

    Raises
    ------
    TypeError
        If the values are not real numbers.
    ValueError
        If the shape is wrong, or a row is not an interval: NaN or another missing value,
        ``upper < lower``, both ends at the same infinity, or a limit beyond 1e150.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwood.intervals import check_intervals
    >>> check_intervals([(1, 2), (-np.inf, 3)])
    array([[  1.,   2.],
           [-inf,   3.]])
    >>> check_intervals([5.0, 6.0])
    array([[5., 5.],
           [6., 6.]])
    """
    if y is None:
        raise ValueError(
            f"{name}: Expected array-like (array or non-string sequence), got None. {_ACCEPTED}"
        )
    y = as_known_table(y, name)
    pandas_intervals = find_intervals(y)
    if pandas_intervals is not None:
        ends = (as_numbers(pandas_intervals.left, name), as_numbers(pandas_intervals.right, name))
        values = close_ends(*ends, pandas_intervals.closed, name)
    elif getattr(getattr(y, "dtype", None), "names", None):
        values = _structured_intervals(y, name)
    else:
        values = as_numbers(y, name)
    values = _pairs(values, name)
    _check_rows(values, name)
    return np.require(values, np.float64, ["C", "A", "W", "E"])


def check_informative(
    intervals: FloatArray, sample_weight: FloatArray | None = None, *, name: str = "y"
) -> None:
    """Warn of rows ``(-inf, inf)``, and raise if there are no others (of positive weight)."""
    informative = np.isfinite(intervals).any(axis=1)
    counted = np.ones(len(intervals), np.bool_) if sample_weight is None else sample_weight > 0
    n_rows = int(np.count_nonzero(counted))
    n_open = int(np.count_nonzero(counted & ~informative))
    if n_open == n_rows:
        weighted = "" if sample_weight is None else " of positive weight"
        raise ValueError(
            f"{name}: all {n_rows} rows{weighted} are (-inf, inf), which carry no information about the "
            "target. At least one row needs a finite lower or upper limit."
        )
    if n_open:
        first = int(np.flatnonzero(counted & ~informative)[0])
        found = f"{n_open} of {n_rows} rows are (-inf, inf) (first: row {first})"
        warn(f"{name}: {found}. They are kept, but carry no information about the target.")


def check_sample_weight(sample_weight: Any, n_samples: int) -> FloatArray | None:
    """Return weights as float64 of shape (n_samples,), or None; a number weighs all rows alike."""
    if sample_weight is None:
        return None
    weight = as_numbers(sample_weight, "sample_weight", allow_bool=True)
    if weight.ndim == 0:
        weight = np.full(n_samples, weight)
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight: expected a number or shape ({n_samples},), one weight per row; got shape {weight.shape}."
        )
    raise_first(~np.isfinite(weight), "sample_weight: NaN or infinite", sample_weight=weight)
    raise_first(weight < 0, "sample_weight: negative", sample_weight=weight)
    if not weight.any():
        raise ValueError(
            "sample_weight: all weights are zero. At least one row needs a positive weight."
        )
    if weight.max() > np.finfo(np.float64).max / (4 * n_samples):
        raise ValueError(
            "sample_weight: the sum of the weights may overflow. Divide them by a constant."
        )
    negligible = weight < LEAST_WEIGHT * weight.max()
    weight = np.where(negligible, 0.0, weight) if negligible.any() else weight
    return np.require(weight, np.float64, ["C", "A", "W", "E"])


def make_intervals(
    lower: Any, upper: Any, *, closed: Any = "right", nan: Literal["open", "raise"] = "open"
) -> FloatArray:
    """Make intervals from their lower and their upper ends.

    Parameters
    ----------
    lower, upper : array-like of shape (n,), number or None
        The ends. A number holds for every row; None, for one of the two, is an end that is open in
        every row.
    closed : {"right", "left", "both", "neither"} or array-like of shape (n,), default="right"
        Which of two different ends belong to the interval, as in pandas: for all rows, or for each.
        Equal ends are that value.
    nan : {"open", "raise"}, default="open"
        What a missing end (NaN, None or a masked entry) means: ``"open"`` an unknown end,
        ``"raise"`` an error.

    Returns
    -------
    ndarray of shape (n, 2)
        The checked intervals. A lower end that belongs to its interval, and an upper end that does
        not, is the floating-point number right below it; change units before, because arithmetic
        may round it back.

    Examples
    --------
    >>> from marginwood.intervals import make_intervals
    >>> make_intervals([1.0, None, 3.0], [2.0, 2.5, float("nan")])
    array([[ 1. ,  2. ],
           [-inf,  2.5],
           [ 3. ,  inf]])
    >>> make_intervals([1.0, 2.0], [2.0, 3.0], closed="left").tolist()
    [[0.9999999999999999, 1.9999999999999998], [1.9999999999999998, 2.9999999999999996]]
    """
    check_choice("nan", nan, ("open", "raise"))
    if lower is None and upper is None:
        raise ValueError(
            "lower, upper: both are None. Pass the known ends of at least one side, one for each row."
        )
    lower = -np.inf if lower is None else lower
    upper = np.inf if upper is None else upper
    lower, upper = as_columns(lower=lower, upper=upper)
    if nan == "open":
        lower = np.where(np.isnan(lower), -np.inf, lower)
        upper = np.where(np.isnan(upper), np.inf, upper)
    return check_intervals(close_ends(lower, upper, closed, "lower, upper"), name="lower, upper")


def from_events(time: Any, event: Any) -> FloatArray:
    """Make intervals from times and event indicators, as in survival analysis.

    Parameters
    ----------
    time : array-like of shape (n,)
        Time of the event, or of the last observation of a right-censored row.
    event : array-like of shape (n,)
        True or 1 where the event was seen at `time`; False or 0 where it lies beyond.

    Returns
    -------
    ndarray of shape (n, 2)
        ``(time, time)`` for events and ``(time, inf)`` for right-censored rows.

    Examples
    --------
    >>> from marginwood.intervals import from_events
    >>> from_events([5.0, 8.0], [True, False])
    array([[ 5.,  5.],
           [ 8., inf]])
    """
    expected = "True/False or 1/0 (of texts: status == 'dead')"
    seen = as_numbers(event, "event", allow_bool=True, expected=expected)
    times, seen = as_columns(time=time, event=seen)
    raise_first(
        (seen != 0) & (seen != 1),
        "event: neither True/1 nor False/0",
        explain_codes(seen),
        time=times,
        event=seen,
    )
    upper = np.where(seen == 1, times, np.inf)
    bad = ~(
        np.isfinite(times) | (times < upper)
    )  # a censored row may start at -inf, as the logarithm of 0 does
    raise_first(
        bad,
        "time: NaN, missing or infinite",
        " Leave out rows without a time.",
        time=times,
        event=seen,
    )
    return check_intervals(np.column_stack([times, upper]), name="time")


def from_detection_limits(
    y: Any, lower_limit: Any = None, upper_limit: Any = None, *, nondetect: Any = None
) -> FloatArray:
    """Make intervals from measurements of an instrument with detection limits.

    Parameters
    ----------
    y : array-like of shape (n,)
        Measurements. Those at or below the lower limit say that the quantity is at most that limit,
        those at or above the upper limit that it is at least that. Texts are read as laboratories
        write them: ``"1.2"``, ``"1,200"``, ``"<1"`` (less than 1), ``"<=1"`` or ``"≤ 1"`` (at most
        1), ``">50"`` (more than 50), ``">=50"`` or ``"≥ 50"`` (at least 50), ``"ND"`` (not
        detected: less than `lower_limit`) and ``"ND(0.5)"``.
    lower_limit, upper_limit : number or array-like of shape (n,), default=None
        The detection limits, for all rows or per row. None, NaN or an infinity is no limit. A limit
        that a text of `y` names goes first.
    nondetect : array-like of bool, shape (n,), default=None
        True or 1 where nothing was detected: the quantity is less than `lower_limit` or, if there
        is none, less than the number in `y`. Then all other numbers are detected values, even one
        that is equal to the lower limit.

    Returns
    -------
    ndarray of shape (n, 2)
        ``(-inf, lower_limit)``, ``(upper_limit, inf)`` or, between the limits, ``(y, y)``. Where
        the limit itself is ruled out below it, or possible above it, the end is the floating-point
        number right below it.

    Examples
    --------
    >>> from marginwood.intervals import from_detection_limits
    >>> from_detection_limits([0.1, 2.0, 9.0], lower_limit=0.5, upper_limit=8.0)
    array([[-inf,  0.5],
           [ 2. ,  2. ],
           [ 8. ,  inf]])
    >>> from_detection_limits(["<1", "2.5", ">50"])
    array([[-inf,  1. ],
           [ 2.5,  2.5],
           [50. ,  inf]])
    >>> from_detection_limits([0.5, 0.5, 1.3], nondetect=[True, False, False]).tolist()
    [[-inf, 0.49999999999999994], [0.5, 0.5], [1.3, 1.3]]
    """
    cells = read_measurements(y, "y")
    values, low, high, side = as_columns(
        y=cells.number, lower_limit=lower_limit, upper_limit=upper_limit, side=cells.side
    )
    shown = {"y": np.broadcast_to(cells.given, values.shape)}
    low = np.where(np.isnan(low), -np.inf, low)
    high = np.where(np.isnan(high), np.inf, high)
    raise_first(low >= high, "lower_limit >= upper_limit", lower_limit=low, upper_limit=high)
    below, above = values <= low, values >= high
    is_strict = np.broadcast_to(cells.is_strict, values.shape)
    if nondetect is not None:
        below = _check_nondetect(nondetect, values, side, low, shown)
        low = np.where(below & np.isinf(low), values, low)
        is_strict = is_strict | (below & (side == 0))
    low = np.where((side < 0) & ~np.isnan(values), values, low)
    high = np.where(side > 0, values, high)
    below, above = np.where(side == 0, [below, above], [side < 0, side > 0])
    lower = np.where(below, -np.inf, np.where(above, high, values))
    upper = np.where(above, np.inf, np.where(below, low, values))
    advice = " Pass lower_limit: a number, or one for each row."
    raise_first(
        below & np.isinf(upper),
        "y: not detected, but no detection limit is given,",
        advice,
        **shown,
    )
    bad = ~(np.isfinite(values) | (lower < upper))
    advice = " Leave out rows without a measurement; -inf and inf are fine where there is a limit on that side."
    raise_first(
        bad, "y: NaN, missing or infinite", advice, **shown, lower_limit=low, upper_limit=high
    )
    return check_intervals(move_ends(lower, upper, ~is_strict, ~is_strict), name="y")


def from_brackets(
    y: Any, *, edges: Any = None, closed: str | None = None, decimal: Literal[".", ","] = "."
) -> FloatArray:
    """Make intervals from brackets in words, such as answers to a question about income or age.

    Parameters
    ----------
    y : array-like of str, shape (n,)
        Texts: ``"25-50"``, ``"25 to 50"``, ``"between 25 and 50"``, ``"<10"``, ``"under 10"``,
        ``"up to 10"``, ``">100"``, ``"over 100"``, ``"100+"``, ``"100 or more"``, a number, or the
        notation of intervals, ``"[25, 50)"``, as the ``cut`` of polars writes it. Numbers may have
        thousands (``1,000`` or ``1 000``), a factor (``k``, ``M``, ``million``), a currency and a
        unit, in all rows alike. With `edges` a column of ordered categories. The result of
        ``pandas.cut`` without labels is taken, too.
    edges : array-like, default=None
        The edges of the categories of `y`, one more than there are categories, in their order: for
        labels such as "low" and "high". A row without a category may be anything.
    closed : {"right", "left", "both", "neither"}, default=None
        Which ends belong to ranges whose text does not say, such as ``"25-50"``, and to categories.
        None for the upper end, or for both where no two ranges touch: ``"18-24"`` beside
        ``"25-34"``.
    decimal : {".", ","}, default="."
        The decimal mark.

    Returns
    -------
    ndarray of shape (n, 2)
        The checked intervals.

    Examples
    --------
    >>> from marginwood.intervals import from_brackets
    >>> from_brackets(["under 25k", "25-50k", "50-100k", "100k+"]).round()
    array([[   -inf,  25000.],
           [ 25000.,  50000.],
           [ 50000., 100000.],
           [100000.,     inf]])
    """
    check_choice("decimal", decimal, (".", ","))
    if closed is not None:
        check_choice("closed", closed, SIDES)
    if find_intervals(y) is not None:
        return check_intervals(y)
    if edges is not None:
        return make_intervals(*read_categories(y, edges), closed=closed or "right")
    cells = np.asarray(y, dtype=object)
    if cells.ndim != 1 or not len(cells):
        raise ValueError(f"y: expected texts of shape (n,), got shape {cells.shape}.")
    lower, upper, sides = read_brackets([_as_text(cell) for cell in cells], closed, decimal)
    return make_intervals(lower, upper, closed=sides)


def _as_text(cell: Any) -> str:
    # pandas.NA is not equal to itself, nor different.
    return str(cell) if isinstance(cell, str) or (cell == cell) is True else ""


def censoring_kind(y: Any) -> npt.NDArray[np.str_]:
    """Tell how every row is censored.

    Parameters
    ----------
    y : array-like
        Intervals in any form that :func:`check_intervals` accepts.

    Returns
    -------
    ndarray of str, shape (n,)
        ``"uncensored"`` where ``lower == upper``, ``"left"`` for ``(-inf, upper)``, ``"right"`` for
        ``(lower, inf)``, ``"interval"`` for two different limits, and ``"uninformative"`` for
        ``(-inf, inf)``.

    Examples
    --------
    >>> from marginwood.intervals import censoring_kind
    >>> inf = float("inf")
    >>> censoring_kind([(1, 1), (-inf, 2), (3, inf), (4, 5), (-inf, inf)]).tolist()
    ['uncensored', 'left', 'right', 'interval', 'uninformative']
    """
    lower, upper = check_intervals(y).T
    tests = [lower == upper, np.isinf(lower) & np.isinf(upper), np.isinf(lower), np.isinf(upper)]
    kinds: npt.NDArray[np.str_] = np.select(
        tests, ["uncensored", "uninformative", "left", "right"], default="interval"
    )
    return kinds


def _check_nondetect(
    nondetect: Any, values: FloatArray, side: FloatArray, low: FloatArray, shown: dict[str, Any]
) -> BoolArray:
    """Which rows are flagged, if nothing else that is known of them says otherwise."""
    flags = as_numbers(nondetect, "nondetect", allow_bool=True, expected="True/False or 1/0")
    flags, _ = as_columns(nondetect=flags, y=values)
    shown = shown | {"nondetect": flags, "lower_limit": low}
    raise_first((flags != 0) & (flags != 1), "nondetect: neither True/1 nor False/0", **shown)
    flagged = flags == 1
    raise_first(
        np.where(flagged, side > 0, side < 0),
        "y and nondetect: they contradict each other",
        **shown,
    )
    advice = " If y holds the limit of such a row, leave out lower_limit."
    raise_first(
        flagged & (values > low) & np.isfinite(low),
        "nondetect: flagged above lower_limit",
        advice,
        **shown,
    )
    return flagged


def _structured_intervals(y: Any, name: str) -> FloatArray:
    """Return intervals from a structured array of events and times."""
    kinds = {field: y.dtype[field].kind for field in y.dtype.names}
    events = [field for field, kind in kinds.items() if kind == "b"]
    if not events:
        events = [
            field
            for field, kind in kinds.items()
            if kind in "iu" and np.isin(y[field], (0, 1)).all()
        ]
    if y.ndim != 1 or len(kinds) != 2 or len(events) != 1 or not set(kinds.values()) <= set("biuf"):
        raise ValueError(
            f"{name}: expected a structured array of shape (n,) with one event field (boolean, or whole numbers 0 and "
            f"1) and one numeric time field, got shape {y.shape} and dtype {y.dtype}."
        )
    event, time = sorted(kinds, key=lambda field: field != events[0])
    times = as_numbers(y[time], name)
    seen = as_numbers(y[event], name, allow_bool=True)
    return np.column_stack([times, np.where(seen == 1, times, np.where(seen == 0, np.inf, np.nan))])


def _pairs(values: FloatArray, name: str) -> FloatArray:
    """Return values of shape (n,), (n, 1) or (n, 2) in shape (n, 2)."""
    if values.ndim == 2 and values.shape[1] == 1:
        found = f"A column-vector {name} was passed when a 1d array was expected. It has shape {values.shape}"
        warn(
            f"{found} and is taken as un-censored values. Use {name}.ravel().",
            DataConversionWarning,
        )
        values = values.ravel()
    if values.ndim == 1 and values.size:
        return np.column_stack([values, values])
    if values.ndim != 2 or values.shape[1] != 2 or not len(values):
        two_rows = values.ndim == 2 and len(values) == 2
        advice = " For two arrays of ends use make_intervals(lower, upper)." if two_rows else ""
        raise ValueError(f"{name}: got shape {values.shape}. {_ACCEPTED}{advice}")
    return values


def _check_rows(values: FloatArray, name: str) -> None:
    """Raise unless every row is an interval."""
    lower, upper = values.T
    if (
        np.all(lower <= upper)
        and np.max(lower) <= LARGEST_LIMIT
        and np.min(upper) >= -LARGEST_LIMIT
        and np.count_nonzero(lower < -LARGEST_LIMIT) == np.count_nonzero(lower == -np.inf)
        and np.count_nonzero(upper > LARGEST_LIMIT) == np.count_nonzero(upper == np.inf)
    ):
        return  # five passes for good data; what follows says what is wrong with the rest
    ends = {"lower": lower, "upper": upper}
    advice = ' For ends that are unknown use make_intervals(lower, upper, nan="open").'
    raise_first(np.isnan(lower) | np.isnan(upper), f"{name}: NaN or missing", advice, **ends)
    raise_first(upper < lower, f"{name}: upper < lower", explain_order(values), **ends)
    advice = " An unknown lower end is -inf, an unknown upper end is inf."
    raise_first(
        (lower == upper) & np.isinf(lower),
        f"{name}: both ends at the same infinity",
        advice,
        **ends,
    )
    too_large = np.any(np.isfinite(values) & (np.abs(values) > LARGEST_LIMIT), axis=1)
    advice = f" Divide {name} by a constant, or take logarithms."
    raise_first(too_large, f"{name}: limits beyond {LARGEST_LIMIT:g}", advice, **ends)
