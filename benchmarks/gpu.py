"""``python -m benchmarks.gpu``: how long the hinge objective trains on a GPU, against XGBoost's own `survival:aft`.

One line per number of rows: the median seconds of `survival:aft` and of `XGBIntervalRegressor`, features and bounds on
the GPU for both, and the ratio. It needs a GPU and CuPy, and refuses without.
"""

import argparse
import statistics
import sys
import time

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


def make_problem(cupy, n_rows):
    """Features, and positive intervals, of which a fifth is open on either side."""
    rng = np.random.default_rng(0)
    X = cupy.asarray(rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32))
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
    data = xgboost.QuantileDMatrix(X, label_lower_bound=bounds[:, 0], label_upper_bound=bounds[:, 1])
    params = {"objective": "survival:aft", "max_depth": DEPTH, "learning_rate": 0.1, "device": "cuda"}
    xgboost.train(params, data, N_ROUNDS)
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - start


def time_hinge(cupy, X, y, loss):
    """Seconds of our estimator."""
    from marginwood.xgb import XGBIntervalRegressor

    start = time.perf_counter()
    XGBIntervalRegressor(N_ROUNDS, loss=loss, max_depth=DEPTH, learning_rate=0.1, device="cuda").fit(X, y)
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    args = parser.parse_args()
    cupy = load_cupy()
    print(f"{'rows':>10}{'aft':>10}{'squared':>10}{'ratio':>8}{'linear':>10}{'ratio':>8}")
    for n_rows in args.rows:
        X, y = make_problem(cupy, n_rows)
        time_aft(cupy, X, y)  # the first run of each also compiles and allocates
        time_hinge(cupy, X, y, "squared_hinge")
        aft = statistics.median(time_aft(cupy, X, y) for _ in range(REPEATS))
        squared, linear = (
            statistics.median(time_hinge(cupy, X, y, loss) for _ in range(REPEATS))
            for loss in ("squared_hinge", "linear_hinge")
        )
        ratios = f"{squared:10.2f}{squared / aft:8.2f}{linear:10.2f}{linear / aft:8.2f}"
        print(f"{n_rows:>10}{aft:10.2f}{ratios}", flush=True)


if __name__ == "__main__":
    main()
