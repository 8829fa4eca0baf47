"""Compiled kernels between runs: kept in the user's folder, never stale, and never a reason to fail."""

import errno
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import PATIENCE
from marginwood._core import cache
from marginwood._core.cache import Store, UnusableError
from marginwood._core.notices import PURPOSES

SOURCES = Path(__file__).parents[1] / "src"
NOBODY = 65534
STRANGER = 4_000_000_001  # a number that no user of this system has

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="kernels run as plain Python"
)
as_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can become another user"
)

# Which kernels two fits with one loss load or compile, and for which losses.
FIT = """
import numpy as np
from marginwood import MaxMarginIntervalTree
from marginwood._core import grow, prefixes, prune
X, y = np.arange(40.0)[:, None], np.arange(80.0).reshape(40, 2) % 7 + np.array([0.0, 7.0])
for max_depth in (2, 3):
    MaxMarginIntervalTree(loss="linear_hinge", max_depth=max_depth).fit(X, y)
(signature,) = grow.grow.signatures
assert "linear hinge" in str(signature) and "squared hinge" not in str(signature)
others = grow.price_by_descent, prune.collapse_rates, prefixes.solve_by_walking, prefixes.solve_by_descent
print([kernel.signatures for kernel in others])
"""

# One of the kernels that compile fastest; the core without the rest of the package, which takes
# longer to import.
CALL = """
import os, sys, types
import numpy as np
sys.modules["marginwood"] = types.ModuleType("marginwood")
sys.modules["marginwood"].__path__ = [os.environ["PYTHONPATH"] + "/marginwood"]
from marginwood._core.nodes import LEAF, NODE_DTYPE
from marginwood._core.predict import depths
nodes = np.zeros(3, dtype=NODE_DTYPE)
nodes["children_left"], nodes["children_right"] = (1, LEAF, LEAF), (2, LEAF, LEAF)
print(depths(nodes).tolist())
"""
ANSWER = "[0, 1, 1]\n"


def environment(cache_home, **more):
    own = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return {**own, "PYTHONPATH": str(SOURCES), "XDG_CACHE_HOME": str(cache_home), **more}


def call(env, program=CALL, timeout=None):
    """What a fresh process that calls the kernel says on stderr."""
    command = [sys.executable, "-c", program]
    run = subprocess.run(
        command, env=env, capture_output=True, text=True, check=False, timeout=timeout
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == ANSWER
    return run.stderr


def kept_files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """A cache folder that held nothing, and what the first process that used it said."""
    home = tmp_path_factory.mktemp("home")
    return home, call(environment(home))


@pytest.fixture
def filled(first_run, tmp_path):
    """A cache folder that holds the kernel."""
    return Path(shutil.copytree(first_run[0], tmp_path / "filled"))


def test_what_is_compiled_and_where_it_is_kept_is_said(first_run):
    home, said = first_run
    (folder,) = (home / "marginwood").iterdir()
    assert (
        said == f"marginwood: compiling kernels for predictions, kept for later runs in {folder}\n"
    )


def test_a_kernel_is_compiled_and_announced_once(filled):
    before = {path: path.stat().st_mtime_ns for path in kept_files(filled)}
    assert call(environment(filled)) == ""
    assert {path: path.stat().st_mtime_ns for path in kept_files(filled)} == before


def test_another_installation_of_the_same_sources_starts_warm_and_one_of_others_does_not(
    filled, tmp_path
):
    shutil.copytree(SOURCES, tmp_path / "elsewhere", ignore=shutil.ignore_patterns("__pycache__"))
    elsewhere = environment(filled, PYTHONPATH=str(tmp_path / "elsewhere"))
    assert call(elsewhere) == ""
    # The kernel calls nothing in this file: one digest covers all.
    with (tmp_path / "elsewhere" / "marginwood" / "_core" / "nodes.py").open("a") as file:
        file.write("\n# edited\n")
    assert call(elsewhere).count("compiling kernels for predictions") == 1


def test_code_with_checked_bounds_is_kept_apart(filled):
    assert "compiling" in call(environment(filled, NUMBA_BOUNDSCHECK="1"))
    assert call(environment(filled, NUMBA_BOUNDSCHECK="1")) == ""
    assert call(environment(filled)) == ""


def test_numbas_own_folder_is_used_if_the_user_named_one(tmp_path):
    env = environment(tmp_path / "home", NUMBA_CACHE_DIR=str(tmp_path / "named"))
    assert str(tmp_path / "named" / "marginwood") in call(env)
    assert call(env) == ""
    assert not (tmp_path / "home").exists()


def test_numbas_settings_stay_as_they_were(tmp_path):
    settings = "{name: value for name, value in vars(numba.config).items() if name.isupper()}"
    program = f"import numba\nbefore = {settings}\n{CALL}\nassert before == {settings}"
    call(environment(tmp_path), program)


@pytest.mark.parametrize("n_kept", [0, 5000])
def test_a_truncated_file_is_made_again(filled, n_kept):
    (path,) = kept_files(filled)
    path.write_bytes(path.read_bytes()[:n_kept])
    assert call(environment(filled)).count("\n") == 1
    assert call(environment(filled)) == ""


def test_processes_that_compile_at_the_same_time_leave_a_whole_cache(tmp_path):
    env = environment(tmp_path)
    command = [sys.executable, "-c", CALL]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, env=env, **pipes) for _ in range(3)]
    for process in processes:
        out, err = process.communicate()
        assert (process.returncode, out) == (0, ANSWER), err
    assert len(kept_files(tmp_path)) == 1
    assert call(env) == ""


