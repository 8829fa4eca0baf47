"""How often tests of groups reject at 5 %: size without a difference, power with one, beside a parametric test."""

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from benchmarks.bands import SCALE, censor
from marginwood import CensoredLinearRegression
from marginwood.inference import compare_groups

LEVEL = 0.05
N_SIZE, N_POWER = 4000, 500
LEAST, MOST = 0.04, 0.06
# Censoring: sizes of the groups.
DESIGNS = {
    "right-censored": (50, 50),
    "visits at any time": (50, 50),
    "planned visits, some missed": (50, 50),
    "current status": (50, 50),
    "non-detects": (30, 30, 30),
}
RATIO = 1.4  # of the times of the last group, for power


class Rejections(NamedTuple):
    """The shares of runs in which a test rejected."""

    censoring: str
    test: str
    size: float
    power: float


def simulate(kind, sizes, ratio, rng):
    """Weibull times or log-normal concentrations, those of the last group greater, censored; and groups."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    factor = np.where(groups == len(sizes) - 1, ratio, 1.0)
    if kind == "non-detects":
        values = factor * rng.lognormal(0, 1, len(groups))
        limit = rng.choice([0.4, 1.0], len(groups))
        seen = values >= limit
        lower = np.where(seen, values, -np.inf)
        return np.column_stack([lower, np.where(seen, values, np.nextafter(limit, 0))]), groups
    values = factor * SCALE * rng.weibull(1.5, len(groups))
    rows = censor(kind, values, rng, keep=True)
    informative = np.isfinite(rows).any(axis=1)
    return rows[informative], groups[informative]


def parametric(y, groups, noise):
    """The p-value of the likelihood-ratio test of groups in a linear model of logarithms."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(y, 0.0))
    X = (groups[:, np.newaxis] == np.unique(groups)[1:]).astype(float)
    model = CensoredLinearRegression(noise=noise, alpha=0).fit(X, logs)
    ratio = 2 * (model.log_likelihood_ - model.null_log_likelihood_)
    return chi2.sf(max(ratio, 0.0), X.shape[1])


def measure(settings):
    """Size and power of all tests in all designs."""
    found = []
    for number, (kind, sizes) in enumerate(DESIGNS.items()):
        tests = {
            "log-rank": lambda y, groups: compare_groups(y, groups).p_value,
            "Peto-Prentice": lambda y, groups: compare_groups(y, groups, weights="peto").p_value,
        }
        noise = "normal" if kind == "non-detects" else "gumbel"
        tests["parametric"] = lambda y, groups, noise=noise: parametric(y, groups, noise)
        rejected = {}
        for ratio, n_runs in ((1.0, N_SIZE), (RATIO, N_POWER)):
            rng = np.random.default_rng([number, int(10 * ratio)])
            n_runs = max(20, n_runs // settings.shrink)
            counts = dict.fromkeys(tests, 0)
            for _ in range(n_runs):
                y, groups = simulate(kind, sizes, ratio, rng)
                for name, test in tests.items():
                    # 500 runs show the power of the parametric test; its size is known.
                    if name != "parametric" or ratio > 1:
                        counts[name] += test(y, groups) < LEVEL
            rejected[ratio] = {name: count / n_runs for name, count in counts.items()}
        found += [
            Rejections(kind, name, rejected[1.0][name], rejected[RATIO][name]) for name in tests
        ]
    return found
