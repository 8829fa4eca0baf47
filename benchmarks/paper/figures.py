"""Figures of the lines that the csv files hold, in the order of the paper."""

import io
import json

import numpy as np

from benchmarks.paper import functions, statistics
from benchmarks.paper.accuracy import by_data_set
from benchmarks.paper.moves import LOSSES

# The seven data sets of the paper's Figure 4 come first.
PAPER_PANELS = (
    "neuroblastomaProcessed",
    "H3K27ac-H3K4me3_TDHAM_BP_FPOP",
    "triazines",
    "servo",
    "simulated.linear",
    "simulated.sin",
    "simulated.abs",
)
LOSS_COLOURS = dict(zip(LOSSES, ("#d95f02", "#1b6ca8"), strict=True))
GROUP_COLOURS = {"paper": "#444444", "ours": "#1b6ca8", "outside": "#d95f02"}
OURS_IN_PAPER = "#7a3b9a"
N_COLUMNS = 4
MOST_MOVES_SHOWN = 10**5  # limits; moves in the crossing order go on as they begin
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "savefig.dpi": 100,
    "savefig.bbox": "tight",
}


def draw(lines, methods, folder):
    """Every figure for which there are results."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = {name: GROUP_COLOURS[method.group] for name, method in methods.items()}
    colours |= {name: OURS_IN_PAPER for name in methods if name.startswith("MMIT")}
    results = lines["accuracy"]
    drawings = {
        "figure2": (
            _moves,
            lines["moves"] and len(lines["solver"]) > 2,
            (lines["moves"], lines["solver"]),
        ),
        "figure3": (_functions, lines["functions"], (lines["functions"],)),
        "figure4": (_accuracy, results, (results, colours)),
        "ranks": (_ranks, len(by_data_set(results)[0]) > 1, (results, colours)),
        "times": (_times, results, (results, colours)),
    }
    for name, (drawing, is_possible, arguments) in drawings.items():
        if is_possible:
            with plt.rc_context(STYLE):
                figure = drawing(plt, *arguments)
                _save(figure, folder / f"{name}.png")
                plt.close(figure)


def _save(figure, path):
    """As a PNG of 256 colours: a third of the size."""
    from PIL import Image

    buffer = io.BytesIO()
    figure.savefig(buffer)
    Image.open(buffer).convert("RGB").quantize(256).save(path, optimize=True)


def _column(lines, name):
    return np.array([float(line[name]) for line in lines])


def _moves(plt, moves, solver):
    """Figure 2: pointer moves per limit, and seconds, against the number of limits."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    left.set(xscale="log", yscale="symlog", xlabel="limits n", ylabel="pointer moves per limit")
    right.set(xscale="log", yscale="log", xlabel="limits n", ylabel="seconds, one thread")
    for loss, colour in LOSS_COLOURS.items():
        mine = [line for line in moves if line["loss"] == loss]
        sizes = _column(mine, "limits")
        for column, style in (("mean", "-"), ("max", "--")):
            values = _column(mine, column)
            quartiles = np.array(
                [np.quantile(values[sizes == n], (0.25, 0.5, 0.75)) for n in np.unique(sizes)]
            ).T
            left.fill_between(
                np.unique(sizes), quartiles[0], quartiles[2], color=colour, alpha=0.15, lw=0
            )
            left.plot(
                np.unique(sizes),
                quartiles[1],
                style,
                color=colour,
                label=f"{column}, {_words(loss)}",
            )
        drawn = [line for line in solver if line["order"] == "drawn" and line["loss"] == loss]
        right.plot(
            _column(drawn, "n"),
            _column(drawn, "seconds"),
            "o-",
            color=colour,
            ms=3,
            label=_words(loss),
        )
    crossing = [line for line in solver if line["order"] == "crossing"]
    n, style = (
        _column(crossing, "n"),
        {"color": "#444444", "ms": 3, "label": "squared hinge, crossing order"},
    )
    is_shown = n <= MOST_MOVES_SHOWN
    left.plot(n[is_shown], _column(crossing, "mean")[is_shown], "s:", **style)
    right.plot(n, _column(crossing, "seconds"), "s:", **style)
    start = min(_column(solver, "seconds"))
    right.plot(
        n, start * n * np.log(n) / (n[0] * np.log(n[0])), color="grey", lw=0.8, label="n log n"
    )
    top = right.get_ylim()[1]
    right.plot(n, start * (n / n[0]) ** 2, color="grey", lw=0.8, ls="--", label="n²")
    right.set_ylim(top=top)
    left.set_ylim(bottom=0)
    left.legend(fontsize=8)
    right.legend(fontsize=8)
    return figure


