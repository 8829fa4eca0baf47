"""When maximum margin trees beat Interval-CART: ``python -m benchmarks.paper.when --out build/paper``.

The hidden value is a function of the first feature plus noise, and an interval around it is what is
seen. From one setting, one thing at a time is varied: the share of rows that lose an end, at random
or always the upper one, the width of the intervals against the noise, the number of rows and of
features. Both trees choose margin and pruning by five folds; a third one chooses its pruning only
and has no margin. Scored is the mean squared distance from the function.
"""

import numpy as np

from benchmarks.paper.alone import run_alone
from benchmarks.paper.table import Piece, Table, fingerprint
from marginwood import IntervalCART, IntervalSearchCV, MaxMarginIntervalTree
from marginwood.losses import LOSSES

BASE = {"open": 0.2, "kind": "either", "width": 1.0, "n": 200, "p": 5}
VARIED = {
    "open": (0.0, 0.2, 0.4, 0.6, 0.8),
    "open above": (0.0, 0.2, 0.4, 0.6, 0.8),
    "width": (0.0, 0.5, 1.0, 2.0, 4.0),
    "n": (50, 100, 200, 400, 800),
    "p": (1, 5, 20, 50),
}
LABELS = {
    "open": "share of rows open at either end",
    "open above": "share of rows open above",
    "width": "width of intervals / noise",
    "n": "rows",
    "p": "features",
}
NOISE = 0.3
N_FRESH = 1000
N_FOLDS = 5
N_MARGINS = 7
TREE = {"loss": LOSSES, "anchor": (0.0,)}
METHODS = {
    "MMIT": lambda: IntervalSearchCV(
        MaxMarginIntervalTree(), {"margin": N_MARGINS, **TREE}, cv=N_FOLDS
    ),
    "MMIT, no margin": lambda: IntervalSearchCV(
        MaxMarginIntervalTree(), {"margin": (0.0,), **TREE}, cv=N_FOLDS
    ),
    "Interval-CART": lambda: IntervalSearchCV(
        IntervalCART(random_state=0), {"margin": N_MARGINS}, cv=N_FOLDS
    ),
}
REFERENCE = "Interval-CART"


def simulate(seed, *, open, kind, width, n, p):  # noqa: A002 (the share of open rows)
    """Features, intervals, fresh features and the function there."""
    random = np.random.default_rng(seed)
    X = random.uniform(0, 2 * np.pi, (n + N_FRESH, p))
    truth = np.sin(X[:, 0])
    value = truth[:n] + NOISE * random.standard_normal(n)
    # The two sides are drawn apart: the middle of an interval says little about the value in it.
    below, above = width * NOISE * random.uniform(0, 1, (2, n))
    y = np.column_stack([value - below, value + above])
    is_open = random.random(n) < open
    upper = np.ones(n, dtype=bool) if kind == "above" else random.random(n) < 0.5
    # An open row is known from one end, which lies anywhere on its side of the value.
    far = random.exponential(size=n)
    y[is_open & upper] = np.column_stack([value - far, np.full(n, np.inf)])[is_open & upper]
    y[is_open & ~upper] = np.column_stack([np.full(n, -np.inf), value + far])[is_open & ~upper]
    return X[:n], y, X[n:], truth[n:]


def setting(what, value):
    """The base with one thing changed."""
    if what == "open above":
        return BASE | {"open": value, "kind": "above"}
    return BASE | {what: value}


def table(folder):
    """Mean squared distances from the function."""
    return Table(folder / "when.csv", ("varied", "value", "method", "seed"), ("mse",))


def pieces(n_seeds):
    """All settings for one seed after another."""
    return [
        Piece(
            (
                what,
                repr(value),
                method,
                str(seed),
                fingerprint((TREE, N_MARGINS, N_FOLDS, BASE, NOISE)),
            ),
            evaluate,
            (what, value, method, seed),
        )
        for seed in range(n_seeds)
        for what, values in VARIED.items()
        for value in values
        for method in METHODS
    ]


def evaluate(what, value, method, seed):
    """Mean squared distance of a method from the function."""
    X, y, fresh, truth = simulate(seed, **setting(what, value))
    return (np.mean((METHODS[method]().fit(X, y).predict(fresh) - truth) ** 2),)


def ratios(lines, method):
    """What is varied, its value, and the geometric mean of the error against the reference, with its standard error."""
    errors = {
        (line["varied"], line["value"], line["method"], line["seed"]): float(line["mse"])
        for line in lines
    }
    for what, values in VARIED.items():
        for value in values:
            logs = [
                np.log(error / errors[what, repr(value), REFERENCE, seed])
                for (varied, tried, name, seed), error in errors.items()
                if (varied, tried, name) == (what, repr(value), method)
                and (what, repr(value), REFERENCE, seed) in errors
            ]
            if len(logs) > 1:
                yield (
                    what,
                    value,
                    float(np.mean(logs)),
                    float(np.std(logs, ddof=1) / np.sqrt(len(logs))),
                )


def draw(lines, path):
    """A panel for everything that is varied."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, len(VARIED), figsize=(13, 3.2), sharey=True, layout="constrained"
    )
    for method, colour in (("MMIT", "#7a3b9a"), ("MMIT, no margin", "#999999")):
        found = list(ratios(lines, method))
        for panel, what in zip(panels, VARIED, strict=True):
            own = [line[1:] for line in found if line[0] == what]
            places = np.arange(len(own))
            means = np.array([mean for _, mean, _ in own])
            spreads = np.array([spread for *_, spread in own])
            panel.fill_between(
                places,
                np.exp(means - spreads),
                np.exp(means + spreads),
                color=colour,
                alpha=0.2,
                lw=0,
            )
            panel.plot(places, np.exp(means), "o-", markersize=3, color=colour, label=method)
            panel.set_xticks(places, [f"{value:g}" for value, *_ in own])
            panel.set_xlabel(LABELS[what])
            panel.axhline(1, color="#444444", linewidth=0.8)
    panels[0].set(yscale="log", ylabel="error / that of Interval-CART")
    panels[0].set_yticks([0.3, 0.5, 1, 1.5], ["0.3", "0.5", "1", "1.5"])
    panels[0].set_yticks([], minor=True)
    panels[0].legend(frameon=False)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main(arguments=None):
    count = "--seeds", 10, "how often everything is simulated"
    folder, lines = run_alone(arguments, __doc__, count, table, pieces)
    for method in METHODS:
        if method != REFERENCE:
            print(f"{method}: error against {REFERENCE}, and its standard error in percent")
            for what, value, mean, spread in ratios(lines, method):
                print(f"  {what:12}{value:8g}{np.exp(mean):8.3f}{100 * spread:8.1f}")
    draw(lines, folder / "when.png")


if __name__ == "__main__":
    main()
