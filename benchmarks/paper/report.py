"""Tables of the accuracy experiment, as csv and as Markdown on the screen."""

import csv

import numpy as np

from benchmarks.paper import statistics
from benchmarks.paper.accuracy import by_data_set

REFERENCE = "Constant"
COMPARED = ("super learner", "MMIT, taught", "MMIT")
OUTSIDE = ("AFT logistic", "AFT normal")
LEAST = (
    1e-3  # of the constant's error, added before geometric means, because some errors are nearly 0
)
PAIRED = ("method", "against", "better", "worse", "p (Wilcoxon)")


def relative_errors(lines):
    """Names, methods, and the MSE of each method as a share of the constant's."""
    names, methods, errors = by_data_set(lines)
    reference = errors[:, [methods.index(REFERENCE)]]
    return names, methods, errors / np.where(reference > 0, reference, 1.0)


def write(lines, folder):
    """Summary of each method and paired tests over the data sets that are complete."""
    names, methods, _ = by_data_set(lines)
    if not names or REFERENCE not in methods:
        print(
            "accuracy: no data set is complete yet"
            if not names
            else f"accuracy: tables need the method {REFERENCE}"
        )
        return
    names, methods, errors = relative_errors(lines)
    print(f"{len(names)} data sets, {len(methods)} methods")
    if len(names) > 1:
        result = statistics.friedman(errors)
        difference = statistics.critical_difference(len(methods), len(names))
        print(
            f"Friedman {result.statistic:.1f}, p = {result.pvalue:.2g}; critical difference of ranks {difference:.2f}"
        )
    rows = list(_summary([line for line in lines if line["data set"] in names], errors))
    _write(folder / "summary.csv", tuple(rows[0]), [tuple(row.values()) for row in rows])
    _write(folder / "paired.csv", PAIRED, _paired(methods, errors))


def _summary(lines, errors):
    _, methods, inside = by_data_set(lines, "accuracy")
    ranks, is_best = statistics.average_ranks(errors), errors == errors.min(axis=1, keepdims=True)
    for column in np.argsort(ranks, kind="stable"):
        mine = [line for line in lines if line["method"] == methods[column]]
        row = {
            "method": methods[column],
            "average rank": f"{ranks[column]:.2f}",
            "median MSE / constant": f"{np.median(errors[:, column]):.3f}",
            "best on": int(is_best[:, column].sum()),
        }
        for name in (name for name in OUTSIDE if name in methods):
            other = errors[:, methods.index(name)]
            ratios = (errors[:, column] + LEAST) / (other + LEAST)
            row[f"geometric mean / {name}"] = f"{np.exp(np.log(ratios).mean()):.2f}"
            row[f"better than {name}"] = int((errors[:, column] < other).sum())
        yield row | {
            "inside interval": f"{inside[:, column].mean():.1%}",
            "seconds": f"{sum(float(line['seconds']) for line in mine):.0f}",
            "failed folds": sum(line["mse"] == "inf" for line in mine),
        }


def _paired(methods, errors):
    for ours in (name for name in COMPARED if name in methods):
        column = methods.index(ours)
        for other, name in enumerate(methods):
            if other != column:
                better, worse, p_value = statistics.paired_test(errors[:, column], errors[:, other])
                yield ours, name, better, worse, f"{p_value:.2g}"


def _write(path, columns, rows):
    rows = [columns, *rows]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    print()
    for row in [columns, ["---"] * len(columns), *rows[1:]]:
        print("| " + " | ".join(map(str, row)) + " |")
