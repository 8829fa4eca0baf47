"""Rows to csv, csv to table."""

import csv

COLUMNS = ("work", "against", "measured", "reference", "unit", "ratio", "target", "met")


def write_csv(rows, path):
    """One line per ratio, flushed as it is measured: a long run that is stopped keeps what it has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in rows:
            met = "yes" if row.ratio <= row.target else "no"
            figures = (
                f"{row.measured:.6g}",
                f"{row.reference:.6g}",
                row.unit,
                f"{row.ratio:.3g}",
                row.target,
                met,
            )
            writer.writerow((row.work, row.against, *figures))
            file.flush()


def print_table(path):
    """The csv as aligned text."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [
            [row[name] for name in ("work", "against", "ratio", "target", "met")]
            for row in csv.DictReader(file)
        ]
    table = [["work", "against", "ratio", "target", "met"], *rows]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    table.insert(1, ["-" * width for width in widths])
    for row in table:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
