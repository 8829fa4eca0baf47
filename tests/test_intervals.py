import datetime
import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import DataConversionWarning

from conftest import PATIENCE
from marginwood.intervals import (
    CENSORING_KINDS,
    censoring_kind,
    check_informative,
    check_intervals,
    check_sample_weight,
    from_detection_limits,
    from_events,
    make_intervals,
)
from strategies import intervals

INF, NAN = np.inf, np.nan
FROM_8 = np.nextafter(8, 0)  # as a lower end it says that 8 belongs to the interval
PAIRS = [(1.0, 2.0), (-INF, 3.0), (4.0, INF), (5.0, 5.0), (-INF, INF)]
EXPECTED = np.array(PAIRS)


def below(number):
    return np.nextafter(number, -INF)


@given(intervals())
def test_a_float64_array_of_pairs_passes_untouched_and_uncopied(y):
    checked = check_intervals(y)
    assert checked is y


@pytest.mark.parametrize(
    "y",
    [
        PAIRS,
        tuple(PAIRS),
        np.array(PAIRS, dtype=object),
        np.array(PAIRS, dtype=np.float32),
        np.array(PAIRS, dtype=">f8"),
        np.asfortranarray(EXPECTED),
        np.repeat(EXPECTED, 2, axis=0)[::2],
        np.ma.array(EXPECTED),
        [(Decimal(1), 2), (-INF, Decimal(3)), (4, INF), (5, np.float32(5)), (-INF, INF)],
    ],
    ids=[
        "list",
        "tuple",
        "object",
        "float32",
        "big_endian",
        "fortran",
        "strided",
        "masked",
        "mixed",
    ],
)
def test_every_form_of_pairs_becomes_the_same_array(y):
    checked = check_intervals(y)
    assert_array_equal(checked, EXPECTED)
    assert checked.dtype == np.float64
    assert checked.flags.c_contiguous
    assert type(checked) is np.ndarray


def test_a_read_only_array_is_copied_into_a_writeable_one():
    y = EXPECTED.copy()
    y.flags.writeable = False
    assert check_intervals(y).flags.writeable


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_two_column_frame_is_lower_then_upper(library):
    frame = pytest.importorskip(library).DataFrame({"from": EXPECTED[:, 0], "to": EXPECTED[:, 1]})
    assert_array_equal(check_intervals(frame), EXPECTED)


def test_nullable_columns_are_numbers():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"lower": pd.array([1, 2], dtype="Int64"), "upper": [1.5, INF]})
    assert_array_equal(check_intervals(frame), [[1, 1.5], [2, INF]])


@pytest.mark.parametrize("library", ["numpy.array", "list", "pandas.Series", "polars.Series"])
def test_one_dimension_is_uncensored(library):
    values = [3, -1, 2]
    if library != "list":
        module, name = library.split(".")
        values = getattr(pytest.importorskip(module), name)(values)
    assert_array_equal(check_intervals(values), [[3, 3], [-1, -1], [2, 2]])


def test_a_single_column_is_uncensored_with_a_warning():
    with pytest.warns(
        DataConversionWarning, match=r"A column-vector y .* shape \(2, 1\) .* Use y.ravel\(\)"
    ):
        checked = check_intervals(np.array([[1.0], [2.0]]))
    assert_array_equal(checked, [[1, 1], [2, 2]])


@pytest.mark.parametrize(
    "fields",
    [
        [("event", bool), ("time", float)],
        [("time", int), ("event", bool)],
        [("event", np.uint8), ("time", float)],
        [("time", int), ("event", int)],
    ],
)
def test_a_structured_array_is_events_and_right_censored_times(fields):
    y = np.zeros(2, dtype=fields)
    y["event"], y["time"] = [True, False], [5, 8]
    assert_array_equal(check_intervals(y), [[5, 5], [8, INF]])


