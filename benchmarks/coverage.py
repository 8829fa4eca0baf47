"""How often conformal ranges keep their promises: censoring mechanisms x methods x sizes, by Monte Carlo, and a figure.

Every run draws rows, fits, and counts over fresh rows; the standard error is that of the mean over
runs.
"""

import warnings
from itertools import product
from typing import NamedTuple

import numpy as np

from benchmarks.paper.figures import STYLE
from marginwood import ConformalIntervalRegressor, MaxMarginIntervalForest, MaxMarginIntervalTree
from marginwood.conformal._distances import find_distances, find_rank, kth_smallest

LEVEL = 0.9
N_NEW = 500
# Number of training rows: number of runs.
RUNS = {50: 200, 200: 100, 1000: 40, 5000: 12}
TREE = MaxMarginIntervalTree(max_leaf_nodes=16, min_samples_leaf=5)
MODELS = {
    "split": TREE,
    "cv": TREE,
    "oob": MaxMarginIntervalForest(30, min_samples_leaf=3, random_state=0),
}
# Beside "meets", what each mechanism leaves finite.
MODES = {"inspections": "contains", "right-censored": "lower", "detection limits": "upper"}
N_ERRORS = 3  # standard errors by which a rate may miss its promise
COLOURS = {"split": "#444444", "cv": "#1b6ca8", "oob": "#d95f02"}


class Rate(NamedTuple):
    """How often a promise was broken, with its standard error, and how often the label itself lay in the range."""

    mechanism: str
    mode: str
    method: str
    n_samples: int
    missed: float
    error: float
    covered_labels: float

    @property
    def allowed(self):
        """The share of broken promises that theory allows."""
        if self.method == "split":
            return 1 - LEVEL
        return 2 * (1 - LEVEL) + (np.sqrt(2 / self.n_samples) if self.method == "cv" else 0.0)


def simulate(mechanism, n_samples, rng):
    """Features, intervals and the labels that they hide; noise grows along the second feature."""
    X = rng.uniform(0, 4, (n_samples, 4))
    label = np.sin(2 * X[:, 0]) + X[:, 0] / 2 + (0.1 + 0.2 * X[:, 1]) * rng.normal(size=n_samples)
    if (
        mechanism == "inspections"
    ):  # at random distances, one after another; one row in 25 is lost on the way
        step, phase = rng.uniform(0.2, 1.0, n_samples), rng.random(n_samples)
        lower = (np.floor(label / step - phase) + phase) * step
        upper = np.where(rng.random(n_samples) < 0.04, np.inf, lower + step)
        return X, np.column_stack([np.minimum(lower, label), np.maximum(upper, label)]), label
    if mechanism == "right-censored":
        end = rng.normal(1.8, 1.0, n_samples)
        return (
            X,
            np.column_stack([np.minimum(label, end), np.where(label <= end, label, np.inf)]),
            label,
        )
    limit = rng.choice([0.2, 0.6, 1.0], n_samples)
    return (
        X,
        np.column_stack([np.where(label < limit, -np.inf, label), np.maximum(label, limit)]),
        label,
    )


def misses(y, ranges, mode):
    """Which rows' promises are broken."""
    (lower, upper), (low, high) = y.T, ranges.T
    if mode == "meets":
        return (upper < low) | (lower > high)
    return ((lower < low) & (mode != "upper")) | ((upper > high) & (mode != "lower"))


def breaks_bracket(model, y, label):
    """Whether the radius of the hidden labels lies outside of the bracket, beyond rounding."""
    known, residuals = y[model.calibration_idx_], model.residuals_
    centre = np.where(
        np.isfinite(known[:, 0]), known[:, 0] - residuals[:, 0], known[:, 1] - residuals[:, 1]
    )
    hidden = np.repeat(label[model.calibration_idx_, None] - centre[:, None], 2, axis=1)
    distances, _ = find_distances(hidden, model.spreads_, model.mode)
    radius = kth_smallest(distances, find_rank(LEVEL, len(distances)))
    near, far = model.bracket_
    return not near - 1e-9 <= radius <= far + 1e-9


