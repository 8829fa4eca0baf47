"""The paper's experiments: their statistics, their csv files, and a small run of each."""

import csv
import json

import numpy as np
import pytest
from benchmarks.paper import accuracy, expected, functions, growth, moves, report, statistics, when
from benchmarks.paper.data import DataSet, data_sets
from benchmarks.paper.methods import METHODS, Method, quick_methods
from benchmarks.paper.table import Piece, Table, fingerprint

from marginwood.datasets import make_sine

# Table 6 of Demsar (2006): AUC of four variants of C4.5 on 14 data sets. Its ranks tell apart two
# values that are printed alike, hence 0.97501.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.97501, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_ranks_and_tests_are_those_of_the_textbook_example():
    errors = 1 - DEMSAR
    np.testing.assert_allclose(
        statistics.average_ranks(errors), [3.143, 2.000, 2.893, 1.964], atol=5e-4
    )
    # Demsar's statistic, 9.28, does not correct for ties; this one does, which divides by at most
    # 1.
    corrected = statistics.friedman(errors)
    assert 9.28 < corrected.statistic < 9.28 * 1.15
    assert corrected.pvalue < 0.05
    assert statistics.critical_difference(4, 14) == pytest.approx(
        2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=2e-3
    )


def test_wilcoxons_test_is_that_of_the_textbook_example():
    # Table 2 there compares the first two variants: T = 12 of 14 rows, z = -2.54, p = 0.011.
    better, worse, p_value = statistics.paired_test(1 - DEMSAR[:, 1], 1 - DEMSAR[:, 0])
    assert (better, worse) == (10, 2)
    assert 0.005 < p_value < 0.02


def test_a_failure_ranks_last_and_counts_in_paired_tests():
    errors = np.array([[1.0, np.inf, 2.0], [1.0, np.inf, np.inf]])
    np.testing.assert_allclose(statistics.average_ranks(errors), [1.0, 2.75, 2.25])
    assert statistics.paired_test(errors[:, 0], errors[:, 1])[:2] == (2, 0)
    assert statistics.paired_test(errors[:, 1], errors[:, 1]) == (0, 0, 1.0)


def test_groups_of_like_methods_are_maximal():
    assert statistics.alike([3.143, 2.0, 2.893, 1.964], 1.25) == [(1.964, 3.143)]
    assert statistics.alike([1.0, 2.0, 3.0, 9.0], 1.0) == [(1.0, 2.0), (2.0, 3.0)]


CALLS = []


def square(value):
    CALLS.append(value)
    if value == 7:
        raise KeyboardInterrupt
    return value**2, f"two\nlines of {value}"


def squares(*values, settings="same"):
    return [Piece((str(value), fingerprint(settings)), square, (value,)) for value in values]


@pytest.fixture
def table(tmp_path):
    CALLS.clear()
    return Table(tmp_path / "out" / "squares.csv", ("value",), ("square", "note"))


def test_a_run_that_was_stopped_goes_on_and_repeats_nothing(table):
    with pytest.raises(KeyboardInterrupt):
        table.run(squares(1, 2, 7, 3), n_jobs=1)
    table.run(squares(1, 2, 3), n_jobs=1)
    assert CALLS == [1, 2, 7, 3]
    lines = table.read(squares(3, 2, 1)).values()
    assert [line["square"] for line in lines] == ["9", "4", "1"]
    assert {line["note"] for line in lines} == {f"two lines of {value}" for value in (1, 2, 3)}


@pytest.mark.parametrize("n_lost", [1, 5, 30])
def test_a_half_written_line_is_dropped_and_done_again(table, n_lost):
    table.run(squares(1, 2), n_jobs=1)
    content = table.path.read_bytes()
    table.path.write_bytes(content[:-n_lost])
    assert list(table.read(squares(1, 2))) == [squares(1)[0].key]
    table.run(squares(1, 2), n_jobs=1)
    assert CALLS == [1, 2, 2]
    assert table.path.read_bytes() == content


def test_a_half_written_header_is_written_again(table):
    table.path.write_text("value,sett")
    table.run(squares(1), n_jobs=1)
    assert len(table.read(squares(1))) == 1