# The child needs a kernel while another thread of its parent compiles it.
FORK = CALL.replace(
    "print(",
    """
import threading, time
from marginwood._core import jit
thread = threading.Thread(target=depths, args=(nodes,))
thread.start()
while not jit._notices.said:
    time.sleep(0.001)
child = os.fork()
if not child:
    depths(nodes)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
thread.join()
print(""",
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_process_that_is_forked_while_a_kernel_is_compiled_does_not_wait_for_ever(tmp_path):
    call(environment(tmp_path), FORK, timeout=PATIENCE)


def test_without_a_folder_to_write_to_a_kernel_costs_one_line():
    # Nobody, not even root, can make a folder in a device.
    env = environment("/dev/null", HOME="/dev/null", NUMBA_CACHE_DIR="/dev/null/folder")
    said = call(env)
    assert said.startswith(
        "marginwood: compiling kernels for predictions, which cannot be kept for later runs ("
    )
    assert said.count("\n") == 1


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_a_notice_that_cannot_be_said_is_no_error(tmp_path, redirection):
    command = ["sh", "-c", f'exec "$0" "$@" {redirection}', sys.executable, "-c", CALL]
    run = subprocess.run(
        command, env=environment(tmp_path), stdout=subprocess.PIPE, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (0, ANSWER)


def test_every_kernel_has_a_purpose_in_words_of_the_user():
    for path in sorted((SOURCES / "marginwood" / "_core").glob("*.py")):
        if re.search(r"^@(kernel|filling)", path.read_text(), re.MULTILINE):
            assert path.stem in PURPOSES


def test_two_kernels_that_cannot_be_kept_cost_one_line_together():
    more = CALL + "from marginwood._core.prune import collapse_rates\ncollapse_rates(nodes)\n"
    assert call(environment("/dev/null", HOME="/dev/null"), more).count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["-c", "import marginwood"], ["-m", "marginwood", "--version"]]
)
def test_importing_compiles_and_says_nothing(arguments):
    env = environment("/dev/null", HOME="/dev/null")
    run = subprocess.run(
        [sys.executable, *arguments], env=env, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")


def as_user(uid):
    """The call as another user; the interpreter may lie where only root can read, so its modules are loaded before."""
    return f"""
import numba, marginwood, os, sys
numba.njit(lambda values: values.sum())(__import__("numpy").ones(3))
for name in [name for name in sys.modules if name.split(".")[0] == "marginwood"]:
    del sys.modules[name]
os.chdir("/")
os.setgroups([])
os.setgid({uid})
os.setuid({uid})
import marginwood
{CALL}
"""


@as_root
def test_a_user_who_may_write_nowhere_waits_and_reads_one_line(tmp_path):
    tmp_path.chmod(0o755)
    said = call(environment(tmp_path / "home"), as_user(NOBODY))
    assert "cannot be kept for later runs (Permission denied" in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@as_root
def test_a_user_without_a_home_waits_and_reads_one_line():
    env = environment("")
    del env["HOME"]
    said = call(env, as_user(STRANGER))
    assert "cannot be kept for later runs (there is no home folder)" in said
    assert said.count("\n") == 1


def test_sources_that_cannot_be_read_cost_one_line(tmp_path):
    elsewhere = (
        "from marginwood._core import cache\ncache.__file__ = '/dev/null/cache.py'\nnodes = "
    )
    said = call(environment(tmp_path), CALL.replace("nodes = ", elsewhere))
    assert "cannot be kept for later runs (Not a directory" in said
    assert said.count("\n") == 1


def test_a_full_disk_costs_one_line(tmp_path):
    program = f"""
import errno, os, sys
class Full:
    def __init__(self, handle, mode): os.close(handle)
    def __enter__(self): return self
    def __exit__(self, *problem): return None
    def write(self, content): raise OSError(errno.ENOSPC, "No space left on device")
os.fdopen = Full
{CALL}
"""
    said = call(environment(tmp_path), program)
    assert "cannot be kept for later runs (No space left on device" in said
    assert said.count("\n") == 1
    assert kept_files(tmp_path) == []


def test_a_fit_needs_its_own_loss_only_and_neither_descent_nor_pruning():
    env = {**os.environ, "PYTHONPATH": str(SOURCES)}
    for _ in range(2):  # whatever the cache of the tests holds, the second finds what it needs
        run = subprocess.run(
            [sys.executable, "-c", FIT], env=env, capture_output=True, text=True, check=False
        )
        assert (run.returncode, run.stdout) == (0, "[[], [], [], []]\n"), run.stderr
    assert run.stderr == ""


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "marginwood" / "key")


