"""How the mean number of pointer moves grows with n: ``python -m benchmarks.paper.growth --out build/paper``.

The paper leaves open how far the pointer to the minimum moves on average. Here limits of several
families come in random order, and moves per limit are counted for n up to 10^7. Printed is a fit of
``c * n**b`` for every family, with the standard error of b: no growth is b = 0.
"""

import numpy as np

from benchmarks.paper.alone import run_alone
from benchmarks.paper.table import Piece, Table
from marginwood import optimal_costs

LOSSES = ("linear_hinge", "squared_hinge")
SIZES = tuple(round(10 ** (exponent / 2)) for exponent in range(6, 15))
LARGEST_REPEATED = 10**6  # beyond, one order is enough: the mean over limits hardly varies
REPEATS = 3
VERSION = "1"


def normal(random, n):
    """Lower and upper limits alike, around one centre."""
    return _one_sided(random, random.standard_normal(n))


def separated(random, n):
    """Lower limits mostly below upper ones, as with a signal: most hinges are 0 near the minimum."""
    side = random.random(n) < 0.5
    return _one_sided(random, random.standard_normal(n) + np.where(side, 1.0, -1.0), side)


def heavy(random, n):
    """Cauchy distributed limits."""
    return _one_sided(random, random.standard_cauchy(n))


def tied(random, n):
    """Limits of 100 different values."""
    return _one_sided(random, random.integers(0, 100, n).astype(np.float64))


def censored(random, n):
    """Nine of ten rows are lower limits, as with right-censored times."""
    return _one_sided(random, random.exponential(size=n), random.random(n) < 0.1)


def _one_sided(random, limits, is_upper=None):
    is_upper = random.random(len(limits)) < 0.5 if is_upper is None else is_upper
    return np.where(is_upper, -np.inf, limits), np.where(is_upper, limits, np.inf)


FAMILIES = {family.__name__: family for family in (normal, separated, heavy, tied, censored)}


def table(folder):
    """Moves per limit for every family, loss, number of limits and order."""
    return Table(folder / "growth.csv", ("family", "loss", "n", "order"), ("mean", "max"))


def pieces(largest):
    """Small numbers of limits first, up to the largest."""
    return [
        Piece((family, loss, str(n), str(order), VERSION), count, (family, loss, n, order))
        for n in SIZES
        if n <= largest
        for order in range(REPEATS if n <= LARGEST_REPEATED else 1)
        for family in FAMILIES
        for loss in LOSSES
    ]


def count(family, loss, n, order):
    """Mean and greatest number of moves per limit."""
    lower, upper = FAMILIES[family](np.random.default_rng([n, order]), n)
    moves = optimal_costs(lower, upper, loss=loss).moves
    return moves.mean(), int(moves.max())


def fits(lines):
    """Loss, family, fitted moves per limit at the greatest n, exponent and its standard error."""
    for loss in LOSSES:
        for family in FAMILIES:
            own = [line for line in lines if (line["loss"], line["family"]) == (loss, family)]
            if len({line["n"] for line in own}) < 3:
                continue
            x = np.log([float(line["n"]) for line in own])
            y = np.log([float(line["mean"]) for line in own])
            (slope, intercept), covariance = np.polyfit(x, y, 1, cov=True)
            yield (
                loss,
                family,
                float(np.exp(intercept + slope * x.max())),
                float(slope),
                float(covariance[0, 0] ** 0.5),
            )


def draw(lines, path):
    """Moves per limit against n."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    for panel, loss in zip(panels, LOSSES, strict=True):
        for family in FAMILIES:
            own = [line for line in lines if (line["loss"], line["family"]) == (loss, family)]
            sizes = sorted({int(line["n"]) for line in own})
            means = [
                np.mean([float(line["mean"]) for line in own if int(line["n"]) == n]) for n in sizes
            ]
            panel.plot(sizes, means, "o-", markersize=3, label=family)
        panel.set(xscale="log", xlabel="limits n", title=loss.replace("_", " "), yscale="log")
    panels[0].set_ylabel("pointer moves per limit")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main(arguments=None):
    count = "--largest", SIZES[-1], "most limits"
    folder, lines = run_alone(arguments, __doc__, count, table, pieces)
    print(
        "| loss | family | moves per limit, fitted at the greatest n | exponent b | its standard error |"
    )
    print("| --- | --- | --- | --- | --- |")
    for loss, family, last, slope, error in fits(lines):
        print(f"| {loss.replace('_', ' ')} | {family} | {last:.3f} | {slope:+.4f} | {error:.4f} |")
    draw(lines, folder / "growth.png")


if __name__ == "__main__":
    main()
