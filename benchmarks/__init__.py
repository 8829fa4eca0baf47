"""Measurements of marginwood against other libraries: ``python -m benchmarks --help``.

`problems` makes data, `libraries` holds one small adapter per library, `measure` times and weighs,
`tuning` runs the self-tuning tree, `coverage` counts what conformal ranges hold, `works` names what
is measured and against what, `report` writes the csv and prints the table from it. `compare` times
two versions of marginwood against each other, on the cases of `cases`: ``python -m
benchmarks.compare --help``. `paper` holds the experiments of the paper, which have a command of
their own.
"""
