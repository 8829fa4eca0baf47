"""What `compare` times: only our side, with only names that every version of the package has.

As a program, ``python -m benchmarks.cases SHRINK``, it first prints which package it holds. Then it
answers every line on stdin, the number of a case, with the CPU and the wall seconds of one run.
"""

import gc
import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np

import marginwood
from benchmarks import boosting, forests, tuning
from benchmarks.problems import MARGIN, TREE_SIZES, Problem, simulate
from marginwood import MaxMarginIntervalTree, optimal_costs

LOSSES = ("linear_hinge", "squared_hinge")
FEWEST_ROWS = 60


class Case(NamedTuple):
    """A work on a simulated problem; `prepare` turns the problem into the call that is timed."""

    work: str
    what: str
    n_samples: int
    n_features: int
    prepare: Callable[[Problem], Callable[[], object]]

    def __str__(self):
        return f"{self.work}, {self.what}, n={self.n_samples:,} p={self.n_features}"


def _fit(model, problem):
    return partial(model.fit, problem.X, problem.y)


def _predict(model, problem):
    return partial(model.fit(problem.X[: 10**4], problem.y[: 10**4]).predict, problem.X)


def _solve(loss, problem):
    lower, upper = np.ascontiguousarray(problem.y.T)
    return partial(optimal_costs, lower, upper, margin=MARGIN, loss=loss)


def _cases():
    for (n, p, depth), loss in product(TREE_SIZES, LOSSES):
        tree = MaxMarginIntervalTree(loss=loss, margin=MARGIN, max_depth=depth)
        yield Case("fit", f"{loss}, depth {depth}", n, p, partial(_fit, tree))
    for loss in LOSSES:
        yield Case("solve", loss, 10**6, 1, partial(_solve, loss))
    tree = MaxMarginIntervalTree(loss="squared_hinge", margin=MARGIN, max_depth=10)
    yield Case("predict", "depth 10", 10**6, 10, partial(_predict, tree))
    for (n, p, n_trees), leaf, loss in product(forests.SIZES, forests.LEAF_SIZES, LOSSES):
        forest = forests.ours(n_trees, loss, min_samples_leaf=leaf)
        yield Case(
            "forest_fit", f"{loss}, {n_trees} trees, leaves of {leaf}", n, p, partial(_fit, forest)
        )
    yield Case("forest_predict", "10 trees", 10**5, 20, partial(_predict, forests.ours(10)))
    for (n, n_rounds, _), depth, loss in product(boosting.SIZES, boosting.DEPTHS, LOSSES):
        booster = boosting.ours(n_rounds, loss, depth)
        yield Case(
            "boost",
            f"{loss}, {n_rounds} rounds, depth {depth}",
            n,
            boosting.N_FEATURES,
            partial(_fit, booster),
        )
    for (_, n, p, _, _), loss in product(tuning.TIMED, LOSSES):
        yield Case("tune", loss, n, p, partial(_fit, tuning.protocol(loss)))


CASES = tuple(_cases())


def _time(task):
    gc.collect()
    cpu, wall = process_time(), perf_counter()
    task()
    return process_time() - cpu, perf_counter() - wall


def _answer(shrink):
    tasks = {}
    print(marginwood.__file__, flush=True)
    for line in sys.stdin:
        number = int(line)
        if number not in tasks:
            case = CASES[number]
            case.prepare(
                simulate(FEWEST_ROWS, case.n_features)
            )()  # kernels are compiled or read outside the clock
            problem = simulate(max(case.n_samples // shrink, FEWEST_ROWS), case.n_features)
            tasks = {number: case.prepare(problem)}
        print(*_time(tasks[number]), flush=True)


if __name__ == "__main__":
    _answer(int(sys.argv[1]))