def test_results_of_other_settings_are_not_read(table):
    table.run(squares(1), n_jobs=1)
    assert not table.read(squares(1, settings="other"))
    table.run(squares(1, settings="other"), n_jobs=1)
    assert CALLS == [1, 1]


def test_a_file_of_other_columns_is_refused_and_kept(table):
    table.path.write_text("something else\n")
    with pytest.raises(SystemExit, match="expected the columns"):
        table.run(squares(1), n_jobs=1)
    assert table.path.read_text() == "something else\n"


def test_every_method_has_settings_that_print_the_same_in_every_process():
    assert not any(" at 0x" in repr(method.settings) for method in METHODS.values())
    assert all(
        METHODS[name].settings != method.settings
        for name, method in quick_methods().items()
        if method.settings
    )


def small_set():
    X, y = make_sine(30, 2, random_state=0)
    X[0, 1], X[1, 1], X[2, 1] = np.nan, np.inf, -np.inf
    return DataSet("sine", X, y, np.arange(30) % 3 + 1)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_predicts_from_features_that_are_not_finite(name):
    if "AFT" in name or "XGBoost" in name:
        pytest.importorskip("xgboost")
    (piece,) = accuracy.pieces([small_set()], {name: quick_methods()[name]}, n_folds=1)
    n, p, mse, inside, seconds, parameters, note = piece.function(*piece.arguments)
    assert (n, p, note) == (30, 2, "")
    assert 0 <= mse < 2
    assert 0 <= inside <= 1
    assert seconds > 0
    assert parameters.startswith("{")


def diverge(_, __, X_test):
    return np.full(len(X_test), np.inf), {}


def test_a_method_that_fails_is_recorded_with_its_reason_and_ranks_last(tmp_path, capsys):
    methods = dict.fromkeys(("Constant", "MMIT-S", "boosting"), METHODS["Constant"])
    methods["diverges"] = Method("outside", diverge, {})
    data = small_set()
    pieces = accuracy.pieces([data, data._replace(name="again")], methods)
    table = accuracy.table(tmp_path)
    table.run(pieces, n_jobs=1)
    lines = list(table.read(pieces).values())
    failures = [line for line in lines if line["method"] == "diverges"]
    assert len(failures) == 6
    assert all(
        line["mse"] == "inf" and line["note"].startswith("failed: ValueError: y_pred")
        for line in failures
    )
    report.write(lines, tmp_path)
    assert "critical difference" in capsys.readouterr().out
    with (tmp_path / "summary.csv").open(newline="") as file:
        last = list(csv.DictReader(file))[-1]
    assert (last["method"], last["average rank"], last["failed folds"]) == ("diverges", "4.00", "6")


def test_data_sets_that_are_not_complete_are_left_out_of_comparisons():
    def line(name, method, fold):
        return {"data set": name, "method": method, "fold": fold, "mse": "1.0"}

    lines = [
        line("a", "x", 1),
        line("a", "x", 2),
        line("a", "y", 1),
        line("b", "x", 1),
        line("b", "y", 1),
    ]
    assert accuracy.by_data_set(lines)[0] == ["b"]


def test_the_linear_hinge_moves_at_most_once_per_limit_and_the_crossing_order_crosses(tmp_path):
    pieces = moves.moves_pieces([small_set()], n_margins=3)
    table = moves.moves_table(tmp_path)
    table.run(pieces, n_jobs=1)
    lines = list(table.read(pieces).values())
    assert len(lines) == 2 * 3 * 2
    assert max(float(line["max"]) for line in lines if line["loss"] == "linear_hinge") <= 1
    pieces = moves.solver_pieces([small_set()], sizes=(1000,), repeats=1)
    outcomes = {piece.key[:2]: piece.function(*piece.arguments) for piece in pieces}
    assert (
        outcomes["crossing", "squared_hinge"][1] > 100 > 10 > outcomes["drawn", "squared_hinge"][1]
    )


def test_the_sine_is_learned_by_a_tree_and_not_by_the_line():
    methods = quick_methods()
    tree, line = (
        functions.fit_function("simulated.sin", *methods[name][1:])
        for name in ("Interval-CART", "L1-Linear")
    )
    assert tree[0] < 0.25 * line[0]
    assert len(json.loads(tree[1])) == functions.N_SHOWN


