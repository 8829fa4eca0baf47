"""Two versions of the package in one run: ``python -m benchmarks.compare OLD_CHECKOUT --only fit,tune``.

Each version is held by a process of its own, and the two run the same cases in turns, so that both
meet the same machine. The best of several runs counts, over several pairs of processes, because
where memory happens to lie moves the times of one process by some percent. CPU seconds feel other
programs less than wall seconds do.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.cases import CASES

ROOT = Path(__file__).parents[1]
WORKS = tuple(dict.fromkeys(case.work for case in CASES))
ALLOWED = 1.03
LEAST_SECONDS = 2.0  # of runs of a case in a pair of processes: short ones need more runs until the best is stable


class Version:
    """A process that holds the package of one checkout and times cases with it."""

    def __init__(self, checkout, cache, shrink):
        self.source = (checkout / "src").resolve()
        one_thread = dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
        )
        # A cache of its own: Numba does not notice that a kernel which another one calls has been
        # edited.
        paths = {"PYTHONPATH": f"{self.source}{os.pathsep}{ROOT}", "NUMBA_CACHE_DIR": str(cache)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.cases", str(shrink)],
            cwd=ROOT,
            env={**os.environ, **one_thread, **paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        package = Path(self.process.stdout.readline().strip())
        if not package.is_relative_to(self.source):
            sys.exit(f"{package} was imported instead of the package in {self.source}")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def time(self, number):
        """CPU and wall seconds of one run of a case."""
        print(number, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"the package in {self.source} failed: {CASES[number]}")
        return tuple(map(float, answer.split()))


def compare(checkouts, numbers, options):
    """The least CPU and wall seconds of every case, by case and version."""
    best = {
        (number, name): (float("inf"), float("inf")) for number in numbers for name in checkouts
    }
    with tempfile.TemporaryDirectory() as cache:
        for pair in range(options.processes):
            with ExitStack() as stack:
                versions = {
                    name: stack.enter_context(Version(checkout, Path(cache) / name, options.shrink))
                    for name, checkout in checkouts.items()
                }
                for number in numbers:
                    print(
                        f"{pair + 1} of {options.processes}: {CASES[number]}",
                        file=sys.stderr,
                        flush=True,
                    )
                    for name, seconds in _alternate(versions, number, options.repeats):
                        best[number, name] = tuple(map(min, best[number, name], seconds))
    return best


def _alternate(versions, number, repeats):
    """Yield the name of a version and its CPU and wall seconds, in turns."""
    n_turns, spent = 0, 0.0
    while n_turns < repeats or spent < LEAST_SECONDS:
        for name, version in versions.items():
            seconds = version.time(number)
            spent += seconds[1]
            yield name, seconds
        n_turns += 1


def main():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description=__doc__.splitlines()[0]
    )
    parser.add_argument("old", type=Path, help="a checkout of the version to compare this one with")
    parser.add_argument("--only", default=",".join(WORKS), help="default: %(default)s")
    parser.add_argument(
        "--repeats", type=int, default=3, help="least runs of a case in each process (default: 3)"
    )
    parser.add_argument("--processes", type=int, default=3, help="pairs of processes (default: 3)")
    parser.add_argument(
        "--shrink", type=int, default=1, help="divides the number of rows (default: 1)"
    )
    options = parser.parse_args()
    works = options.only.split(",")
    if not set(works) <= set(WORKS):
        parser.error(f"--only: expected some of {','.join(WORKS)}, got {options.only}")
    numbers = [number for number, case in enumerate(CASES) if case.work in works]
    best = compare({"old": options.old, "new": ROOT}, numbers, options)
    width = max(len(str(CASES[number])) for number in numbers)
    print(f"{'case':{width}}  old CPU s  new CPU s  new/old CPU  wall")
    for number in numbers:
        (old_cpu, old_wall), (new_cpu, new_wall) = best[number, "old"], best[number, "new"]
        ratio = new_cpu / old_cpu
        mark = f"  > {ALLOWED}" if ratio > ALLOWED else ""
        print(
            f"{CASES[number]!s:{width}}  {old_cpu:9.4f}  {new_cpu:9.4f}  {ratio:11.3f}  {new_wall / old_wall:.3f}{mark}"
        )


if __name__ == "__main__":
    main()
