"""How often confidence bands of curves hold the truth: kinds of censoring x sizes, by Monte Carlo, and a figure."""

from itertools import product
from typing import NamedTuple

import numpy as np

from benchmarks.paper.figures import STYLE
from marginwood.distributions import turnbull

LEVEL = 0.95
N_RUNS = 2000
SIZES = (100, 400)
SHARES = (0.75, 0.5, 0.25)  # S(t) at the times that are asked
# What coverage should be, but for the error of the simulation.
LEAST, MOST = 0.93, 0.97
DISTRIBUTIONS = ("exponential", "Weibull")
SCALE = 1.2


class Coverage(NamedTuple):
    """How often the truth lay in the band where S(t) is `share`, and how wide the band was."""

    censoring: str
    distribution: str
    n_samples: int
    share: float
    covered: float
    width: float


def draw_values(distribution, n_samples, rng):
    if distribution == "exponential":
        return rng.exponential(SCALE, n_samples)
    return SCALE * rng.weibull(1.5, n_samples)


def time_of(distribution, share):
    """Where S is a share."""
    return SCALE * (-np.log(share)) ** (1.0 if distribution == "exponential" else 1 / 1.5)


def censor(kind, values, rng, *, keep=False):
    """Intervals that hold the values; without rows that tell nothing, unless they are kept."""
    n = len(values)
    if kind == "right-censored":
        end = rng.exponential(2 * SCALE, n)
        return np.column_stack([np.minimum(values, end), np.where(values <= end, values, np.inf)])
    if kind == "current status":  # looked at once
        visits = rng.exponential(SCALE, (n, 1))
    elif kind == "visits at any time":
        gaps = np.column_stack([rng.uniform(0, 0.5, n), rng.uniform(0.2, 0.8, (n, 9))])
        visits = np.cumsum(gaps, axis=1)
    elif kind == "planned visits, some missed":
        # On the quarters of S that are asked, and between them.
        visits = np.broadcast_to(np.arange(1, 13) * 0.3, (n, 12))
        visits = np.sort(np.where(rng.random(visits.shape) < 0.6, visits, np.inf))
    else:  # half of the values are seen, the others between two visits
        width = rng.uniform(0.1, 1.0, n)
        start = np.floor(values / width) * width
        seen = rng.random(n) < 0.5
        return np.column_stack(
            [np.where(seen, values, start), np.where(seen, values, start + width)]
        )
    visits = np.column_stack([np.full(n, -np.inf), visits, np.full(n, np.inf)])
    place = (visits < values[:, np.newaxis]).sum(axis=1)
    intervals = np.column_stack([visits[np.arange(n), place - 1], visits[np.arange(n), place]])
    return intervals if keep else intervals[np.isfinite(intervals).any(axis=1)]


KINDS = (
    "right-censored",
    "current status",
    "visits at any time",
    "planned visits, some missed",
    "half exact",
)


def measure(settings):
    """Coverage for all kinds of censoring, distributions and sizes."""
    found = []
    for kind, distribution, n_samples in product(KINDS, DISTRIBUTIONS, SIZES):
        times = np.array([time_of(distribution, share) for share in SHARES])
        if kind.startswith("planned"):
            times = np.maximum(0.3, np.round(times / 0.3) * 0.3)
        truth = np.exp(-((times / SCALE) ** (1.0 if distribution == "exponential" else 1.5)))
        rng = np.random.default_rng([KINDS.index(kind), n_samples, len(distribution)])
        n_runs = max(20, N_RUNS // settings.shrink)
        covered, width = np.zeros(len(SHARES)), np.zeros(len(SHARES))
        for _ in range(n_runs):
            rows = censor(kind, draw_values(distribution, n_samples, rng), rng)
            band = turnbull(rows).confidence_band(times, level=LEVEL)
            covered += (band.lower <= truth) & (truth <= band.upper)
            width += band.upper - band.lower
        for place, share in enumerate(SHARES):
            found.append(
                Coverage(
                    kind,
                    distribution,
                    n_samples,
                    share,
                    covered[place] / n_runs,
                    width[place] / n_runs,
                )
            )
    return found


def draw(found, path):
    """Coverage by kind of censoring; grey: where it should be."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.4), sharey=True, layout="constrained")
        for ax, n_samples in zip(axes, SIZES, strict=True):
            ax.axvspan(LEAST, MOST, color="0.92")
            ax.axvline(LEVEL, color="grey", lw=0.8)
            for distribution, colour in zip(DISTRIBUTIONS, ("#1d3f66", "#c8442f"), strict=True):
                mine = [one for one in found if one[1:3] == (distribution, n_samples)]
                height = [
                    -KINDS.index(one.censoring)
                    + 0.25 * (one.share - 0.5)
                    + (0.15 if distribution == "Weibull" else -0.15)
                    for one in mine
                ]
                ax.plot(
                    [one.covered for one in mine],
                    height,
                    "o",
                    ms=4,
                    color=colour,
                    label=distribution,
                )
            ax.set(title=f"{n_samples} rows", xlabel="share of runs in which the band held S(t)")
        axes[0].set_yticks(-np.arange(len(KINDS)), KINDS)
        axes[1].legend(frameon=False, fontsize=8)
        figure.savefig(path)
        plt.close(figure)
