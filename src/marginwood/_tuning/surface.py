"""Candidates of a search as a *surface*: by margin and another parameter, on levels that all margins share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marginwood.intervals import BoolArray, FloatArray, IntArray

__all__ = ["Surface", "make_surface", "surface_levels"]

MOST_LEVELS = 40  # of a surface, beside 0 and infinity


class Surface(NamedTuple):
    """Candidates by margin and level, which is an alpha or another parameter."""

    margins: FloatArray
    candidates: IntArray  # a row per margin, a column per level; -1 where no candidate is near
    chosen: tuple[int, int] | None  # row and column of the chosen candidate


def surface_levels(level: FloatArray) -> FloatArray:
    """The columns of a surface: all levels, or a geometric series if they are many."""
    levels = np.unique(level)
    inner = levels[(levels > 0) & np.isfinite(levels)]
    if len(inner) <= MOST_LEVELS:
        return levels
    series = np.geomspace(inner[0], inner[-1], MOST_LEVELS)
    if np.all(inner == inner.round()):
        series = series.round()
    return np.unique(np.concatenate([levels[levels <= 0], series, levels[np.isinf(levels)]]))


def make_surface(
    margin: FloatArray,
    level: FloatArray,
    score: FloatArray,
    is_chosen: BoolArray,
    levels: FloatArray,
    reach: float = np.inf,
) -> Surface:
    """For every margin and level the candidate whose own level is nearest, on a log scale and within reach.

    Of equally near ones it is the best, save that the chosen candidate always has a cell.
    """
    margins, places, chosen = np.unique(margin), _log_places(levels, levels), None
    candidates = np.empty((len(margins), len(levels)), np.int64)
    for row, value in enumerate(margins):
        own = np.flatnonzero(margin == value)
        own = own[np.argsort(-score[own], kind="stable")]
        distance = np.abs(places[:, np.newaxis] - _log_places(level[own], levels))
        nearest = distance.min(axis=1)
        best = own[(distance <= nearest[:, np.newaxis] + 1e-9).argmax(axis=1)]
        candidates[row] = np.where(nearest <= reach, best, -1)
        for place in np.flatnonzero(is_chosen[own]):
            chosen = row, int(distance[:, place].argmin())
            candidates[chosen] = own[place]
    return Surface(margins, candidates, chosen)


def _log_places(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Values on a log scale, with 0 and infinity a step of 1 beyond all other levels."""
    inner = levels[(levels > 0) & np.isfinite(levels)]
    least, most = np.log10([inner.min(), inner.max()]) if len(inner) else (0.0, 0.0)
    with np.errstate(divide="ignore"):
        return np.clip(np.log10(np.maximum(values, 0.0)), least - 1, most + 1)