def test_a_structured_array_with_a_masked_event_is_refused():
    rows, mask = [(True, 5.0), (False, 8.0)], [(False, False), (True, False)]
    y = np.ma.array(rows, mask=mask, dtype=[("event", bool), ("time", float)])
    with pytest.raises(
        ValueError, match=r"y: NaN or missing in 1 of 2 rows \(first: row 1, lower=8.0"
    ):
        check_intervals(y)


@pytest.mark.parametrize("closed", ["right", "left", "both", "neither"])
def test_pandas_intervals_are_taken_by_their_ends_and_sides(closed):
    pd = pytest.importorskip("pandas")
    index = pd.IntervalIndex.from_tuples([(1.0, 2.0), (-INF, 3.0)], closed=closed)
    for y in (index, index.array, pd.Series(index)):
        assert_array_equal(check_intervals(y), make_intervals([1, -INF], [2, 3], closed=closed))


def test_an_interval_of_pandas_that_holds_nothing_is_refused():
    pd = pytest.importorskip("pandas")
    index = pd.IntervalIndex.from_tuples([(1.0, 2.0), (3.0, 3.0)], closed="neither")
    with pytest.raises(
        ValueError, match=r"target: no number lies between open ends .* row 1, lower=3.0, upper=3.0"
    ):
        check_intervals(index, name="target")


def test_the_bins_of_pandas_cut_are_intervals():
    pd = pytest.importorskip("pandas")
    values, bins = [0.5, 1.5, 9.0], [-INF, 1.0, 2.0, INF]
    for y in (pd.cut(values, bins), pd.cut(pd.Series(values), bins)):
        assert_array_equal(check_intervals(y), [[-INF, 1], [1, 2], [2, INF]])
    assert_array_equal(check_intervals(pd.cut([1, 2], [0, 1, 5])), [[0, 1], [1, 5]])
    left = pd.cut([1, 2], [0, 1, 5], right=False)
    assert_array_equal(check_intervals(left), make_intervals([1, 1], [5, 5], closed="left"))


@pytest.mark.parametrize("bins", [[0.0, 1.0], [0, 1]])
def test_a_value_in_no_bin_of_pandas_cut_is_missing(bins):
    pd = pytest.importorskip("pandas")
    for y in (pd.cut([0.5, 9.0], bins), pd.Series(pd.cut([0.5, 9.0], bins))):
        with pytest.raises(ValueError, match="y: NaN or missing in 1 of 2 rows"):
            check_intervals(y)


