"""Data with real censoring that other libraries carry: times, some of them right- or interval-censored.

Categories become indicators and missing features medians, because not every library takes them as
they are.
"""

from typing import NamedTuple

import numpy as np

from marginwood import from_events, make_intervals


class SurvivalSet(NamedTuple):
    """Features and intervals of times; `events` are those of a right-censored set, or None."""

    name: str
    X: np.ndarray
    y: np.ndarray
    events: np.ndarray | None = None

    @property
    def times(self):
        """The times of a right-censored set."""
        return self.y[:, 0]


def _numbers(frame):
    import pandas as pd

    frame = pd.get_dummies(frame, drop_first=True).astype(float)
    return frame.fillna(frame.median()).to_numpy()


def _right_censored(name, frame, time, event):
    time, event = np.asarray(time, float), np.asarray(event, bool)
    return SurvivalSet(name, _numbers(frame), from_events(time, event), event)


def load_sets():
    """Yield the sets."""
    import lifelines.datasets
    from sksurv import datasets

    loaders = {
        "gbsg2": datasets.load_gbsg2,
        "whas500": datasets.load_whas500,
        "veteran": datasets.load_veterans_lung_cancer,
    }
    for name, load in loaders.items():
        frame, target = load()
        event, time = target.dtype.names
        yield _right_censored(name, frame, target[time], target[event])
    lung = lifelines.datasets.load_lung()
    yield _right_censored(
        "lung", lung.drop(columns=["inst", "time", "status"]), lung["time"], lung["status"] == 1
    )
    diabetes = lifelines.datasets.load_diabetes()
    yield SurvivalSet(
        "diabetes", _numbers(diabetes[["gender"]]), diabetes[["left", "right"]].to_numpy(float)
    )
    mice = lifelines.datasets.load_mice()
    yield SurvivalSet("mice", _numbers(mice[["grp"]]), mice[["l", "u"]].to_numpy(float))
    lag = lifelines.datasets.load_c_botulinum_lag_phase()
    ends = lag[["lower_bound_days", "upper_bound_days"]].to_numpy(float)
    yield SurvivalSet("botulinum", _numbers(lag[["NaCl_percent", "pH"]]), ends)
    ammonium = lifelines.datasets.load_nh4()
    measured = ammonium["NH4.mg.per.L"].to_numpy(float)
    is_below = ammonium["Censored"].to_numpy(bool)
    # Less than the limit, and no concentration is 0.
    closed = np.where(is_below, "neither", "right")
    target = make_intervals(np.where(is_below, 0.0, measured), measured, closed=closed)
    week = ammonium["Week"].to_numpy(float)
    season = 2 * np.pi * (week % 52) / 52
    features = np.column_stack([week, np.cos(season), np.sin(season)])
    yield SurvivalSet("nh4", features, target)
