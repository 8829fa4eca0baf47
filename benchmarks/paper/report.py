"""Tables of the accuracy experiment, as csv and as Markdown on the screen."""

import csv

import numpy as np

from benchmarks.paper import statistics
from benchmarks.paper.accuracy import by_data_set

REFERENCE = "Constant"
COMPARED = ("super learner", "MMIT")
SUMMARY = ("method", "average rank", "median MSE / constant", "best on", "inside interval", "seconds", "failed folds")
PAIRED = ("method", "against", "better", "worse", "p (Wilcoxon)")


def relative_errors(lines):
    """Names, methods, and the MSE of each method as a share of the constant's."""
    names, methods, errors = by_data_set(lines)
    reference = errors[:, [methods.index(REFERENCE)]]
    return names, methods, errors / np.where(reference > 0, reference, 1.0)


def write(lines, folder):
    """Summary of each method and paired tests over the data sets that are complete."""
    if not by_data_set(lines)[0]:
        print("accuracy: no data set is complete yet")
        return
    names, methods, errors = relative_errors(lines)
    print(f"{len(names)} data sets, {len(methods)} methods")
    if len(names) > 1:
        result = statistics.friedman(errors)
        difference = statistics.critical_difference(len(methods), len(names))
        print(
            f"Friedman {result.statistic:.1f}, p = {result.pvalue:.2g}; critical difference of ranks {difference:.2f}"
        )
    _write(folder / "summary.csv", SUMMARY, _summary([line for line in lines if line["data set"] in names], errors))
    _write(folder / "paired.csv", PAIRED, _paired(methods, errors))


def _summary(lines, errors):
    _, methods, inside = by_data_set(lines, "accuracy")
    ranks, is_best = statistics.average_ranks(errors), errors == errors.min(axis=1, keepdims=True)
    for column in np.argsort(ranks, kind="stable"):
        mine = [line for line in lines if line["method"] == methods[column]]
        yield (
            methods[column],
            f"{ranks[column]:.2f}",
            f"{np.median(errors[:, column]):.3f}",
            int(is_best[:, column].sum()),
            f"{inside[:, column].mean():.1%}",
            f"{sum(float(line['seconds']) for line in mine):.0f}",
            sum(line["mse"] == "inf" for line in mine),
        )


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
