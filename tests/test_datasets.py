"""Simulations, intervals made of regressions, data files, and downloads from a server on this machine."""

import hashlib
import io
import os
import socket
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from conftest import PATIENCE
from marginwood import MaxMarginIntervalTree
from marginwood._support import archives
from marginwood.datasets import (
    fetch_paper_data,
    load_folder,
    load_npz,
    make_absolute,
    make_intervals_from_regression,
    make_linear,
    make_sine,
)
from marginwood.intervals import censoring_kind

SIGNALS = {
    make_sine: np.sin,
    make_absolute: lambda x: np.abs(x - 5),
    make_linear: lambda x: x / 5,
}
each_maker = pytest.mark.parametrize("make", SIGNALS)


@each_maker
def test_default_shape_is_200_rows_of_20_features(make):
    X, y = make(random_state=0)
    assert X.shape == (200, 20)
    assert y.shape == (200, 2)
    assert X.dtype == y.dtype == np.float64


@each_maker
def test_features_lie_between_0_and_10(make):
    X, _ = make(1000, 3, random_state=0)
    assert X.min() >= 0
    assert X.max() <= 10
    np.testing.assert_allclose(X.mean(axis=0), 5, atol=0.4)


@each_maker
def test_lower_is_below_upper_and_one_end_is_finite(make):
    _, y = make(5000, 1, random_state=0)
    assert (y[:, 0] < y[:, 1]).all()
    assert np.isfinite(y).any(axis=1).all()


@each_maker
def test_a_fifth_of_the_rows_has_one_open_end_and_either_end_is_as_likely(make):
    _, y = make(20_000, 1, random_state=0)
    np.testing.assert_allclose(np.isinf(y).any(axis=1).mean(), 0.2, atol=0.01)
    np.testing.assert_allclose(np.isinf(y).mean(axis=0), 0.1, atol=0.01)


@each_maker
def test_closed_intervals_are_centred_on_the_signal_of_the_first_feature(make):
    X, y = make(20_000, 2, random_state=0)
    closed = np.isfinite(y).all(axis=1)
    deviation = y[closed].mean(axis=1) - SIGNALS[make](X[closed, 0])
    assert abs(deviation.mean()) < 0.01
    # Shift 0.2 and the middle of the extremes of 10 normal draws of 0.3 (0.13) together.
    np.testing.assert_allclose(deviation.std(), 0.24, atol=0.01)


def test_closed_intervals_are_as_wide_as_the_range_of_ten_normal_draws():
    _, y = make_sine(20_000, 1, random_state=0)
    closed = np.isfinite(y).all(axis=1)
    np.testing.assert_allclose(np.diff(y[closed]).mean(), 3.078 * 0.3, atol=0.01)


@each_maker
def test_a_seed_repeats_and_another_seed_differs(make):
    X, y = make(random_state=3)
    X_again, y_again = make(random_state=np.random.RandomState(3))
    X_other, y_other = make(random_state=4)
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    assert (X_other != X).any()
    assert (y_other != y).any()


def test_makers_share_features_for_one_seed():
    np.testing.assert_array_equal(make_sine(random_state=0)[0], make_linear(random_state=0)[0])


@pytest.mark.parametrize("argument", ["n_samples", "n_features"])
def test_counts_below_one_are_refused_by_name(argument):
    with pytest.raises(ValueError, match=f"{argument}: .* got 0"):
        make_sine(**{argument: 0})


def test_intervals_of_a_regression_hold_the_values_in_the_mix_that_was_asked_for():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    values = 5 + 3 * X[:, 0]
    X_same, y = make_intervals_from_regression(
        X, values, width=0.4, left=0.1, right=0.3, uncensored=0.2, random_state=0
    )
    np.testing.assert_array_equal(X_same, X)
    assert ((y[:, 0] <= values) & (values <= y[:, 1])).all()
    kind = censoring_kind(y)
    shares = {"left": 0.1, "right": 0.3, "uncensored": 0.2, "interval": 0.4}
    for name, share in shares.items():
        np.testing.assert_allclose((kind == name).mean(), share, atol=0.01)
    np.testing.assert_allclose(np.diff(y[kind == "interval"]).mean(), 0.4 * values.std(), rtol=0.02)


