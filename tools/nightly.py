"""Hours of new cases for everything that can be tried at random: ``python -m tools.nightly --hours 8``.

`WORKS` is the table of what is tried: trees in exact arithmetic, properties of the tests with new
examples of hypothesis, mutated files, commands, coverage, threads, and kernels with checked bounds.
They take turns of ten minutes, each in a process of its own with a fresh seed; ``--works`` chooses
some. After every turn a summary is written, as text and as JSON. A case that fails ends nothing,
and is printed as the one command that repeats it.
"""

import argparse
import ast
import json
import os
import platform
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module, metadata
from itertools import count, cycle
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
SECONDS_PER_TURN = 600
# Models to mutate are fitted anew for that many cases.
CASES_PER_CALL = 2000
# Of the processor. A mixture of all models takes ten.
SECONDS_PER_CASE = 120
# Seconds after which a module of the tests, or so many mutations, are taken to hang.
PATIENCE = 7200
LARGEST_SEED = 2**40

Ended = subprocess.CompletedProcess[str]


class Failure(NamedTuple):
    """What went wrong, and the command that does it again."""

    command: str
    what: str


class Found(NamedTuple):
    """What came of a turn."""

    n_cases: int
    failures: list[Failure]

    def with_more(self, more: "Found") -> "Found":
        """What came of this turn and of another one."""
        return Found(self.n_cases + more.n_cases, self.failures + more.failures)


class Work(NamedTuple):
    """Something to try: `run` takes a seed and seconds, `check` the number of one case."""

    run: Callable[[int, float], Found]
    settings: dict[str, str]
    check: Callable[[int], None] | None = None


def numbered(name: str, module: str, **settings: str) -> Work:
    """Numbers of cases for the `check_case` of a module of the tests, in forked children."""

    def run(seed: int, seconds: float) -> Found:
        import marginwood
        import mutations

        marginwood.warmup()  # children have what is compiled here
        check = import_module(module).check_case
        mutations.SECONDS_PER_CASE = SECONDS_PER_CASE
        stop, failures = time.monotonic() + seconds, []
        for first in count(seed, mutations.BATCH):
            if time.monotonic() >= stop:
                break
            failures += mutations.run_batch(range(first, first + mutations.BATCH), check)
        command = f"python -m tools.nightly --works {name} --case"
        return Found(first - seed, [Failure(f"{command} {case}", what) for case, what in failures])

    # XGBoost in a child would wait for threads that OpenMP has made before.
    settings = {"OMP_NUM_THREADS": "1", **settings}
    return Work(run, settings, lambda case: import_module(module).check_case(case))


def mutated(*options: str) -> Work:
    """Mutated models in files and dictionaries, or boosters of XGBoost."""

    def run(seed: int, seconds: float) -> Found:
        command = ["-m", "tests.mutations", *options]
        stop, found = time.monotonic() + seconds, Found(0, [])
        for first in count(seed, CASES_PER_CALL):
            if time.monotonic() >= stop:
                break
            words = [*command, "--cases", str(CASES_PER_CALL), "--first", str(first)]
            run = run_python(words)
            failed = re.findall(r"^case (\d+): (.*)", run.stdout, re.MULTILINE)
            again = " ".join(["python", *command, "--cases 1 --first"])
            failures = [Failure(f"{again} {case}", what) for case, what in failed]
            if run.returncode and not failed:
                failures.append(Failure(" ".join(["python", *words]), tail(run)))
            found = found.with_more(Found(CASES_PER_CALL, failures))
        return found

    return Work(run, {"OMP_NUM_THREADS": "1"})