def test_what_is_written_is_read_under_its_name_only(store):
    store.write("grow", b"code")
    assert store.read("grow") == b"code"
    assert store.read("apply") is None
    shutil.copy(store.folder / "grow", store.folder / "apply")
    assert store.read("apply") is None


def test_writing_replaces(store):
    store.write("grow", b"code")
    store.write("grow", b"other code")
    assert store.read("grow") == b"other code"
    assert [path.name for path in store.folder.iterdir()] == ["grow"]


def test_a_file_with_any_byte_changed_or_missing_counts_as_missing(store):
    store.write("grow", b"code")
    content = (store.folder / "grow").read_bytes()
    for i in range(len(content)):
        for damaged in (
            content[:i],
            content[:i] + b"?" + content[i + 1 :],
            content[:i] + content[i + 1 :],
        ):
            (store.folder / "grow").write_bytes(damaged)
            assert store.read("grow") is None


def test_trying_out_leaves_nothing_behind(store):
    store.try_out()
    assert list(store.folder.iterdir()) == []


def test_a_write_that_fails_leaves_nothing_behind(store, monkeypatch):
    store.write("grow", b"code")

    def fail(*paths):  # noqa: ARG001 - it fails for any
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(UnusableError, match="No space left on device"):
        store.write("grow", b"other code")
    assert [path.name for path in store.folder.iterdir()] == ["grow"]
    assert store.read("grow") == b"code"


