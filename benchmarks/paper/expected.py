"""How many pointer moves to expect: ``python -m benchmarks.paper.expected``, a table for every lemma of docs/moves.md.

What is predicted comes from a sample of its own: m, the minimiser of its cost; p, the share of its
rows that are violated there; their mean pull E|psi|; and g, the density of limits there, per row.
"""

import argparse
from typing import NamedTuple

import numpy as np

from benchmarks.paper import growth
from marginwood import optimal_costs
from marginwood.losses import optimal_constant

LOSSES = ("linear_hinge", "squared_hinge")
N_ROWS = 10**6
QUANTILES = (0.1, 0.25, 0.5, 0.9)
TURNS = (0, 1, 2, 5, 10)
NEAR = 0.02  # the share of all limits on either side of m that say how dense they are


def student(random, n):
    """Limits of Student's t with 3 degrees of freedom."""
    return growth._one_sided(random, random.standard_t(3, n))


def two_sided(random, n):
    """Rows with two ends, both exponentially far from a normal centre."""
    centre, reach = random.standard_normal(n), random.exponential(0.5, (2, n))
    return centre - reach[0], centre + reach[1]


def mixed(random, n):
    """The same, of which a fifth is open below, a fifth above, and a tenth known."""
    lower, upper = two_sided(random, n)
    share = random.random(n)
    middle = (lower + upper) / 2
    lower = np.where(share < 0.2, -np.inf, np.where(share > 0.9, middle, lower))
    upper = np.where((share >= 0.2) & (share < 0.4), np.inf, np.where(share > 0.9, middle, upper))
    return lower, upper


FAMILIES = {name: growth.FAMILIES[name] for name in ("normal", "separated", "censored")} | {
    "t, 3 degrees": student,
    "two-sided": two_sided,
    "mixed": mixed,
}


class Population(NamedTuple):
    """Where the cost is least, and what a row does there."""

    m: float
    p: float
    pull: float
    density: float
    predicted: float  # moves per row


def pulls(lower, upper, at, loss, quantile=0.5):
    """The slope of the cost of each row, or half of it for squares."""
    below, above = np.maximum(lower - at, 0), np.maximum(at - upper, 0)
    if loss == "squared_hinge":
        return above - below
    return 2 * (1 - quantile) * (above > 0) - 2 * quantile * (below > 0)


def population(family, loss, quantile=0.5):
    """What is predicted of a family, from a sample of its own."""
    lower, upper = family(np.random.default_rng(99), N_ROWS)
    rules = {"loss": loss} if loss == "squared_hinge" else {"loss": loss, "quantile": quantile}
    m = optimal_constant(np.column_stack([lower, upper]), **rules).value
    psi = pulls(lower, upper, m, loss, quantile)
    prices = (
        np.array([[1], [1]])
        if loss == "squared_hinge"
        else 2 * np.array([[quantile], [1 - quantile]])
    )
    distance = np.abs(np.array([lower, upper]) - m)
    h = np.quantile(distance[np.isfinite(distance)], 2 * NEAR)
    is_near = distance < h
    density = is_near.sum() / (2 * h * N_ROWS)
    p, pull = np.mean(psi != 0), np.mean(np.abs(psi))
    # The slope of the mean pull: the rows that are violated, or the limits at m by their price.
    curvature = p if loss == "squared_hinge" else (prices * is_near).sum() / (2 * h * N_ROWS)
    return Population(m, p, pull, density, density * pull / curvature)


def walks(family, loss, n, order=0, quantile=0.5):
    """The rows of a family, and minimisers and moves of their prefixes."""
    lower, upper = family(np.random.default_rng([n, order]), n)
    found = optimal_costs(lower, upper, loss=loss, quantile=quantile)
    return lower, upper, found.values, found.moves