def test_intervals_of_a_regression_can_be_learnt_and_repeat_with_their_seed():
    X, y = make_intervals_from_regression(*load_diabetes(return_X_y=True), random_state=0)
    assert MaxMarginIntervalTree(max_depth=3).fit(X, y).score(X, y) > 0.4
    np.testing.assert_array_equal(
        y, make_intervals_from_regression(*load_diabetes(return_X_y=True), random_state=0)[1]
    )
    all_left = make_intervals_from_regression(X, X[:, 0], left=1, right=0)[1]
    assert set(censoring_kind(all_left)) == {"left"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"left": 0.6, "right": 0.6}, "left, right, uncensored: .* at most 1"),
        ({"left": -0.1}, "left, right, uncensored: "),
        ({"width": -1.0}, "width: "),
        ({"y": [1.0, nan]}, "X, y: "),
        ({"y": [1.0]}, "X, y: "),
    ],
)
def test_a_mix_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_intervals_from_regression(**{"X": [[1.0], [2.0]], "y": [1.0, 2.0]} | arguments)


FILES = {
    "features.csv": '"a","b"\n1.5,NA\n-Inf,2\n3,4\n',
    "targets.csv": "lower,upper\n-Inf,2\n1,1\n0.5,Inf\n",
    "folds.csv": "fold\n1\n2\n1\n",
}


def write_folder(folder, **changes):
    folder.mkdir(exist_ok=True)
    for name, text in (FILES | {f"{key}.csv": value for key, value in changes.items()}).items():
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_folder_of_csv_files_is_read(tmp_path):
    data = load_folder(write_folder(tmp_path / "toy set"))
    np.testing.assert_array_equal(data.X, [[1.5, nan], [-inf, 2], [3, 4]])
    np.testing.assert_array_equal(data.y, [[-inf, 2], [1, 1], [0.5, inf]])
    np.testing.assert_array_equal(data.folds, [1, 2, 1])
    assert (data.feature_names, data.name) == (["a", "b"], "toy set")


def test_a_folder_is_read_as_the_command_line_reads_it(tmp_path):
    pytest.importorskip("polars", reason="the command line reads with polars")
    from marginwood._cli.data import read_data
    from marginwood._cli.main import make_parser

    cells = ["", "NA", " n/a ", "NaN", "null", "None", "TRUE", "false", " 1.5 ", "-Inf"]
    features = '\ufeff"", a ,b\n' + "".join(
        f"row {idx},{cell},{idx}\n" for idx, cell in enumerate(cells)
    )
    targets = "lower,upper\n,2\n1,NA\n" + "n/a,3\n-Inf,Inf\n" * 4
    folds = "fold\n" + "1\n2\n" * 5
    folder = write_folder(tmp_path / "toy", features=features, targets=targets, folds=folds)
    data = load_folder(folder)
    np.testing.assert_array_equal(data.X[:, 0], [nan] * 6 + [1, 0, 1.5, -inf])
    np.testing.assert_array_equal(data.y[:3], [[-inf, 2], [1, inf], [-inf, 3]])
    read = read_data(make_parser().parse_args(["fit", str(folder), "--out", "model.mw"]))
    np.testing.assert_array_equal(data.X, read.X)
    np.testing.assert_array_equal(data.y, read.y)
    np.testing.assert_array_equal(data.folds, read.folds)
    assert data.feature_names == read.names == ["a", "b"]