def test_frame_libraries_are_not_imported():
    code = (
        "import sys; sys.modules.update(pandas=None, polars=None); "
        "from marginwood.intervals import check_intervals; check_intervals([(1, 2)])"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            None,
            r"y: Expected array-like \(array or non-string sequence\), got None. Accepted: an \(n, 2\)",
        ),
        (
            [(2, 1), (1, 2), (5, 4)],
            r"y: upper < lower in 2 of 3 rows \(first: row 0, lower=2.0, upper=1.0\)",
        ),
        (
            [(1, 2), (NAN, 3)],
            r"y: NaN or missing in 1 of 2 rows \(first: row 1, lower=nan, upper=3.0\)",
        ),
        ([(1, None), (2, 3)], r'make_intervals\(lower, upper, nan="open"\)'),
        (
            np.ma.array([[1, 2], [3, 4]], mask=[[0, 0], [0, 1]]),
            r"NaN or missing in 1 of 2 rows \(first: row 1",
        ),
        ([1.0, NAN], "NaN or missing in 1 of 2 rows"),
        (
            [(1, 2), (INF, INF)],
            r"both ends at the same infinity in 1 of 2 rows \(first: row 1, lower=inf",
        ),
        ([(-INF, -INF)], "An unknown lower end is -inf, an unknown upper end is inf"),
        ([1.0, INF], "both ends at the same infinity"),
        ([(1, 2), (-2e150, 3)], r"limits beyond 1e\+150 in 1 of 2 rows.* Divide y by a constant"),
        ([], r"y: got shape \(0,\). Accepted"),
        (np.empty((0, 2)), r"y: got shape \(0, 2\)"),
        (np.empty(0, dtype=[("event", bool), ("time", float)]), r"y: got shape \(0, 2\)"),
        (3.0, r"y: got shape \(\)"),
        (np.zeros((3, 3)), r"y: got shape \(3, 3\)"),
        (np.zeros((2, 5)), r"got shape \(2, 5\).* use make_intervals\(lower, upper\)"),
        (np.zeros((2, 2, 2)), r"y: got shape \(2, 2, 2\)"),
        ([(1, 2), (3,)], "y: expected an array of numbers, got rows of different lengths"),
        (
            np.zeros(2, dtype=[("lower", float), ("upper", float)]),
            "one event field .* and one numeric time field",
        ),
        (
            np.zeros(2, dtype=[("event", bool), ("time", "U3")]),
            "one event field .* and one numeric time field",
        ),
        (
            np.zeros(2, dtype=[("event", int), ("time", int)]),
            "one event field .* and one numeric time field",
        ),
        (
            np.full(2, 2, dtype=[("event", int), ("time", float)]),
            r"boolean, or whole numbers 0 and 1",
        ),
    ],
)
def test_what_is_not_an_interval_is_refused_with_its_place_and_a_way_out(y, message):
    with pytest.raises(ValueError, match=message):
        check_intervals(y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["1", "2"], "y: expected real numbers, got dtype <U1"),
        (np.array([1.0, "2"], dtype=object), "y: expected real numbers, got '2' of type str"),
        (np.array([1, 10**400], dtype=object), "y: expected real numbers, got 1000.* of type int"),
        (np.array([1.0, datetime.date(2000, 1, 1)], dtype=object), "of type date"),
        (np.array([1.0, 2.0j]), "y: expected real numbers, got dtype complex128"),
        (np.array([1.0, 2.0j], dtype=object), "of type complex"),
        (
            np.array(["2000-01-01"], dtype="datetime64[D]"),
            "got dtype datetime64.* divide by a unit",
        ),
        (np.array([1, 2], dtype="timedelta64[s]"), "got dtype timedelta64.* divide by a unit"),
        ([datetime.timedelta(1)], "of type timedelta.* divide by a unit"),
        (
            ["3", "<5"],
            r"y: expected real numbers, got dtype <U2.* read by from_detection_limits\(y\)",
        ),
        ([(3.0, None), ("<5", 1)], r"got '<5' of type str.* read by from_detection_limits\(y\)"),
        (
            csr_array(np.ones((3, 2))),
            r"y: expected a dense array, got a sparse matrix; pass y.toarray\(\)",
        ),
        (
            np.array([True, False]),
            r"y: expected numbers, got booleans.* use from_events\(time, event\)",
        ),
        (np.array([[True, 5.0]], dtype=object), "got True of type bool"),
        ({"lower": 1}, "of type dict"),
    ],
)
def test_what_is_not_a_real_number_is_refused(y, message):
    with pytest.raises(TypeError, match=message):
        check_intervals(y)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_of_events_and_times_is_not_mistaken_for_intervals(library):
    frame = pytest.importorskip(library).DataFrame({"event": [False, True], "time": [2.0, 3.0]})
    with pytest.raises(TypeError, match="expected numbers, got booleans"):
        check_intervals(frame)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_entry_of_a_frame_is_refused(library):
    frame = pytest.importorskip(library).DataFrame({"lower": [1, None], "upper": [2.0, 3.0]})
    with pytest.raises(
        ValueError, match=r"y: NaN or missing in 1 of 2 rows \(first: row 1, lower=nan, upper=3.0"
    ):
        check_intervals(frame)


def test_errors_use_the_name_of_the_argument():
    with pytest.raises(ValueError, match=r"^y_true: upper < lower"):
        check_intervals([(2, 1)], name="y_true")


