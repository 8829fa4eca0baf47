"""``python -m benchmarks.gpu``: how long the hinge objective trains on a GPU, against XGBoost's own `survival:aft`.

One line per number of rows: the median seconds of `survival:aft` and of `XGBIntervalRegressor`,
features and bounds on the GPU for both, and the ratio; then those of `XGBIntervalRegressor` with
the squared hinge, once, features and bounds in memory, with CuPy and as if it were not installed.

``--trees`` compares trees instead of times: how many of them are the same, with features and bounds
on the GPU and in memory, and on the processor, and how far predictions differ. Features then have a
few common values, each of which is a bin: the bins of rare values are not the same on a GPU and on
the processor. It needs a GPU and CuPy, and refuses without.
"""

import argparse
import re
import statistics
import sys
import time
from unittest.mock import patch

import numpy as np

N_FEATURES, DEPTH, N_ROUNDS = 20, 6, 100
REPEATS = 3


def load_cupy():
    """CuPy, if it finds a GPU; otherwise the program ends."""
    try:
        import cupy
    except ImportError:
        sys.exit("benchmarks.gpu: needs a GPU and CuPy, and CuPy is not installed.")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        sys.exit(f"benchmarks.gpu: needs a GPU, and CuPy finds none: {error}")
    return cupy


def make_problem(cupy, n_rows, *, rounded=False):
    """Features, rounded to 17 values if asked, and intervals, of which a fifth is open on either side."""
    rng = np.random.default_rng(0)
    X = cupy.asarray(rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32))
    if rounded:
        X = cupy.rint(cupy.clip(X, -2, 2) * 4) / 4 + 0  # without zeros of two signs
    centre = cupy.sin(X[:, 0]) + X[:, 1] / 2
    width = cupy.asarray(rng.exponential(size=(2, n_rows)).astype(np.float32))
    y = cupy.stack([centre - width[0], centre + width[1]], axis=1)
    y[::5, 0] = -cupy.inf
    y[1::5, 1] = cupy.inf
    return X, y


def time_aft(cupy, X, y):
    """Seconds of survival:aft, on the exponentials of the intervals, which it takes the logarithms of."""
    import xgboost

    start = time.perf_counter()
    bounds = cupy.exp(y)
    data = xgboost.QuantileDMatrix(
        X, label_lower_bound=bounds[:, 0], label_upper_bound=bounds[:, 1]
    )
    params = {
        "objective": "survival:aft",
        "max_depth": DEPTH,
        "learning_rate": 0.1,
        "device": "cuda",
    }
    xgboost.train(params, data, N_ROUNDS)
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - start


def time_hinge(cupy, X, y, loss):
    """Seconds of our estimator."""
    start = time.perf_counter()
    make_model(loss=loss, device="cuda").fit(X, y)
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - start


def make_model(**parameters):
    from marginwood.xgb import XGBIntervalRegressor

    return XGBIntervalRegressor(
        N_ROUNDS, max_depth=DEPTH, learning_rate=0.1, n_jobs=-1, **parameters
    )


def compare_times(cupy, sizes):
    columns = (
        "rows",
        "aft",
        "squared",
        "ratio",
        "linear",
        "ratio",
        "memory",
        "ratio",
        "no CuPy",
        "ratio",
    )
    print("".join(f"{name:>10}" for name in columns))
    for n_rows in sizes:
        X, y = make_problem(cupy, n_rows)
        time_aft(cupy, X, y)  # the first run of each also compiles and allocates
        time_hinge(cupy, X, y, "squared_hinge")
        aft = statistics.median(time_aft(cupy, X, y) for _ in range(REPEATS))
        squared, linear = (
            statistics.median(time_hinge(cupy, X, y, loss) for _ in range(REPEATS))
            for loss in ("squared_hinge", "linear_hinge")
        )
        X, y = X.get(), y.get()
        time_hinge(cupy, X[:1000], y[:1000], "squared_hinge")
        memory = time_hinge(cupy, X, y, "squared_hinge")
        with patch.dict(sys.modules, {"cupy": None}):
            without = time_hinge(cupy, X, y, "squared_hinge")
        ratios = "".join(
            f"{seconds:10.2f}{seconds / aft:10.2f}"
            for seconds in (squared, linear, memory, without)
        )
        print(f"{n_rows:>10}{aft:10.2f}{ratios}", flush=True)


def compare_trees(cupy, sizes):
    print(f"{'rows':>10} {'loss':<14}{'on':<12}{'same trees':>10}{'largest difference':>20}")
    for n_rows in sizes:
        X, y = make_problem(cupy, n_rows, rounded=True)
        X_host, y_host = X.get(), y.get()
        for loss in ("squared_hinge", "linear_hinge"):
            model = make_model(loss=loss, device="cuda").fit(X, y)
            expected = model.predict(X)
            for place, device in (("GPU, memory", "cuda"), ("processor", "cpu")):
                other = make_model(loss=loss, device=device).fit(X_host, y_host)
                pairs = zip(splits_of(model), splits_of(other), strict=True)
                n_same = sum(ours == theirs for ours, theirs in pairs)
                difference = np.abs(other.predict(X_host) - expected).max()
                print(
                    f"{n_rows:>10} {loss:<14}{place:<12}{n_same:>6}/{N_ROUNDS}{difference:20.2g}",
                    flush=True,
                )


def splits_of(model):
    """The trees as text, without the numbers of their leaves."""
    return [re.sub("leaf=.*", "leaf", tree) for tree in model.booster_.get_dump()]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--trees", action="store_true", help="compare trees instead of times")
    args = parser.parse_args()
    cupy = load_cupy()
    import xgboost

    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(
        f"{name}, XGBoost {xgboost.__version__}: {N_FEATURES} features, depth {DEPTH}, {N_ROUNDS} rounds"
    )
    (compare_trees if args.trees else compare_times)(cupy, args.rows)


if __name__ == "__main__":
    main()
