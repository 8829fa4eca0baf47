"""The table of a super learner's models."""

from __future__ import annotations

from typing import Any, NamedTuple

from marginwood._support.text import one_line
from marginwood.intervals import FloatArray

__all__ = ["Leaderboard"]


class Leaderboard(NamedTuple):
    """Models, the best first; ``print`` shows it, and ``pandas.DataFrame(table.to_dict())`` takes it.

    Attributes
    ----------
    names : list of str
        The models. Those that were not finished in time come last.
    scores : ndarray of shape (n_models,)
        Scores of the predictions of rows that a model has not seen; greater is better, NaN if it
        was not finished.
    weights : ndarray of shape (n_models,)
        Their weights in the mixture.
    seconds : ndarray of shape (n_models,)
        How long their fits took, all folds together; what was given up does not count.
    """

    names: list[str]
    scores: FloatArray
    weights: FloatArray
    seconds: FloatArray

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns by name, each a list with an entry per model.

        Returns
        -------
        dict of list
            ``name``, ``score``, ``weight`` and ``seconds``.
        """
        return {
            "name": list(self.names),
            "score": self.scores.tolist(),
            "weight": self.weights.tolist(),
            "seconds": self.seconds.tolist(),
        }

    def __str__(self) -> str:
        names = [one_line(name) for name in self.names]
        width = max(map(len, names))
        lines = [f"{'':{width}}{'score':>12}{'weight':>9}{'seconds':>10}"]
        for name, score, weight, seconds in zip(
            names, self.scores, self.weights, self.seconds, strict=True
        ):
            lines.append(f"{name:{width}}{score:12.4g}{weight:9.3f}{seconds:10.2f}")
        return "\n".join(lines)