def test_rows_without_information_are_counted_in_one_warning():
    with pytest.warns(
        UserWarning, match=r"y: 1 of 5 rows are \(-inf, inf\) \(first: row 4\)"
    ) as caught:
        check_informative(EXPECTED)
    assert len(caught) == 1


def test_rows_without_information_and_without_weight_are_not_mentioned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_informative(EXPECTED[:4])
        check_informative(EXPECTED, np.array([1.0, 1.0, 1.0, 1.0, 0.0]))


@pytest.mark.parametrize("sample_weight", [None, np.array([0.0, 1.0])])
def test_a_target_without_any_information_is_refused(sample_weight):
    y = np.array([(1.0, 2.0), (-INF, INF)])[0 if sample_weight is not None else 1 :]
    with pytest.raises(ValueError, match=r"y: all 1 rows.* are \(-inf, inf\)"):
        check_informative(y, sample_weight)


def test_weights_become_float64_and_none_stays_none():
    assert check_sample_weight(None, 3) is None
    assert_array_equal(check_sample_weight([1, 2, 0], 3), [1.0, 2.0, 0.0])
    assert_array_equal(check_sample_weight(2, 3), [2.0, 2.0, 2.0])
    assert_array_equal(check_sample_weight(np.array([True, False]), 2), [1.0, 0.0])
    weights = np.ones(3)
    assert check_sample_weight(weights, 3) is weights


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (
            [1, 2],
            r"sample_weight: expected a number or shape \(3,\), one weight per row; got shape \(2,\)",
        ),
        (np.ones((3, 1)), r"got shape \(3, 1\)"),
        (
            [1, NAN, 2],
            r"sample_weight: NaN or infinite in 1 of 3 rows \(first: row 1, sample_weight=nan\)",
        ),
        ([1, 2, INF], "NaN or infinite in 1 of 3 rows"),
        (
            [1, -1, -2],
            r"sample_weight: negative in 2 of 3 rows \(first: row 1, sample_weight=-1.0\)",
        ),
        ([0, 0, 0], "sample_weight: all weights are zero"),
        (0, "sample_weight: all weights are zero"),
    ],
)
def test_impossible_weights_are_refused(sample_weight, message):
    with pytest.raises(ValueError, match=message):
        check_sample_weight(sample_weight, 3)


def test_weights_that_are_not_numbers_are_refused():
    with pytest.raises(TypeError, match="sample_weight: expected real numbers, got dtype <U1"):
        check_sample_weight(["a", "b", "c"], 3)


def test_missing_ends_are_open():
    made = make_intervals([1, NAN, None, 4], np.ma.array([2, 3, 3, 9], mask=[0, 0, 0, 1]))
    assert_array_equal(made, [[1, 2], [-INF, 3], [-INF, 3], [4, INF]])


def test_an_end_may_be_one_number_or_none_for_all_rows():
    assert_array_equal(make_intervals([1, 2], None), [[1, INF], [2, INF]])
    assert_array_equal(make_intervals(0, [1, 2]), [[0, 1], [0, 2]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"lower": [1, NAN], "upper": [2, 3], "nan": "raise"},
            "lower, upper: NaN or missing in 1 of 2 rows",
        ),
        (
            {"lower": [1], "upper": [2], "nan": "drop"},
            "nan: expected one of 'open', 'raise', got 'drop'",
        ),
        ({"lower": [1, 2], "upper": [2, 3, 4]}, r"lower has shape \(2,\), upper has shape \(3,\)"),
        (
            {"lower": [[1, 2]], "upper": [[2, 3]]},
            r"expected 1-D arrays of one length; lower has shape \(1, 2\)",
        ),
        (
            {"lower": None, "upper": None},
            "lower, upper: both are None. Pass the known ends of at least one side",
        ),
        ({"lower": [3], "upper": [2]}, "lower, upper: upper < lower in 1 of 1 rows"),
    ],
)
def test_ends_that_do_not_make_intervals_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_intervals(**arguments)