def test_a_directory_gives_files_and_folders_with_their_folds(tmp_path):
    X, y = make_sine(20, 2, random_state=0)
    (tmp_path / "some").mkdir()
    np.savez(tmp_path / "some" / "wave.npz", X=X, y=y, folds=np.arange(20) % 2 + 1)
    folder = tmp_path / "table"
    folder.mkdir()
    (folder / "features.csv").write_text("a\n" + "1\n2\n3\n4\n5\n")
    (folder / "targets.csv").write_text("low,high\n" + "0,1\n" * 5)
    found = data_sets(tmp_path)
    assert [data_set.name for data_set in found] == ["table", "some/wave"]
    assert found[1].folds.tolist() == [1, 2] * 10
    assert sorted(found[0].folds.tolist()) == [1, 2, 3, 4, 5]


def test_a_directory_without_data_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="--data: expected a directory"):
        data_sets(tmp_path)


def test_growth_counts_moves_and_fits_an_exponent(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(growth, "SIZES", (100, 300, 1000))
    growth.main(["--out", str(tmp_path), "--largest", "1000"])
    rows = [
        line.split("|")[1:-1]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("| ")
    ][2:]
    assert len(rows) == len(growth.LOSSES) * len(growth.FAMILIES)
    for loss, _, moves_per_limit, exponent, error in rows:
        assert 0 < float(moves_per_limit) < 2
        assert abs(float(exponent)) < 0.5
        assert float(error) > 0
        if loss.strip() == "linear hinge":
            assert float(moves_per_limit) <= 1
    assert (tmp_path / "growth.png").stat().st_size > 0


def test_a_power_law_is_fitted_as_it_is():
    lines = [
        {"loss": "linear_hinge", "family": "normal", "n": str(n), "mean": repr(0.5 * n**0.25)}
        for n in (10, 100, 1000)
    ]
    ((loss, family, last, slope, error),) = growth.fits(lines)
    assert (loss, family) == ("linear_hinge", "normal")
    assert (last, slope, error) == pytest.approx((0.5 * 1000**0.25, 0.25, 0.0), abs=1e-6)


def test_when_varies_one_thing_and_compares_with_cart(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(when, "BASE", when.BASE | {"n": 40, "p": 1})
    monkeypatch.setattr(when, "N_FOLDS", 2)
    monkeypatch.setattr(when, "N_MARGINS", 2)
    monkeypatch.setattr(when, "VARIED", {"open": (0.0, 0.5), "open above": (0.5,)})
    when.main(["--out", str(tmp_path), "--seeds", "2"])
    printed = capsys.readouterr().out
    assert printed.count("error against Interval-CART") == 2
    assert (tmp_path / "when.png").stat().st_size > 0
    X, y, fresh, truth = when.simulate(0, **when.setting("open above", 1.0))
    assert X.shape == (40, 1)
    assert np.isinf(y[:, 1]).all()
    assert np.isfinite(y[:, 0]).all()
    np.testing.assert_allclose(truth, np.sin(fresh[:, 0]))


def test_every_lemma_of_pointer_moves_has_a_table(monkeypatch, capsys):
    monkeypatch.setattr(expected, "N_ROWS", 20_000)
    expected.main(["--largest", "10000"])
    tables = capsys.readouterr().out.split("\n\n")
    titles = [text.strip() for text in tables if not text.startswith("|")]
    assert len(titles) == 7
    cells = [[line.split("|")[1:-1] for line in text.splitlines()[2:]] for text in tables[1::2]]
    lemma, newton, means, quantiles, *_ = [np.array(rows) for rows in cells]
    assert set(lemma[:, 2].astype(int)) == {1}
    assert lemma[:, 1].astype(float).min() > 0.98
    assert newton[:, 1].astype(float) == pytest.approx(np.ones(6), abs=0.1)
    linear = means[:6]
    last = [float(found.split(",")[-1]) for found in linear[:, 2]]
    assert last == pytest.approx(linear[:, 3].astype(float), abs=0.03)
    assert quantiles[:, 1].astype(float) == pytest.approx(quantiles[:, 3].astype(float), abs=0.03)
