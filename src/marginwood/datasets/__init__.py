"""Interval targets: small real data sets, downloads, simulations with a known signal, and files."""

from marginwood.datasets._fetched import fetch_paper_data, fetch_survival_data
from marginwood.datasets._files import load_folder, load_npz
from marginwood.datasets._real import (
    load_atrazine,
    load_botulinum,
    load_diabetic_nephropathy,
    load_gbsg2,
    load_incomes,
    load_mercury,
    load_trichloroethylene,
)
from marginwood.datasets._simulated import (
    make_absolute,
    make_intervals_from_regression,
    make_linear,
    make_sine,
)

__all__ = [
    "fetch_paper_data",
    "fetch_survival_data",
    "load_atrazine",
    "load_botulinum",
    "load_diabetic_nephropathy",
    "load_folder",
    "load_gbsg2",
    "load_incomes",
    "load_mercury",
    "load_npz",
    "load_trichloroethylene",
    "make_absolute",
    "make_intervals_from_regression",
    "make_linear",
    "make_sine",
]