def properties(*modules: str, **settings: str) -> Work:
    """Properties of modules of the tests, with examples that hypothesis makes of a seed."""

    def run(seed: int, seconds: float) -> Found:
        paths = sorted(TESTS / f"test_{module}.py" for module in modules)
        random.Random(seed).shuffle(paths)
        stop, found = time.monotonic() + seconds, Found(0, [])
        for turn, path in enumerate(cycle(paths)):
            if time.monotonic() >= stop:
                break
            name = path.relative_to(ROOT).as_posix()
            found = found.with_more(try_properties(name, seed + turn // len(paths), settings))
        return found

    return Work(run, settings)


def try_properties(path: str, seed: int, settings: dict[str, str]) -> Found:
    """Run the properties of one module; what fails is known by the name of its test and the seed."""
    words = ["-m", "hypothesis", "--hypothesis-profile=nightly", f"--hypothesis-seed={seed}"]
    shown = ["-q", "-p", "no:cacheprovider", "--hypothesis-show-statistics", "-rfE", "--tb=short"]
    run = run_python(["-m", "pytest", *words, *shown, path])
    variables = [f"{name}={value}" for name, value in settings.items()]
    again = " ".join([*variables, "python -m pytest", *words])
    # In brackets there may be anything, and behind the name there is what was wrong.
    failed = re.findall(r"(?m)^(?:FAILED|ERROR) ([^\s[]+(?:\[.*?\])?)(?= - |$)", run.stdout)
    if run.returncode and not failed:
        failed = [path]
    n_cases = sum(map(int, re.findall(r"(\d+) passing", run.stdout)))
    return Found(n_cases, [Failure(f"{again} {shlex.quote(test)}", tail(run)) for test in failed])


def run_python(words: list[str], patience: float | None = PATIENCE) -> Ended:
    """Run another Python, with the settings of this one; one that does not end counts as killed."""
    command = [sys.executable, *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    try:
        return subprocess.run(command, cwd=ROOT, check=False, timeout=patience, **pipes)
    except subprocess.TimeoutExpired:
        return Ended(command, -signal.SIGKILL, "", f"no end in {patience} s")


def tail(run: Ended) -> str:
    """The end of what a process said, and how it ended if that was no failure of a test."""
    return f"{run.stdout[-10_000:]}{run.stderr[-10_000:]}(status {run.returncode})"


def with_properties() -> tuple[str, ...]:
    """The modules of the tests that hold any."""
    return tuple(
        path.stem.removeprefix("test_")
        for path in sorted(TESTS.glob("test_*.py"))
        if any(map(is_property, ast.walk(ast.parse(path.read_text("utf-8")))))
    )


def is_property(node: ast.AST) -> bool:
    """Whether a piece of source is a function under ``@given(...)``."""
    if not isinstance(node, ast.FunctionDef):
        return False
    return any(ast.unparse(decorator).startswith("given(") for decorator in node.decorator_list)


ALL = with_properties()
CATEGORIES = ("categories_trees", "monotone", "export_shap")
DISTRIBUTIONS = (
    "npmle",
    "npmle_queries",
    "distributions",
    "predictive",
    "leafweights",
    "distributional_superlearner",
)
SCORES = ("metrics", "metrics_distributions", "metrics_ranking", "metrics_tables", "losses")
OTHERS = tuple(name for name in ALL if name not in CATEGORIES + DISTRIBUTIONS + SCORES)
CHECKED = {"NUMBA_BOUNDSCHECK": "1"}
GENERIC = {"NUMBA_CPU_NAME": "generic"}

WORKS = {
    "trees": numbered("trees", "fuzz"),
    "categories": properties(*CATEGORIES),
    "distributions": properties(*DISTRIBUTIONS),
    "scores": properties(*SCORES),
    "properties": properties(*OTHERS),
    "files": mutated(),
    "boosters": mutated("--boosters"),
    "commands": numbered("commands", "fuzz_commands"),
    "coverage": numbered("coverage", "fuzz_coverage"),
    "threads": numbered("threads", "fuzz_threads"),
    "processors": numbered("processors", "fuzz", **GENERIC),
    "bounds": numbered("bounds", "test_bounds_checked", **CHECKED),
    "bounds-trees": numbered("bounds-trees", "fuzz", **CHECKED),
    "bounds-properties": properties(*ALL, **CHECKED),
}


def take_turn(name: str, seed: int, seconds: float) -> Found:
    """A turn of a work in a process of its own; if that ends otherwise than by itself, it has failed."""
    words = [
        "-m",
        "tools.nightly",
        "--works",
        name,
        "--seed",
        f"{seed}",
        "--seconds",
        f"{seconds:.0f}",
    ]
    again = " ".join(["python", *words])
    run = run_python(words, patience=None)
    if run.returncode:
        return Found(0, [Failure(again, tail(run))])
    n_cases, failures = json.loads(run.stdout.splitlines()[-1])
    return Found(n_cases, [Failure(*failure) for failure in failures])


def describe_versions() -> dict[str, str]:
    """What was tried, on what."""
    command = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    libraries = ("numpy", "numba", "scikit-learn", "hypothesis")
    return {
        "commit": commit.stdout.strip(),
        "python": platform.python_version(),
        "on": platform.platform(),
        **{name: metadata.version(name) for name in libraries},
    }


def summarise(
    found: dict[str, Found], seconds: dict[str, float], about: dict[str, str]
) -> tuple[str, str]:
    """The summary as text and as JSON."""
    failures = [failure for each in found.values() for failure in each.failures]
    n_cases = sum(each.n_cases for each in found.values())
    hours = {name: took / 3600 for name, took in seconds.items()}
    lines = [
        f"{n_cases:,} cases in {sum(hours.values()):.1f} hours, {len(failures)} failures",
        ", ".join(f"{name} {what}" for name, what in about.items()),
        "",
    ]
    works = {}
    for name, each in found.items():
        n_failures = len(each.failures)
        lines.append(
            f"{name:18}{each.n_cases:12,} cases{hours[name]:7.1f} h{n_failures:5} failures"
        )
        works[name] = {
            "cases": each.n_cases,
            "seconds": round(seconds[name]),
            "failures": [failure._asdict() for failure in each.failures],
        }
    for failure in failures:
        shown = failure.what.splitlines()[-40:]
        lines += ["", failure.command, *(f"    {line}" for line in shown)]
    return "\n".join(lines) + "\n", json.dumps({**about, "works": works}, indent=1) + "\n"


def run_all(names: list[str], hours: float, seed: int, out: Path) -> bool:
    """Let works take turns until the time is over; returns whether something failed."""
    out.mkdir(parents=True, exist_ok=True)
    stop, draw = time.monotonic() + 3600 * hours, random.Random(seed)
    about = describe_versions() | {"seed": str(seed)}
    found = {name: Found(0, []) for name in names}
    seconds = dict.fromkeys(names, 0.0)
    turn = min(SECONDS_PER_TURN, 3600 * hours / len(names))
    for name in cycle(names):
        began = time.monotonic()
        if began >= stop:
            break
        more = take_turn(name, draw.randrange(LARGEST_SEED), turn)
        found[name] = found[name].with_more(more)
        seconds[name] += time.monotonic() - began
        for form, content in zip(("txt", "json"), summarise(found, seconds, about), strict=True):
            (out / f"summary.{form}").write_text(content, encoding="utf-8")
        print(f"{name}: {more.n_cases:,} cases, {len(more.failures)} failures", flush=True)
        for failure in more.failures:
            print(failure.command, flush=True)
    print((out / "summary.txt").read_text(encoding="utf-8"), end="")
    return any(each.failures for each in found.values())


def main() -> int:
    """Run all, or a single turn or case of one work."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m tools.nightly", description=about)
    parser.add_argument("--hours", type=float, default=8.0)
    names = list(WORKS)
    parser.add_argument(
        "--works", nargs="+", choices=names, default=names, metavar="WORK", help=", ".join(names)
    )
    out = ROOT / "build" / "nightly"
    parser.add_argument("--out", type=Path, default=out, help="folder of the summary")
    parser.add_argument(
        "--seed", type=int, help="seed of the seeds of all turns (default: a new one)"
    )
    parser.add_argument("--case", type=int, help="check this case of one work only")
    parser.add_argument("--seconds", type=float, help="a single turn of one work, in this process")
    args = parser.parse_args()
    seed = random.SystemRandom().randrange(LARGEST_SEED) if args.seed is None else args.seed
    if args.case is None and args.seconds is None:
        return run_all(args.works, args.hours, seed, args.out)
    (name,) = args.works
    os.environ |= WORKS[name].settings  # before anything that reads them is imported
    sys.path.insert(0, str(TESTS))
    if args.case is None:
        print(json.dumps(WORKS[name].run(seed, args.seconds)))
    elif WORKS[name].check is None:
        parser.error(f"--case: {name} has no numbers")
    else:
        WORKS[name].check(args.case)
    return 0


if __name__ == "__main__":
    sys.exit(main())