@pytest.mark.parametrize(
    "event", [[True, False], [1, 0], [1.0, 0.0], np.array([True, False], dtype=object)]
)
def test_events_are_uncensored_and_the_rest_is_right_censored(event):
    assert_array_equal(from_events([5, 8], event), [[5, 5], [8, INF]])


def test_infinities_that_still_make_an_interval_are_kept():
    assert_array_equal(from_events([-INF, 1], [0, 1]), [[-INF, INF], [1, 1]])
    assert_array_equal(from_detection_limits([-INF, INF], 0.5, 8), [[-INF, 0.5], [FROM_8, INF]])


@pytest.mark.parametrize(
    ("time", "event", "message"),
    [
        (
            [5, 8],
            [1, 2],
            r"event: neither True/1 nor False/0 in 1 of 2 rows \(first: row 1, time=8.0, event=2.0",
        ),
        ([5, 8], [1, None], "event: neither True/1 nor False/0"),
        ([5, 8], [1, 2], r"event=2.0\).*R's: 1 is censored, 2 an event. Pass event == 2"),
        ([5, 8, 9], [0, 2, 1], "competing risks, which are not here: lifelines"),
        ([5, 8], [1, 0.5], r"event=0\.5\)\.$"),
        (
            [5, NAN],
            [1, 0],
            r"time: NaN, missing or infinite in 1 of 2 rows \(first: row 1, time=nan, .* Leave out",
        ),
        ([INF, 8], [0, 1], r"^time: NaN, missing or infinite .* row 0, time=inf, event=0.0\)"),
        ([5, -INF], [0, 1], r"^time: NaN, missing or infinite .* row 1, time=-inf, event=1.0\)"),
        ([5, 8, 9], [1, 0], r"time has shape \(3,\), event has shape \(2,\)"),
    ],
)
def test_impossible_events_are_refused(time, event, message):
    with pytest.raises(ValueError, match=message):
        from_events(time, event)


@pytest.mark.parametrize("dtype", [str, object])
def test_words_for_events_are_refused_with_a_way_out(dtype):
    status = np.array(["dead", "alive"], dtype)
    with pytest.raises(
        TypeError, match=r"event: expected True/False or 1/0 \(of texts: status == 'dead'\), got"
    ):
        from_events([5, 8], status)
    assert_array_equal(from_events([5, 8], status == "dead"), [[5, 5], [8, INF]])


def test_values_at_or_beyond_a_detection_limit_are_censored_there():
    y = [-1.0, 0.5, 0.6, 7.9, 8.0, 9.0]
    # A value that is recorded at a limit may be that limit.
    expected = [[-INF, 0.5], [-INF, 0.5], [0.6, 0.6], [7.9, 7.9], [FROM_8, INF], [FROM_8, INF]]
    assert_array_equal(from_detection_limits(y, 0.5, 8), expected)
    assert_array_equal(from_detection_limits(y), np.column_stack([y, y]))


def test_detection_limits_may_differ_per_row_or_be_absent():
    made = from_detection_limits(
        [1.0, 1.0, 1.0], lower_limit=[2.0, NAN, None], upper_limit=[INF, 1.0, 3.0]
    )
    assert_array_equal(made, [[-INF, 2], [below(1), INF], [1, 1]])


@pytest.mark.parametrize(
    ("y", "limits", "message"),
    [
        (
            [1.0, NAN],
            (0, 2),
            r"y: NaN, missing or infinite in 1 of 2 rows \(first: row 1, y=nan, .* Leave out rows",
        ),
        (
            [1.0, INF],
            (0,),
            r"^y: NaN, missing or infinite .* row 1, y=inf, lower_limit=0.0, upper_limit=inf\)",
        ),
        ([1.0, 2.0], (2, 2), "lower_limit >= upper_limit in 2 of 2 rows"),
        ([1.0, 2.0], ([1, 2, 3], 4), r"y has shape \(2,\), lower_limit has shape \(3,\)"),
    ],
)
def test_impossible_detection_limits_are_refused(y, limits, message):
    with pytest.raises(ValueError, match=message):
        from_detection_limits(y, *limits)