def run(mechanism, n_samples, number):
    """One draw of rows: by mode and method, the shares of promises broken and of labels covered.

    And how many radii of hidden labels lay outside of their brackets, and how many ends were finite
    that must not be.
    """
    rng = np.random.default_rng([number, n_samples, list(MODES).index(mechanism)])
    X, y, label = simulate(mechanism, n_samples, rng)
    X_new, y_new, label_new = simulate(mechanism, N_NEW, rng)
    modes = (MODES[mechanism], "meets")
    shares, n_broken, n_finite = {}, 0, 0
    for method, estimator in MODELS.items():
        model = ConformalIntervalRegressor(
            estimator, confidence_level=LEVEL, method=method, random_state=number
        )
        model.fit(X, y)
        for mode in modes:
            ranges = model.set_params(mode=mode).predict_interval(X_new)
            is_covered = (ranges[:, 0] <= label_new) & (label_new <= ranges[:, 1])
            shares[mode, method] = misses(y_new, ranges, mode).mean(), is_covered.mean()
            n_broken += breaks_bracket(model, y, label)
        # By chance, few of 50 rows may be open.
        if "contains" not in modes and n_samples > min(RUNS):
            n_finite += np.count_nonzero(
                np.isfinite(model.set_params(mode="contains").predict_interval(X_new))
            )
    return shares, n_broken, n_finite


def measure(settings):
    """Rates for all mechanisms, sizes and methods; numbers of broken brackets, and of ends that must not be finite."""
    rates, n_broken, n_finite = [], 0, 0
    sizes = {
        n: max(2, runs // settings.shrink)
        for n, runs in RUNS.items()
        if n * settings.shrink <= max(RUNS)
    }
    for mechanism, n_samples in product(MODES, sizes):
        with warnings.catch_warnings():
            # Some ranges are meant to be infinite.
            warnings.filterwarnings("ignore", message="confidence_level: ranges")
            runs = [run(mechanism, n_samples, number) for number in range(sizes[n_samples])]
        for mode, method in runs[0][0]:
            missed, covered = np.transpose([shares[mode, method] for shares, _, _ in runs])
            error = missed.std(ddof=1) / np.sqrt(len(runs))
            rates.append(
                Rate(mechanism, mode, method, n_samples, missed.mean(), error, covered.mean())
            )
        n_broken += sum(broken for _, broken, _ in runs)
        n_finite += sum(finite for _, _, finite in runs)
    return rates, n_broken, n_finite


def draw(rates, path):
    """Shares of promises kept against the number of rows; dotted: labels in their ranges."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(
            2, len(MODES), figsize=(9.5, 5.2), sharex=True, sharey=True, layout="constrained"
        )
        for (mechanism, own_mode), column in zip(MODES.items(), grid.T, strict=True):
            for mode, ax in zip((own_mode, "meets"), column, strict=True):
                ax.axhline(LEVEL, color="grey", lw=0.8)
                for method, colour in COLOURS.items():
                    mine = [rate for rate in rates if rate[:3] == (mechanism, mode, method)]
                    n = [rate.n_samples for rate in mine]
                    kept = [1 - rate.missed for rate in mine]
                    bars = [N_ERRORS * rate.error for rate in mine]
                    ax.errorbar(
                        n,
                        kept,
                        bars,
                        color=colour,
                        marker="o",
                        ms=3,
                        lw=1.2,
                        capsize=2,
                        label=method,
                    )
                    ax.plot(n, [rate.covered_labels for rate in mine], ":", color=colour, lw=1)
                ax.set(xscale="log", title=f"{mechanism}: {mode}", ylim=(0.55, 1.01))
        grid[0, 0].legend(fontsize=8, loc="lower right")
        for ax in grid[-1]:
            ax.set_xlabel("rows")
        for ax in grid[:, 0]:
            ax.set_ylabel("promise kept; dotted: label in range")
        figure.savefig(path)
        plt.close(figure)