@pytest.mark.skipif(os.name != "posix", reason="there are no modes")
class TestOtherUsers:
    def test_the_folder_is_made_for_the_user_alone(self, store):
        before = os.umask(0)
        try:
            store.write("grow", b"code")
        finally:
            os.umask(before)
        assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((store.folder / "grow").stat().st_mode) == 0o600

    @pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
    def test_a_folder_that_others_may_write_to_is_neither_read_nor_written(self, store, mode):
        store.write("grow", b"code")
        store.folder.chmod(mode)
        assert store.read("grow") is None
        with pytest.raises(UnusableError, match="others may write to"):
            store.write("grow", b"code")

    @as_root
    @pytest.mark.parametrize("n_above", [0, 1, 2])
    def test_below_a_folder_of_another_user_nothing_is_read_or_written(self, store, n_above):
        store.write("grow", b"code")
        folder = [store.folder, *store.folder.parents][n_above]
        os.chown(folder, NOBODY, NOBODY)
        assert store.read("grow") is None
        with pytest.raises(UnusableError, match=f"^{folder} belongs to another user"):
            store.write("grow", b"code")

    @as_root
    def test_nothing_is_made_below_a_folder_of_another_user(self, store, tmp_path):
        os.chown(tmp_path, NOBODY, NOBODY)
        with pytest.raises(UnusableError, match="belongs to another user"):
            store.write("grow", b"code")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("mode", [0o757, 0o777])
    def test_below_a_folder_that_others_may_write_to_nothing_is_read_or_written(
        self, store, tmp_path, mode
    ):
        store.write("grow", b"code")
        tmp_path.chmod(mode)
        assert store.read("grow") is None
        with pytest.raises(UnusableError, match=f"others may write to {tmp_path}$"):
            store.write("grow", b"code")

    def test_a_sticky_folder_above_such_as_that_for_temporary_files_does_no_harm(
        self, store, tmp_path
    ):
        tmp_path.chmod(0o1777)
        store.write("grow", b"code")
        assert store.read("grow") == b"code"

    @as_root
    def test_in_a_sticky_folder_another_user_cannot_make_the_one_for_kernels(self, store, tmp_path):
        tmp_path.chmod(0o1777)
        (tmp_path / "marginwood").mkdir()
        os.chown(tmp_path / "marginwood", NOBODY, NOBODY)
        with pytest.raises(UnusableError, match="marginwood belongs to another user"):
            store.write("grow", b"code")

    def test_the_users_own_group_may_write_to_a_folder_above(self, store, tmp_path):
        os.chown(tmp_path, -1, os.getegid())
        tmp_path.chmod(0o770)
        store.write("grow", b"code")
        assert store.read("grow") == b"code"

    @as_root
    def test_another_group_may_not(self, store, tmp_path):
        store.write("grow", b"code")
        os.chown(tmp_path, -1, NOBODY)
        tmp_path.chmod(0o770)
        assert store.read("grow") is None

    def test_a_link_of_the_users_own_leads_to_the_folder(self, tmp_path):
        (tmp_path / "disk").mkdir(mode=0o700)
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "cache").symlink_to(Path("..", "disk"))
        (tmp_path / "link").symlink_to(tmp_path / "home" / "cache")
        store = Store(tmp_path / "link" / "key")
        store.write("grow", b"code")
        assert store.read("grow") == b"code"
        assert (tmp_path / "disk" / "key" / "grow").exists()

    @as_root
    def test_a_link_of_another_user_is_not_followed(self, tmp_path):
        Store(tmp_path / "own").write("grow", b"code")
        (tmp_path / "link").symlink_to("own")
        assert Store(tmp_path / "link").read("grow") == b"code"
        os.lchown(tmp_path / "link", NOBODY, NOBODY)
        assert Store(tmp_path / "link").read("grow") is None

    def test_where_a_link_leads_is_examined_as_well(self, tmp_path):
        (tmp_path / "public").mkdir()
        (tmp_path / "link").symlink_to(Path("public", "key"))
        (tmp_path / "public").chmod(0o777)
        with pytest.raises(UnusableError, match=r"others may write to .*public$"):
            Store(tmp_path / "link").write("grow", b"code")

    def test_links_that_lead_in_a_circle_are_no_folder(self, tmp_path):
        (tmp_path / "a").symlink_to("b")
        (tmp_path / "b").symlink_to("a")
        with pytest.raises(UnusableError, match="too many links"):
            Store(tmp_path / "a" / "key").write("grow", b"code")

    @as_root
    def test_a_file_of_another_user_counts_as_missing(self, store):
        store.write("grow", b"code")
        os.chown(store.folder / "grow", NOBODY, NOBODY)
        assert store.read("grow") is None

    def test_a_file_that_others_may_write_to_counts_as_missing(self, store):
        store.write("grow", b"code")
        (store.folder / "grow").chmod(0o620)
        assert store.read("grow") is None

    def test_a_link_or_a_pipe_in_the_place_of_a_file_counts_as_missing(self, store):
        store.write("grow", b"code")
        (store.folder / "grow").rename(store.folder / "elsewhere")
        (store.folder / "grow").symlink_to("elsewhere")
        assert store.read("grow") is None
        (store.folder / "grow").unlink()
        os.mkfifo(store.folder / "grow")
        assert store.read("grow") is None

    @as_root
    def test_whoever_owns_a_folder_above_gives_no_kernel_to_root(self, tmp_path):
        tmp_path.chmod(0o755)
        shared = tmp_path / "shared"
        shared.mkdir()
        env = environment(tmp_path / "home", NUMBA_CACHE_DIR=str(shared / "kernels"))
        call(env)
        assert call(env) == ""
        kept = {path: path.read_bytes() for path in kept_files(shared)}
        os.chown(shared, NOBODY, NOBODY)
        for _ in range(2):
            said = call(env)
            assert f"cannot be kept for later runs ({shared} belongs to another user)" in said
            assert said.count("\n") == 1
        assert {path: path.read_bytes() for path in kept_files(shared)} == kept


@pytest.mark.parametrize(
    ("platform", "named", "expected"),
    [
        ("linux", {}, ".cache"),
        ("darwin", {}, "Library/Caches"),
        ("win32", {}, "AppData/Local"),
        ("linux", {"XDG_CACHE_HOME": "named"}, "named"),
        ("darwin", {"XDG_CACHE_HOME": "named"}, "named"),
        ("win32", {"LOCALAPPDATA": "named"}, "named"),
    ],
)
def test_the_users_folder_is_where_the_platform_has_it(
    platform, named, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(cache.sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in named.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    assert cache.user_folder() == tmp_path / expected


def test_a_relative_folder_counts_as_none(monkeypatch, tmp_path):
    monkeypatch.setattr(cache.sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    assert cache.user_folder() == tmp_path / ".cache"


def test_without_a_home_kernels_cannot_be_kept(monkeypatch):
    def fail():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", fail)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    with pytest.raises(UnusableError, match="no home"):
        cache.user_folder()
