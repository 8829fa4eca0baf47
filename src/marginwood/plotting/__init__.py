"""Pictures of targets, trees, searches, distributions and scores, with matplotlib (the extra ``plot``).

Every function draws into `ax`, or into a new figure of pyplot, and returns the axes.
"""

from marginwood.plotting._curves import plot_quantiles, plot_survival, plot_turnbull
from marginwood.plotting._groups import plot_censored_box
from marginwood.plotting._models import plot_importances, plot_leaderboard, plot_partial_dependence
from marginwood.plotting._scores import plot_calibration, plot_roc
from marginwood.plotting._targets import plot_cost, plot_intervals
from marginwood.plotting._tree import plot_tree
from marginwood.plotting._tuning import plot_margin_heatmap, plot_pruning_path

__all__ = [
    "plot_calibration",
    "plot_censored_box",
    "plot_cost",
    "plot_importances",
    "plot_intervals",
    "plot_leaderboard",
    "plot_margin_heatmap",
    "plot_partial_dependence",
    "plot_pruning_path",
    "plot_quantiles",
    "plot_roc",
    "plot_survival",
    "plot_tree",
    "plot_turnbull",
]
