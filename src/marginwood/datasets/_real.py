"""Small real data sets with censored targets, packaged with the notices of their licences (``data/NOTICE.md``).

Features that are text become codes, in the order of their sorted names; ``as_frame`` gives them as
pandas categories.
"""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from marginwood._support.extras import install_hint
from marginwood.datasets._files import cell_number
from marginwood.intervals import FloatArray, from_detection_limits, from_events, make_intervals

__all__ = [
    "load_atrazine",
    "load_botulinum",
    "load_diabetic_nephropathy",
    "load_gbsg2",
    "load_incomes",
    "load_mercury",
    "load_trichloroethylene",
]

# The lower ends of the answers 1, 2, ... to the question of income, in dollars; the last one is
# open. "3,000 to 4,999" holds its lower end. The first one goes without: 0 has no logarithm.
INCOME_BRACKETS = (
    *(
        0,
        3_000,
        5_000,
        7_000,
        9_000,
        10_000,
        11_000,
        12_000,
        13_000,
        14_000,
        15_000,
        17_000,
        20_000,
        22_000,
        25_000,
    ),
    *(30_000, 35_000, 40_000, 45_000, 50_000, 60_000, 75_000, 90_000, 105_000, np.inf),
)

Table = dict[str, list[str]]  # the cells of a csv file by column