def _words(loss):
    return loss.replace("_", " ")


def _functions(plt, lines):
    """Figure 3: training intervals, the function, and predictions for fresh rows."""
    rows = (functions.SHOWN[:2], functions.SHOWN[2:])
    names = list(dict.fromkeys(line["function"] for line in lines))
    predictions = {(line["function"], line["method"]): line for line in lines}
    figure, grid = plt.subplots(
        len(rows), len(names), figsize=(9.5, 4.6), sharex=True, sharey="col", layout="constrained"
    )
    x = functions.fresh_rows()[:, 0]
    for name, column in zip(names, np.transpose(grid).reshape(len(names), -1), strict=True):
        X, y = functions.training_rows(name)
        low, high = y[np.isfinite(y)].min() - 0.3, y[np.isfinite(y)].max() + 0.3
        column[0].set(title=name, ylim=(low, high))
        for axes, methods in zip(column, rows, strict=True):
            axes.vlines(X[:, 0], *np.clip(y, low, high).T, color="#d0d0d0", lw=0.8)
            axes.plot(x, functions.SIGNALS[name](x), color="black", lw=0.8)
            for method, colour in zip(methods, ("#d95f02", "#1b6ca8"), strict=True):
                if (name, method) in predictions:
                    line = predictions[name, method]
                    label = f"{method} ({float(line['mse']):.2g})"
                    axes.plot(x, json.loads(line["predictions"]), color=colour, lw=0.9, label=label)
            axes.legend(fontsize=7, loc="upper center", ncols=2)
    for axes in np.reshape(grid, (len(rows), -1))[-1]:
        axes.set_xlabel("signal feature")
    return figure


def _panel_order(name):
    short = name.split("/")[-1]
    is_paper = short in PAPER_PANELS
    return (not is_paper, PAPER_PANELS.index(short) if is_paper else 0, name.lower())


