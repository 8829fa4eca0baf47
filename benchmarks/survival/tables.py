"""The results of `early` and `survival` as Markdown, for docs/survival.md.

``python -m benchmarks.survival.tables`` reads the csv files that these works left in build/,
however far they got, and writes the tables between the marks of that page. Of the comparison, folds
count that all methods have finished.
"""

import csv
import re
import sys
from pathlib import Path

import numpy as np

from benchmarks.survival import compare, early

PAGE = Path("docs/survival.md")
BUILD = Path("build")
HEADINGS = {
    "concordance": "C-index",
    "brier": "Brier score",
    "log_loss": "log loss",
    "seconds": "CPU seconds",
}


def _read(name):
    with (BUILD / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def early_table():
    """One line per method: bias and error by share of censored rows."""
    found = {}
    for line in _read("early"):
        values = [float(line[name]) for name in ("bias", "rmse", "seconds")]
        found.setdefault((line["method"], line["censored"]), []).append(values)
    shares = list(early.MEAN_FOLLOW_UP)
    lines = [["", *(f"{share} censored" for share in shares), "CPU seconds"]]
    for method in early.METHODS:
        means = [
            np.mean(found[method, share], axis=0) for share in shares if (method, share) in found
        ]
        if len(means) == len(shares):
            cells = [f"{bias:+.3f}, {error:.3f}" for bias, error, _ in means]
            name = f"**{method}**" if method == early.CHOSEN else method
            lines.append([name, *cells, f"{np.mean([seconds for _, _, seconds in means]):.1f}"])
    return lines


def survival_table(score):
    """One line per set, one column per method; the best is bold."""
    found = compare.read(BUILD / "survival.csv")
    sets = list(dict.fromkeys(name for name, _ in found))
    methods = list(dict.fromkeys(method for _, method in found))
    lines = [[HEADINGS[score], *methods]]
    for name in sets:
        values = [found.get((name, method), {}).get(score, np.nan) for method in methods]
        known = [value for value in values if not np.isnan(value)]
        best = max(known) if score == "concordance" else min(known)
        digits = 2 if score == "seconds" else 3
        cells = ["" if np.isnan(value) else f"{value:.{digits}f}" for value in values]
        lines.append(
            [name, *(f"**{cell}**" if cell == f"{best:.{digits}f}" else cell for cell in cells)]
        )
    return lines


def as_markdown(lines):
    """A table whose first line is its head."""
    head, *rows = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([head, "|" + "---|" * len(lines[0]), *rows])


def main():
    text = PAGE.read_text(encoding="utf-8")
    tables = {"early": as_markdown(early_table())}
    tables |= {score: as_markdown(survival_table(score)) for score in HEADINGS}
    for name, table in tables.items():
        mark = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not mark.search(text):
            sys.exit(f"{PAGE}: expected the mark <!-- {name} -->")
        text = mark.sub(lambda found, table=table: f"{found[1]}\n{table}\n\n{found[2]}", text)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
