"""Train a maximum margin interval tree on simulated data, print it and its scores, and draw it.

python examples/demo.py [--out demo.png]
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from marginwood import MaxMarginIntervalTree, export_text
from marginwood.datasets import make_sine
from marginwood.metrics import interval_accuracy, interval_d2_score, interval_mean_squared_error

INTERVAL, TREE, SIGNAL = "#7a9cc6", "#c8442f", "#444444"
ARROW_LENGTH = 0.35


def print_scores(tree, samples):
    print(f"{'':8}{'interval D2':>14}{'interval MSE':>14}{'inside':>10}")
    for name, (X, y) in samples.items():
        predicted = tree.predict(X)
        d2 = interval_d2_score(y, predicted)
        mse = interval_mean_squared_error(y, predicted)
        inside = interval_accuracy(y, predicted)
        print(f"{name:8}{d2:14.3f}{mse:14.4f}{inside:10.1%}")


def draw_intervals(axes, x, y):
    """Closed intervals as bars with caps; an open end as an arrow from the finite one."""
    lower, upper = y.T
    closed = np.isfinite(y).all(axis=1)
    axes.vlines(x[closed], lower[closed], upper[closed], color=INTERVAL, linewidth=1.4, alpha=0.75, label="interval")
    for ends in (lower, upper):
        axes.plot(x, ends, "_", color=INTERVAL, markersize=5, alpha=0.75)
    for open_rows, start, direction in (
        (np.isinf(upper), lower, ARROW_LENGTH),
        (np.isinf(lower), upper, -ARROW_LENGTH),
    ):
        for position, end in zip(x[open_rows], start[open_rows], strict=True):
            axes.annotate(
                "",
                xy=(position, end + direction),
                xytext=(position, end),
                arrowprops={
                    "arrowstyle": "->",
                    "color": INTERVAL,
                    "linewidth": 1.2,
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
            )


def draw(tree, X, y, path):
    """The intervals against the first feature, and the tree with the other features at their medians."""
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    draw_intervals(axes, X[:, 0], y)
    grid = np.tile(np.median(X, axis=0), (2000, 1))
    grid[:, 0] = np.linspace(0, 10, len(grid))
    axes.plot(grid[:, 0], np.sin(grid[:, 0]), color=SIGNAL, linewidth=1.2, linestyle="--", label="signal: sin(x)")
    axes.plot(grid[:, 0], tree.predict(grid), color=TREE, linewidth=2.4, label="tree", drawstyle="steps-mid")
    limits = y[np.isfinite(y)]
    axes.set(
        xlim=(-0.1, 10.1),
        ylim=(limits.min() - ARROW_LENGTH - 0.1, limits.max() + ARROW_LENGTH + 0.1),
        xlabel="first feature (the other 19 at their medians for the tree)",
        ylabel="target",
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("Intervals to learn from (arrows: open ends) and the tree learned", loc="left", fontsize=11)
    axes.legend(frameon=False, ncols=3, loc="upper right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo.png"), help="where to save the picture")
    out = parser.parse_args().out

    X, y = make_sine(random_state=0)
    X_test, y_test = make_sine(random_state=1)
    tree = MaxMarginIntervalTree(loss="squared_hinge", margin=0.2, max_depth=4).fit(X, y)

    print(export_text(tree))
    print_scores(tree, {"train": (X, y), "test": (X_test, y_test)})
    draw(tree, X, y, out)
    print(f"\npicture saved as {out}")


if __name__ == "__main__":
    main()