def test_measurements_are_read_as_laboratories_write_them():
    texts = ["<1", "2.5", ">50", "ND", "0.1", "≤ 3", "≥50", "ND(3)", "<0", ">= 0"]
    made = from_detection_limits(texts, lower_limit=0.5)
    expected = [[-INF, below(1)], [2.5, 2.5], [50, INF], [-INF, below(0.5)], [-INF, 0.5], [-INF, 3]]
    expected += [[below(50), INF], [-INF, below(3)], [-INF, -5e-324], [-5e-324, INF]]
    assert_array_equal(made, expected)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_measurements_may_be_a_series(library):
    series = pytest.importorskip(library).Series(["<1", "2.5", ">50"])
    assert_array_equal(from_detection_limits(series), [[-INF, below(1)], [2.5, 2.5], [50, INF]])


def test_a_flag_decides_between_a_limit_and_a_detected_value_that_is_equal_to_it():
    flags = [True, False, False]
    half = [-INF, below(0.5)]
    assert_array_equal(
        from_detection_limits([0.5, 0.5, 2], nondetect=flags), [half, [0.5, 0.5], [2, 2]]
    )
    assert_array_equal(
        from_detection_limits([0, 0.5, 2], 0.5, nondetect=flags), [half, [0.5, 0.5], [2, 2]]
    )
    assert_array_equal(
        from_detection_limits([NAN, 0.2, 9], 0.5, 9, nondetect=flags),
        [half, [0.2, 0.2], [below(9), INF]],
    )
    texts = from_detection_limits(["<1", "1", "ND", "≤1"], 2, nondetect=[1, 0, 1, 1])
    assert_array_equal(texts, [[-INF, below(1)], [1, 1], [-INF, below(2)], [-INF, 1]])


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (
            ["1", "ND"],
            {},
            r"y: not detected, but no detection limit is given, .* row 1, y=ND\)\. Pass lower_limit",
        ),
        (
            ["1", ""],
            {"lower_limit": 1},
            r"y: NaN, missing or infinite in 1 of 2 rows \(first: row 1, y=, .* Leave out",
        ),
        (["1", "2 mg"], {}, "y: expected a number, '<1', '>50' or 'ND'"),
        (
            [1, 2],
            {"nondetect": [0, 2]},
            r"nondetect: neither True/1 nor False/0 .* row 1, y=2.0, nondetect=2.0",
        ),
        ([1, 2], {"nondetect": [0, NAN]}, "nondetect: neither True/1 nor False/0"),
        (
            ["<1", "2"],
            {"nondetect": [0, 0]},
            "y and nondetect: they contradict each other in 1 of 2 rows",
        ),
        ([">1", "2"], {"nondetect": [1, 0]}, "y and nondetect: they contradict each other"),
        (
            [1, 2],
            {"nondetect": [1, 0], "lower_limit": 0.5},
            "nondetect: flagged above lower_limit .* leave out lower_limit",
        ),
        ([1, 2], {"nondetect": [1, 0, 1]}, r"nondetect has shape \(3,\), y has shape \(2,\)"),
    ],
)
def test_impossible_measurements_are_refused(y, options, message):
    with pytest.raises(ValueError, match=message):
        from_detection_limits(y, **options)


def test_every_row_has_one_kind_of_censoring():
    expected = ["interval", "left", "right", "uncensored", "uninformative"]
    assert censoring_kind(PAIRS).tolist() == expected
    assert sorted(CENSORING_KINDS) == sorted(expected)