def _accuracy(plt, lines, colours):
    """Figure 4: test error of every fold; a cross at the right edge is a failure."""
    names = sorted(dict.fromkeys(line["data set"] for line in lines), key=_panel_order)
    n_rows = -(-len(names) // N_COLUMNS)
    size = (2.5 * N_COLUMNS, 1.75 * n_rows + 0.3)
    figure, grid = plt.subplots(
        n_rows, N_COLUMNS, figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    methods = list(colours)
    for axes in grid.flat[len(names) :]:
        axes.set_axis_off()
    for name, axes in zip(names, grid.flat, strict=False):
        mine = [line for line in lines if line["data set"] == name]
        errors, places = (
            _column(mine, "mse"),
            np.array([methods.index(line["method"]) for line in mine]),
        )
        finite = errors[np.isfinite(errors)]
        floor = finite[finite > 0].min(initial=1.0) / 2 if (finite == 0).any() else 0.0
        axes.scatter(
            np.maximum(errors, floor),
            places,
            s=9,
            c=[colours[methods[place]] for place in places],
            alpha=0.75,
        )
        failed = np.isinf(errors)
        axes.plot(
            np.full(failed.sum(), 0.98),
            places[failed],
            "kx",
            ms=4,
            transform=axes.get_yaxis_transform(),
        )
        medians = [np.median(errors[places == place]) for place in np.unique(places)]
        axes.plot(np.maximum(medians, floor), np.unique(places), "|", color="black", ms=6)
        title = f"{name.split('/')[-1]}\nn={mine[0]['n']} p={mine[0]['p']}"
        axes.set(xscale="log", ylim=(len(methods) - 0.5, -0.5))
        axes.set_title(title, fontsize=7.5)
        axes.set_yticks(range(len(methods)), methods, fontsize=6.5)
        axes.tick_params(axis="x", which="both", labelsize=6.5)
        if np.ptp(np.log10(np.maximum(finite, floor))) < 1.5:
            axes.xaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(plt.NullFormatter())
        axes.grid(axis="y", lw=0.3)
    figure.supxlabel("interval MSE in each test fold (bar: median)", fontsize=9)
    return figure


def _ranks(plt, lines, colours):
    """Critical difference diagram: methods joined by a bar do not differ by Nemenyi's test."""
    names, methods, errors = by_data_set(lines)
    ranks, difference = (
        statistics.average_ranks(errors),
        statistics.critical_difference(len(methods), len(names)),
    )
    order, half = np.argsort(ranks, kind="stable"), -(-len(methods) // 2)
    bars = statistics.alike(ranks, difference)
    figure, axes = plt.subplots(figsize=(8.5, 0.9 + 0.28 * half + 0.12 * len(bars)))
    first_label = 0.35 + 0.16 * len(bars)
    low, high = np.floor(ranks.min()), np.ceil(ranks.max())
    for place, method in enumerate(order):
        on_left = place < half
        height = first_label + 0.34 * (place if on_left else len(methods) - 1 - place)
        edge = low - 0.1 if on_left else high + 0.1
        text = (
            f"{methods[method]} {ranks[method]:.2f}"
            if on_left
            else f"{ranks[method]:.2f} {methods[method]}"
        )
        colour = colours[methods[method]]
        axes.plot([ranks[method], ranks[method], edge], [0, height, height], color=colour, lw=0.9)
        axes.text(
            edge,
            height,
            f"{text} " if on_left else f" {text}",
            ha="right" if on_left else "left",
            va="center",
            color=colour,
        )
    for place, (start, end) in enumerate(bars):
        axes.plot([start - 0.03, end + 0.03], [0.2 + 0.16 * place] * 2, color="black", lw=2.5)
    axes.plot([low, low + difference], [-0.75, -0.75], color="black", lw=1.2, marker="|")
    axes.text(
        low + difference / 2,
        -0.85,
        f"critical difference {difference:.2f}",
        ha="center",
        va="bottom",
        fontsize=8,
    )
    axes.set(
        xlim=(low, high),
        ylim=(first_label + 0.34 * half, -1.3),
        title=f"average rank over {len(names)} data sets",
    )
    axes.xaxis.set_ticks_position("top")
    axes.spines["top"].set(visible=True, position=("data", 0))
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_yticks([])
    return figure


def _times(plt, lines, colours):
    """Seconds of tuning, training and prediction, one dot per data set and fold."""
    figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
    done = {line["method"] for line in lines}
    colours = {method: colour for method, colour in colours.items() if method in done}
    for place, (method, colour) in enumerate(colours.items()):
        seconds = np.maximum(
            _column([line for line in lines if line["method"] == method], "seconds"), 1e-4
        )
        spread = np.linspace(-0.3, 0.3, len(seconds))
        axes.scatter(seconds, place + spread, s=3, color=colour, alpha=0.4, lw=0)
        axes.plot(np.median(seconds), place, "|", color="black", ms=12)
    axes.set(xscale="log", xlabel="seconds to tune, train and predict, one thread (bar: median)")
    axes.set_yticks(range(len(colours)), colours)
    axes.invert_yaxis()
    return figure