def load_gbsg2(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Time to recurrence or death of 686 women after breast cancer: right-censored.

    A woman whose cancer had not come back by the end of her follow-up has the interval (days, inf);
    387 of 686. Features: hormonal therapy, age, menopausal status, size of the tumour in mm, its
    grade, positive lymph nodes, progesterone and oestrogen receptors in fmol. MIT licence, from
    lifelines 0.30.3.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return only ``(X, y)``.
    as_frame : bool, default=False
        Whether X and y are pandas frames, with categories where a feature is text.

    Returns
    -------
    Bunch or tuple
        ``X``, ``y`` (lower and upper ends), ``feature_names``, ``categories`` (the names that codes
        stand for, by feature), ``name`` and ``DESCR``; or X and y alone.

    References
    ----------
    .. [1] Schumacher et al., "Randomized 2 x 2 trial evaluating hormonal treatment and the duration of chemotherapy in
       node-positive breast cancer patients", Journal of Clinical Oncology 12 (1994), 2086-2093.
    .. [2] Sauerbrei and Royston, "Building multivariable prognostic and diagnostic models", Journal of the Royal
       Statistical Society A 162 (1999), 71-94.

    Examples
    --------
    >>> from marginwood.datasets import load_gbsg2
    >>> data = load_gbsg2()
    >>> data.X.shape, data.y[:4, 1].tolist()
    ((686, 8), [1814.0, 2018.0, 712.0, 1807.0])
    """
    table = _read("gbsg2")
    y = from_events(read_numbers(table["time"]), read_numbers(table["cens"]) == 1)
    return answer(load_gbsg2, table, ("time", "cens"), y, return_X_y, as_frame)


def load_diabetic_nephropathy(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Years from diabetes to kidney damage in 731 patients: interval-censored by visits.

    The damage happened between two visits, which for 595 patients were in the same year. The
    feature is the sex. MIT licence, from lifelines 0.30.3.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return only ``(X, y)``.
    as_frame : bool, default=False
        Whether X and y are pandas frames, with categories where a feature is text.

    Returns
    -------
    Bunch or tuple
        ``X``, ``y`` (lower and upper ends), ``feature_names``, ``categories`` (the names that codes
        stand for, by feature), ``name`` and ``DESCR``; or X and y alone.

    References
    ----------
    .. [1] Borch-Johnsen, Andersen and Deckert, "The effect of proteinuria on relative mortality in type 1 diabetes
       mellitus", Diabetologia 28 (1985), 590-596.

    Examples
    --------
    >>> from marginwood.datasets import load_diabetic_nephropathy
    >>> data = load_diabetic_nephropathy()
    >>> data.categories["gender"], data.y[:2].tolist()
    (['female', 'male'], [[24.0, 27.0], [22.0, 22.0]])
    """
    table = _read("diabetic_nephropathy")
    y = make_intervals(read_numbers(table["left"]), read_numbers(table["right"]))
    return answer(load_diabetic_nephropathy, table, ("", "left", "right"), y, return_X_y, as_frame)


def load_mercury(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Mercury in 133 fish of rivers of the United States: left-censored at three detection limits.

    The target is in micrograms per gram of wet weight; 15 fish have less than 0.03, 0.05 or 0.1,
    and the interval (-inf, limit) without the limit itself. Features: land use and species (text),
    weight and length of the fish, methylmercury and mercury in water and sediment, organic carbon,
    ignition loss, sulphide, and the share of wetland; some cells are missing (NaN). MIT licence,
    from NADA2 2.0.1.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return only ``(X, y)``.
    as_frame : bool, default=False
        Whether X and y are pandas frames, with categories where a feature is text.

    Returns
    -------
    Bunch or tuple
        ``X``, ``y`` (lower and upper ends), ``feature_names``, ``categories`` (the names that codes
        stand for, by feature), ``name`` and ``DESCR``; or X and y alone.

    References
    ----------
    .. [1] Brumbaugh, Krabbenhoft, Helsel, Wiener and Echols, "A national pilot study of mercury contamination of
       aquatic ecosystems along multiple gradients: bioaccumulation in fish", USGS BSR-2001-0009
       (2001).

    Examples
    --------
    >>> from marginwood.datasets import load_mercury
    >>> data = load_mercury()
    >>> data.X.shape, int(np.isinf(data.y[:, 0]).sum())
    ((133, 12), 15)
    """
    table = _read("mercury")
    y = _below(table["Hg"], table["HgCen"])
    return answer(load_mercury, table, ("Hg", "HgCen"), y, return_X_y, as_frame)


def load_trichloroethylene(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Trichloroethylene in 247 wells on Long Island: left-censored, four of five rows.

    The target is in micrograms per litre of ground water; 194 wells have less than a limit of 1 to
    5, and the interval (-inf, limit) without the limit itself. Features: a code of land use,
    density of population, share of industry, and depth of the water in feet. MIT licence, from
    NADA2 2.0.1.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return only ``(X, y)``.
    as_frame : bool, default=False
        Whether X and y are pandas frames, with categories where a feature is text.

    Returns
    -------
    Bunch or tuple
        ``X``, ``y`` (lower and upper ends), ``feature_names``, ``categories`` (the names that codes
        stand for, by feature), ``name`` and ``DESCR``; or X and y alone.

    References
    ----------
    .. [1] Eckhardt, Flipse and Oaksford, "Relation between land use and ground-water quality in the upper glacial
       aquifer in Nassau and Suffolk Counties, Long Island, New York", USGS WRI 86-4142 (1989).

    Examples
    --------
    >>> from marginwood.datasets import load_trichloroethylene
    >>> data = load_trichloroethylene()
    >>> data.feature_names, int(np.isinf(data.y[:, 0]).sum())
    (['LandUse', 'PopDensity', 'PctIndLU', 'Depth'], 194)
    """
    table = _read("trichloroethylene")
    y = _below(table["TCEConc"], table["TCECen"])
    # PopAbv1 is 1 everywhere.
    return answer(
        load_trichloroethylene, table, ("TCEConc", "TCECen", "PopAbv1"), y, return_X_y, as_frame
    )


def load_atrazine(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Atrazine in 423 samples of streams, known only as above or below 1 microgram per litre.

    Every label is open on one side: (1, inf) in 157 rows, (-inf, 1) in the others. Features: share
    of corn, soil group, rain, days since planting, percentile of the flow, application of atrazine,
    temperature. MIT licence, from NADA2 2.0.1.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return only ``(X, y)``.
    as_frame : bool, default=False
        Whether X and y are pandas frames, with categories where a feature is text.

    Returns
    -------
    Bunch or tuple
        ``X``, ``y`` (lower and upper ends), ``feature_names``, ``categories`` (the names that codes
        stand for, by feature), ``name`` and ``DESCR``; or X and y alone.

    References
    ----------
    .. [1] Mueller, Ruddy and Battaglin, "Logistic model of nitrate in streams of the upper-midwestern United States",
       Journal of Environmental Quality 26 (1997), 1223-1230.

    Examples
    --------
    >>> from marginwood.datasets import load_atrazine
    >>> load_atrazine().y[:2].tolist()
    [[1.0, inf], [-inf, 1.0]]
    """
    table = _read("atrazine")
    is_above = read_numbers(table["GT_1"]) == 1
    y = make_intervals(np.where(is_above, 1.0, -np.inf), np.where(is_above, np.inf, 1.0))
    return answer(load_atrazine, table, ("GT_1",), y, return_X_y, as_frame)


def load_botulinum(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Days until Clostridium botulinum grows, in 25 media: every kind of censoring.

    Cultures were looked at on some days until day 85: growth on the first day is (0, 1), growth
    seen on a day that day, no growth (85, inf). Features: salt in per cent, and pH. MIT licence,
    from lifelines 0.30.3.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return only ``(X, y)``.
    as_frame : bool, default=False
        Whether X and y are pandas frames, with categories where a feature is text.

    Returns
    -------
    Bunch or tuple
        ``X``, ``y`` (lower and upper ends), ``feature_names``, ``categories`` (the names that codes
        stand for, by feature), ``name`` and ``DESCR``; or X and y alone.

    References
    ----------
    .. [1] Montville, "Interaction of pH and NaCl on culture density of Clostridium botulinum 62A", Applied and
       Environmental Microbiology 46 (1983), 961-963.

    Examples
    --------
    >>> from marginwood.datasets import load_botulinum
    >>> load_botulinum().y[[0, 4, 9]].tolist()
    [[0.0, 1.0], [2.0, 2.0], [85.0, inf]]
    """
    table = _read("botulinum")
    y = make_intervals(
        read_numbers(table["lower_bound_days"]), read_numbers(table["upper_bound_days"])
    )
    return answer(
        load_botulinum, table, ("lower_bound_days", "upper_bound_days"), y, return_X_y, as_frame
    )


def load_incomes(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Household incomes of 944 voters in 1996, reported in 24 brackets: binned.

    The target is in dollars: from 3000 to under 5000 for the second bracket, from 105000 on for the
    last. Features: population of the place in thousands, days of television news per week, the
    respondent's and both candidates' place between left and right, party, age, education from 1 to
    7, and the vote. Public domain, from statsmodels 0.15.0.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return only ``(X, y)``.
    as_frame : bool, default=False
        Whether X and y are pandas frames, with categories where a feature is text.

    Returns
    -------
    Bunch or tuple
        ``X``, ``y`` (lower and upper ends), ``feature_names``, ``categories`` (the names that codes
        stand for, by feature), ``name`` and ``DESCR``; or X and y alone.

    References
    ----------
    .. [1] The American National Election Studies, https://electionstudies.org, study of 1996.

    Examples
    --------
    >>> from marginwood.datasets import load_incomes
    >>> data = load_incomes()
    >>> data.X.shape, data.y[[0, -1]].round().tolist()
    ((944, 9), [[0.0, 3000.0], [105000.0, inf]])
    """
    table = _read("incomes")
    bracket = read_numbers(table["income"]).astype(np.intp)
    ends = np.array(INCOME_BRACKETS)
    y = make_intervals(
        ends[bracket - 1], ends[bracket], closed=np.where(bracket > 1, "left", "neither")
    )
    return answer(load_incomes, table, ("income",), y, return_X_y, as_frame)


def _read(name: str) -> Table:
    """The cells of a packaged csv file."""
    text = files("marginwood.datasets").joinpath("data", f"{name}.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    return {column: [row[idx] for row in rows] for idx, column in enumerate(header)}


def read_numbers(cells: list[str]) -> FloatArray:
    """The numbers that cells hold; NaN for empty ones."""
    return np.array([cell_number(cell) for cell in cells])


def _below(value: list[str], is_censored: list[str]) -> FloatArray:
    """Intervals of values that, where they are censored, are detection limits."""
    return from_detection_limits(read_numbers(value), nondetect=read_numbers(is_censored))


def _is_text(cells: list[str]) -> bool:
    try:
        read_numbers(cells)
    except ValueError:
        return True
    return False


def answer(
    loader: Callable[..., Any],
    table: Table,
    not_features: tuple[str, ...],
    y: FloatArray,
    return_X_y: bool,
    as_frame: bool,
    name: str = "",
) -> Any:
    """What a loader returns: features are the columns that the target was not made of."""
    columns = {column: cells for column, cells in table.items() if column not in not_features}
    categories = {
        column: sorted(set(cells)) for column, cells in columns.items() if _is_text(cells)
    }
    codes = {
        column: [str(names.index(cell)) for cell in columns[column]]
        for column, names in categories.items()
    }
    X: Any = np.column_stack([read_numbers(cells) for cells in (columns | codes).values()])
    target: Any = y
    if as_frame:
        X, target = _frames(X, y, list(columns), categories)
    if return_X_y:
        return X, target
    return Bunch(
        X=X,
        y=target,
        feature_names=list(columns),
        categories=categories,
        name=name or loader.__name__.removeprefix("load_"),
        DESCR=inspect.getdoc(loader),
    )


def _frames(
    X: FloatArray, y: FloatArray, names: list[str], categories: dict[str, list[str]]
) -> tuple[Any, Any]:
    """Features and target as pandas frames."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(f"as_frame needs pandas: {install_hint('frames')}.") from error
    frame = pd.DataFrame(X, columns=names)
    for column, labels in categories.items():
        frame[column] = pd.Categorical.from_codes(frame[column].astype(int), labels)
    return frame, pd.DataFrame(y, columns=["lower", "upper"])