def violated_rows(n):
    """Lemma 1: with one limit per row, the share of rows that move once if violated and else not; the most moves."""
    for name, family in growth.FAMILIES.items():
        lower, upper, values, moves = walks(family, "linear_hinge", n)
        is_violated = (lower[1:] > values[:-1]) | (upper[1:] < values[:-1])
        last = slice(n // 2, None)
        share = np.mean((moves[1:] == is_violated)[last])
        yield name, f"{share:.6f}", moves.max(), f"{moves[last].mean():.4f}"


def newton_steps(n):
    """Lemmas 3 and 4: steps over psi / violated rows, and moves over the limits that such a step should cross."""
    for name, family in FAMILIES.items():
        lower, upper, values, moves = walks(family, "squared_hinge", n)
        known = population(family, "squared_hinge")
        last = np.arange(n // 2, n)
        psi = pulls(lower[last], upper[last], values[last - 1], "squared_hinge")
        steps = values[last] - values[last - 1]
        newton = -psi / ((last + 1) * known.p)
        is_moved = psi != 0
        ratio = np.sum(np.abs(steps[is_moved])) / np.sum(np.abs(newton[is_moved]))
        crossed = np.sum(np.abs(steps)[:, np.newaxis] * (last + 1)[:, np.newaxis] * known.density)
        yield name, f"{ratio:.3f}", f"{moves[last].sum() / crossed:.3f}"


def means(sizes):
    """The theorem: moves per row of several sizes, and what is predicted."""
    for loss in LOSSES:
        for name, family in FAMILIES.items():
            found = [
                np.mean([walks(family, loss, n, order)[3].mean() for order in range(3)])
                for n in sizes
            ]
            known = population(family, loss)
            yield loss, name, ", ".join(f"{mean:.3f}" for mean in found), f"{known.predicted:.3f}"


def quantiles(n):
    """Exact labels and the linear hinge of a quantile: 4 q (1 - q) moves per row."""
    for quantile in QUANTILES:
        labels = np.random.default_rng(0).standard_normal(n)
        moves = optimal_costs(labels, labels, quantile=quantile).moves
        known = population(
            lambda random, n: (x := random.standard_normal(n), x), "linear_hinge", quantile
        )
        yield (
            quantile,
            f"{moves.mean():.3f}",
            f"{known.predicted:.3f}",
            f"{4 * quantile * (1 - quantile):.3f}",
        )


def without_mean(sizes):
    """Cauchy limits: moves of the last half of the rows, and (2 / pi^2) log n."""
    for n in sizes:
        orders = [walks(growth.heavy, "squared_hinge", n, order)[3] for order in range(5)]
        late = [moves[n // 2 :].mean() for moves in orders]
        bound = 2 / np.pi**2 * np.log(n)
        yield f"{n:.0e}", f"{np.mean(late):.2f}", f"{np.std(late) / 5**0.5:.2f}", f"{bound:.2f}"


def turns(n):
    """Rows in the order of a feature along which the minimiser of the prefix turns V times: moves per limit."""
    share = (np.arange(n) + 1) / n
    random = np.random.default_rng(0)
    noise, side = random.standard_normal(n), random.random(n) < 0.5
    for loss in LOSSES:
        base = None
        for v in TURNS:
            path = 3 * np.cos(np.pi * (v + 1) * share)  # the mean of all rows up to this share
            centre = path - 3 * np.pi * (v + 1) * share * np.sin(np.pi * (v + 1) * share)
            limits = centre + noise
            ends = np.where(side, -np.inf, limits), np.where(side, limits, np.inf)
            moves = optimal_costs(*ends, loss=loss).moves.mean()
            base = walks(growth.normal, loss, n)[3].mean() if base is None else base
            yield loss, v, f"{moves:.3f}", f"{base + v + 1:.3f}"


def leaves(n_leaves=2000, n_rows=50):
    """A leaf of Interval-CART, the mean of its finite limits, against the hinge's best constant: bias and deviation."""
    for share in (0.0, 0.2, 0.6):
        for both in (False, True):
            if share == 0 and both:
                continue
            random = np.random.default_rng(0)
            errors, lone = [], []
            for _ in range(n_leaves):
                centre = random.normal(scale=0.3, size=n_rows)
                y = centre[:, None] + random.exponential(size=(n_rows, 2)) * [-1, 1]
                is_open = random.random(n_rows) < share
                below = is_open & (random.random(n_rows) < 0.5) & both
                y[is_open & ~below, 1], y[below, 0] = np.inf, -np.inf
                finite = np.isfinite(y)
                alone = y[is_open][finite[is_open]]
                lone.append([alone.sum() / finite.sum()])
                best = optimal_constant(y, loss="squared_hinge", margin=0.5).value
                errors.append([y[finite].mean(), best])
            bias, deviation = np.mean(errors, axis=0), np.std(errors, axis=0)
            where = "either end" if both else "above"
            yield (
                f"{share:.0%} {where}",
                *(f"{x:+.3f}" for x in (np.mean(lone), *bias)),
                *(f"{x:.3f}" for x in deviation),
            )


def show(title, columns, rows):
    """One table."""
    print(f"\n{title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=N_ROWS, help="most rows")
    n = parser.parse_args(arguments).largest
    sizes = [size for size in (10**3, 10**4, 10**5, 10**6) if size <= n]
    show("Lemma 1", ("family", "as said", "most moves", "moves per row"), violated_rows(n))
    show("Lemmas 3 and 4", ("family", "step / Newton", "moves / crossed"), newton_steps(n))
    show("The mean", ("loss", "family", "moves per row", "predicted"), means(sizes))
    show("Quantiles", ("quantile", "moves per row", "predicted", "4 q (1 - q)"), quantiles(n))
    show(
        "Without a mean", ("rows", "moves per row", "standard error", "bound"), without_mean(sizes)
    )
    show("Turns", ("loss", "turns", "moves per limit", "bound"), turns(min(n, 10**5)))
    columns = (
        "open",
        "lone limits say",
        "bias, mean of limits",
        "bias, hinge",
        "deviation",
        "hinge",
    )
    show("Leaves", columns, leaves())


if __name__ == "__main__":
    main()
