"""
Changepoints: how much should a break cost?
===========================================

A signal jumps now and then, and noise hides the jumps. A changepoint algorithm finds them for a
given penalty per break: too small, and it finds breaks in the noise; too large, and it misses real
ones. **Which penalty for a signal that nobody has labelled?** That is the problem for which maximum
margin interval regression was made [1]_.
"""

# %%
# The table
# ---------
# An expert has labelled some signals: so many breaks. Here we simulate them, with different lengths and different
# noise, and find the best segmentation of each for every number of breaks by dynamic programming.

from itertools import pairwise

import numpy as np
from matplotlib import pyplot as plt

from marginwood import (
    IntervalDummyRegressor,
    IntervalSearchCV,
    L1IntervalRegression,
    MaxMarginIntervalForest,
)
from marginwood.metrics import interval_accuracy, target_interval_auc, target_interval_roc

MAX_BREAKS = 8


def simulate(random):
    """A signal of some segments, and its number of breaks."""
    n_breaks = random.randint(0, 5)
    noise = np.exp(random.uniform(-2, 1.5))
    lengths = random.randint(10, 40, n_breaks + 1)
    levels = (
        np.cumsum(random.choice([-1, 1], n_breaks + 1) * random.uniform(1, 4, n_breaks + 1)) * noise
    )
    signal = np.repeat(levels, lengths)
    return signal + random.normal(0, noise, len(signal)), n_breaks


def segment(signal):
    """Least squared errors of the signal with 0, 1, ... breaks, and where these breaks are."""
    n = len(signal)
    sums, squares = (np.concatenate([[0], np.cumsum(values)]) for values in (signal, signal**2))
    start, end = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    length = np.maximum(end - start, 1)
    cost = np.where(
        end > start, squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / length, np.inf
    )
    best, errors, last_starts = cost[0], [cost[0, n]], []
    for _ in range(MAX_BREAKS):
        totals = best[:, np.newaxis] + cost
        last_starts.append(totals.argmin(axis=0))
        best = totals.min(axis=0)
        errors.append(best[n])
    breaks = [[n] for _ in errors]
    for n_breaks, found in enumerate(breaks):
        for level in reversed(range(n_breaks)):
            found.insert(0, int(last_starts[level][found[0]]))
    return np.array(errors), [found[:-1] for found in breaks]


def target(signal, n_breaks):
    """Logarithms of the penalties, least and greatest, for which as many breaks as labelled are optimal."""
    errors, _ = segment(signal)
    others = np.arange(MAX_BREAKS + 1) - n_breaks
    slopes = (errors[n_breaks] - errors) / np.where(
        others == 0, 1, others
    )  # the penalty at which both cost the same
    low = max([0.0, *slopes[others > 0]])
    high = min([np.inf, *slopes[others < 0]])
    return (np.log(low) if low > 0 else -np.inf, np.log(high)) if low < high else None


def features(signal):
    """What can be seen without a label."""
    jumps = np.abs(np.diff(signal))
    return [
        np.log(len(signal)),
        np.log(signal.var()),
        np.log(np.median(jumps)),
        np.log(np.mean(jumps**2)),
        np.ptp(signal),
    ]


random = np.random.RandomState(0)
X, y, signals = [], [], []
while len(y) < 400:
    signal, n_breaks = simulate(random)
    interval = target(signal, n_breaks)
    if interval is not None:
        X.append(features(signal))
        y.append(interval)
        signals.append((signal, n_breaks))
X, y = np.array(X), np.array(y)
print("log penalties that give the labelled number of breaks:")
print(y[:4].round(2), f"\nopen above (no breaks): {np.isinf(y[:, 1]).mean():.0%}")

# %%
# The label of a signal is an interval of penalties: all of them give the right number of breaks. A signal without
# breaks has no upper end.
#
# Models
# ------

half = np.arange(len(X)) % 2 == 0
models = {
    "constant": IntervalDummyRegressor(),
    "linear": IntervalSearchCV(L1IntervalRegression(), {"margin": 3}),
    "forest": MaxMarginIntervalForest(margin=0.5, min_samples_leaf=3, random_state=0),
}
predicted = {name: model.fit(X[half], y[half]).predict(X[~half]) for name, model in models.items()}
for name, penalty in predicted.items():
    accuracy, auc = interval_accuracy(y[~half], penalty), target_interval_auc(y[~half], penalty)
    print(f"{name:9} right in {accuracy:.0%} of new signals, AUC {auc:.3f}")

# %%
# The picture
# -----------
# Left, a signal of the other half, with the segments that the penalty of the linear model gives. Right, what
# adding a constant to all predicted penalties would do: a false positive is a break too many, a true positive a
# signal with breaks whose breaks are found.

fig, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4.2), layout="constrained", width_ratios=[1.4, 1]
)
row = next(idx for idx in np.flatnonzero(~half) if signals[idx][1] == 4)
signal, n_breaks = signals[row]
penalty = np.exp(models["linear"].predict(X[[row]])[0])
errors, breaks = segment(signal)
found = breaks[int(np.argmin(errors + penalty * np.arange(MAX_BREAKS + 1)))]
left.plot(signal, ".", color="#5b84c4", markersize=4)
for start, end in pairwise([0, *found, len(signal)]):
    left.plot([start, end], [signal[start:end].mean()] * 2, color="#c8442f", linewidth=2)
left.set(
    title=f"labelled {n_breaks} breaks, found {len(found)}", xlabel="position", ylabel="signal"
)
for (name, penalties), color in zip(predicted.items(), ("0.6", "#2a788e", "#c8442f"), strict=True):
    curve = target_interval_roc(y[~half], penalties)
    right.plot(curve.fpr, curve.tpr, color=color, label=name, linewidth=2)
right.set(xlabel="false positive rate", ylabel="true positive rate", title="target-interval ROC")
right.legend(frameon=False, loc="lower right")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)

# %%
# The decision
# ------------
# Take the model with the greater area, and let it choose the penalty of every new signal. If false breaks are
# dearer than missed ones, add a constant to all predictions: each point of the curve is one.
#
# .. [1] Drouin, Hocking and Laviolette (2017), "Maximum Margin Interval Trees", Advances in Neural Information
#    Processing Systems 30.