def test_folds_may_be_absent(tmp_path):
    assert load_folder(write_folder(tmp_path / "toy", folds=None)).folds is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": "a,b\n1,2\n1\n"}, r"features.csv: expected 2 columns, got 1 in row 1"),
        ({"features": "a\nx\n"}, r"features.csv: could not convert string to float: 'x' in row 0"),
        ({"folds": "fold\n1\n"}, "expected one number of rows"),
        (
            {"folds": "fold\n1\n2.5\n1\n"},
            r"folds.csv: .* not whole numbers in 1 of 3 rows \(first: row 1, fold=2.5\)",
        ),
        (
            {"folds": "fold\n1\n2\nNA\n"},
            r"folds.csv: .* not whole numbers in 1 of 3 rows \(first: row 2, fold=nan\)",
        ),
        (
            {"folds": "fold\nInf\n2\n1\n"},
            r"folds.csv: .* not whole numbers in 1 of 3 rows \(first: row 0, fold=inf\)",
        ),
        ({"features": ""}, "features.csv: empty, .* expected a header"),
        ({"targets": ""}, "targets.csv: empty, .* expected a header"),
        ({"targets": "\n\n"}, "targets.csv: empty, .* expected a header"),
        ({"folds": '""\n1\n2\n1\n'}, "folds.csv: .* without names; expected a header"),
        ({"targets": "lower,upper\n2,1\n1,1\n1,1\n"}, "lower, upper: upper < lower in 1 of 3"),
        (
            {"targets": "target\n2\n1\n1\n"},
            "targets.csv: expected two columns, lower and upper ends; got 1",
        ),
    ],
)
def test_a_folder_that_is_no_data_set_is_refused(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        load_folder(write_folder(tmp_path / "toy", **changes))


def test_an_npz_file_is_read(tmp_path):
    X, y = make_sine(10, 2, random_state=0)
    np.savez(
        tmp_path / "sine.npz",
        X=X,
        y=y,
        folds=np.arange(10) % 5 + 1,
        feature_names=np.array(["a", "b"]),
    )
    data = load_npz(tmp_path / "sine.npz")
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert data.folds.max() == 5
    assert (data.feature_names, data.name) == (["a", "b"], "sine")


def test_folds_of_an_npz_file_that_are_not_whole_numbers_are_refused(tmp_path):
    np.savez(tmp_path / "toy.npz", X=[[1.0], [2.0]], y=[1.0, 2.0], folds=[1, 2.5])
    with pytest.raises(
        ValueError, match=r"toy.npz: folds are not whole numbers in 1 of 2 rows \(first: row 1"
    ):
        load_npz(tmp_path / "toy.npz")


def test_an_npz_file_without_targets_or_with_pickles_is_refused(tmp_path):
    np.savez(tmp_path / "no_targets.npz", X=[[1.0]])
    with pytest.raises(ValueError, match="expected arrays X and y, got X"):
        load_npz(tmp_path / "no_targets.npz")
    np.savez(tmp_path / "pickled.npz", X=[[1.0]], y=np.array([(0, None)], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        load_npz(tmp_path / "pickled.npz")


def zip_of(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


SETS = {
    f"repo-main/{folder}/{name}": text
    for folder in ("servo", "toy (2)")
    for name, text in FILES.items()
}
ZIP = zip_of(SETS | {"repo-main/README.md": "not data", "repo-main/servo/notes.txt": "not data"})


class Handler(BaseHTTPRequestHandler):
    """Serves what the server's table says: status, headers, body."""

    def do_GET(self):
        self.server.asked.append(self.path)
        status, headers, body = self.server.table.get(self.path, (404, {}, b""))
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.table, server.asked = {"/data.zip": (200, {}, ZIP)}, []
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def files_below(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


def test_the_papers_data_is_downloaded_once(server, tmp_path):
    digest = hashlib.sha256(ZIP).hexdigest()
    folders = fetch_paper_data(data_home=tmp_path, url=f"{server.url}/data.zip", sha256=digest)
    assert list(folders) == ["servo", "toy (2)"]
    np.testing.assert_array_equal(load_folder(folders["toy (2)"]).folds, [1, 2, 1])
    assert len(files_below(tmp_path)) == 6
    assert fetch_paper_data(data_home=tmp_path, url=f"{server.url}/data.zip") == folders
    assert server.asked == ["/data.zip"]


def test_the_page_of_a_repository_leads_to_its_archive(server, tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "REPOSITORIES", "127.0.0.1")
    server.table |= {
        "/short": (302, {"Location": f"{server.url}/owner/repo"}, b""),
        "/owner/repo": (200, {"Content-Type": "text/html; charset=utf-8"}, b"<html>"),
        "/owner/repo/archive/HEAD.zip": (200, {"Content-Type": "application/zip"}, ZIP),
    }
    assert "servo" in fetch_paper_data(data_home=tmp_path, url=f"{server.url}/short")


LOGIN = {
    "/login": (200, {"Content-Type": "text/html"}, b"<html>"),
    "/data.zip": (302, {"Location": "/login"}, b""),
}


@pytest.mark.parametrize(("host", "n_asked"), [("github.com", 2), ("127.0.0.1", 4)])
def test_a_network_that_answers_everything_with_a_page_is_not_asked_again_and_again(
    server, tmp_path, monkeypatch, host, n_asked
):
    monkeypatch.setattr(archives, "REPOSITORIES", host)
    server.table |= LOGIN | {"/login/archive/HEAD.zip": LOGIN["/data.zip"]}
    with pytest.raises(OSError, match="got a web page"):
        fetch_paper_data(data_home=tmp_path, url=f"{server.url}/data.zip", timeout=PATIENCE)
    assert len(server.asked) == n_asked  # with the page that each answer leads to


def test_the_data_home_comes_from_the_environment(server, tmp_path, monkeypatch):
    monkeypatch.setenv("MARGINWOOD_DATA", os.fspath(tmp_path / "deep" / "home"))
    folders = fetch_paper_data(url=f"{server.url}/data.zip")
    assert folders["servo"] == tmp_path / "deep" / "home" / "paper" / "servo"


def bytes_at(content, place, *new):
    return content[:place] + bytes(new) + content[place + len(new) :]


def after(content, mark, n_bytes):
    """The place so many bytes after the first one of a mark."""
    return content.index(mark) + n_bytes


CENTRAL = b"PK\x01\x02"  # where the archive describes its first file
BOMB = {f"x/{number}/features.csv": "0" * 10**6 for number in range(4)}
BAD_ANSWERS = {
    "truncated": ((200, {"Content-Length": str(len(ZIP))}, ZIP[:-100]), "broke off after .* of"),
    "truncated without a length": (
        (200, {"Transfer-Encoding": "chunked"}, b"ff\r\nabc"),
        "incomplete",
    ),
    "cut before it was sent": ((200, {}, ZIP[:-100]), "expected a zip archive"),
    "flipped bits": (
        (200, {}, ZIP[:60] + bytes(byte ^ 255 for byte in ZIP[60:70]) + ZIP[70:]),
        "damaged",
    ),
    "encrypted": ((200, {}, bytes_at(ZIP, after(ZIP, CENTRAL, 8), 1)), "encrypted"),
    "a method that nothing reads": (
        (200, {}, bytes_at(ZIP, after(ZIP, CENTRAL, 10), 99)),
        "of a kind that is not read",
    ),
    "a version that nothing reads": (
        (200, {}, bytes_at(ZIP, after(ZIP, CENTRAL, 6), 99)),
        "of a kind that is not read",
    ),
    "a length in words": ((200, {"Content-Length": "many"}, ZIP), "many"),
    "more inside than may be": ((200, {}, zip_of(BOMB)), "files of at most 3000000 bytes in all"),
    "very many files": (
        (200, {}, zip_of({f"x/{n}/features.csv": "" for n in range(800)})),
        "at most 3000000 bytes in all",
    ),
    "not an archive": ((200, {}, b"hello"), "expected a zip archive"),
    "a page": ((200, {"Content-Type": "text/html"}, b"<html>"), "got a web page"),
    "an endless download": (
        (200, {"Content-Length": str(10**12)}, bytes(4 * 10**6)),
        "expected at most 3000000 bytes",
    ),
    "server error": ((500, {}, b""), "answered 500"),
    "nothing of use": ((200, {}, zip_of({"a/b.txt": ""})), "holds no file named features.csv"),
    "path outside": (
        (200, {}, zip_of(SETS | {"../../evil/features.csv": "a"})),
        r"'\.\./\.\./evil/features.csv'",
    ),
    "absolute path": ((200, {}, zip_of({"/etc/features.csv": "a"})), "not inside a folder"),
    "no folder": ((200, {}, zip_of({"features.csv": "a"})), "not inside a folder"),
    "a file twice": (
        (200, {}, zip_of({"x/s/features.csv": "a", "y/s/features.csv": "b"})),
        "two files at s/features",
    ),
}


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_a_bad_answer_raises_and_leaves_nothing_behind(server, tmp_path, case, monkeypatch):
    monkeypatch.setattr(archives, "LARGEST", 3 * 10**6)
    answer, message = BAD_ANSWERS[case]
    server.table["/data.zip"] = answer
    # The server closes the connection after each answer, which ends those that are too short.
    with pytest.raises(OSError, match=f"{server.url}/data.zip: .*({message})"):
        fetch_paper_data(
            data_home=tmp_path / "home", url=f"{server.url}/data.zip", timeout=PATIENCE
        )
    assert list((tmp_path / "home").iterdir()) == []
    assert files_below(tmp_path) == []


def test_a_wrong_checksum_raises_and_leaves_nothing_behind(server, tmp_path):
    with pytest.raises(OSError, match=r"expected a file of sha256 0000, got [0-9a-f]{64}"):
        fetch_paper_data(data_home=tmp_path, url=f"{server.url}/data.zip", sha256="0000")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_download_leaves_nothing_behind_and_can_be_repeated(
    server, tmp_path, monkeypatch
):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(archives, "_check_digest", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fetch_paper_data(data_home=tmp_path, url=f"{server.url}/data.zip")
    assert list(tmp_path.iterdir()) == []
    assert len(fetch_paper_data(data_home=tmp_path, url=f"{server.url}/data.zip")) == 2


def test_offline_the_error_says_what_to_do(tmp_path):
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody_listens.getsockname()[1]}/data.zip"
    with pytest.raises(
        OSError, match=r"cannot be reached .* Check the connection, .* pass a file://"
    ):
        fetch_paper_data(data_home=tmp_path, url=url)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_address_raises_the_error_of_downloads(tmp_path):
    with pytest.raises(OSError, match="data: unknown url type: 'data'"):
        fetch_paper_data(data_home=tmp_path, url="data")


def test_an_archive_on_disk_is_taken_by_its_address(tmp_path):
    archive = tmp_path / "archive.zip"
    archive.write_bytes(ZIP)
    assert "servo" in fetch_paper_data(data_home=tmp_path / "home", url=archive.as_uri())


def test_nothing_is_downloaded_when_that_is_forbidden(tmp_path):
    with pytest.raises(OSError, match="download_if_missing is False"):
        fetch_paper_data(data_home=tmp_path, download_if_missing=False)


def test_two_processes_that_download_at_once_both_succeed(server, tmp_path, monkeypatch):
    def other_is_faster(*arguments):
        monkeypatch.undo()
        fetch_paper_data(data_home=tmp_path, url=f"{server.url}/data.zip")
        return archives._unpack(*arguments)

    monkeypatch.setattr(archives, "_unpack", other_is_faster)
    assert len(fetch_paper_data(data_home=tmp_path, url=f"{server.url}/data.zip")) == 2
    assert [path.name for path in Path(tmp_path).iterdir()] == ["paper"]
