"""
Detection limits: which fish are safe to eat?
=============================================

Mercury builds up in fish. Above 0.3 micrograms per gram the United States Environmental Protection
Agency advises against eating it [1]_. **Where, and how large, are the fish that exceed it?**
"""

# %%
# The table
# ---------
# A study of rivers in the United States measured 133 fish. In 15 of them mercury was below what the laboratory
# could detect, at one of three limits: the label is an interval that is open below.

import numpy as np
from matplotlib import pyplot as plt

from marginwood import MaxMarginIntervalForest, MaxMarginIntervalTree, TransformedIntervalRegressor
from marginwood.datasets import load_mercury
from marginwood.export import to_rules

fish = load_mercury()
X, y = fish.X, fish.y
is_below = np.isinf(y[:, 0])
print(fish.feature_names)
print(y[:2], y[is_below][:2], np.unique(y[is_below, 1]))

# %%
# A common habit is to put half of the limit in place of the unknown value, or to drop the row. Both invent data:
# dropping the cleanest fish makes rivers look dirtier than they are.
#
# A model to read
# ---------------
# Concentrations differ by factors, so the tree learns their logarithm. An open end stays open. In the frame, species
# and land use are columns of categories, and the tree may send any set of them to one side.

table = load_mercury(as_frame=True).X
log_tree = TransformedIntervalRegressor(
    MaxMarginIntervalTree(max_leaf_nodes=4, min_samples_leaf=8), func="log"
).fit(table, y)
for rule in to_rules(log_tree.regressor_):
    print(
        " and ".join(str(condition) for condition in rule.conditions),
        f"-> {np.exp(rule.value):.2f} ug/g, {rule.n_samples} fish",
    )

# %%
# Methylmercury in the water (``WatMeHg``, nanograms per litre) says most. Where there is much of it, the weight of
# the fish (in grams) decides; where there is little, the species. That is what biology expects: mercury enters with
# the water and builds up with age and along the food chain. Carp, sunfish and sculpins feed lower in it than bass,
# walleye and pickerel.
#
# The picture
# -----------
# For advice we need a probability, not a number. A forest on all features predicts a distribution for each fish;
# here for fish of growing weight in clean and in polluted water, all else as it was.

forest = TransformedIntervalRegressor(
    MaxMarginIntervalForest(200, min_samples_leaf=5, random_state=0), func="log"
).fit(X, y)
weight, water = fish.feature_names.index("Weight"), fish.feature_names.index("WatMeHg")
grid = np.geomspace(30, 3000, 25)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.scatter(X[~is_below, weight], y[~is_below, 0], s=14, color="#5b84c4", label="measured")
left.scatter(
    X[is_below, weight],
    y[is_below, 1],
    s=40,
    marker=r"$\downarrow$",
    color="#c8442f",
    label="below the limit",
)
left.axhline(0.3, color="0.5", linewidth=0.8, linestyle="--")
left.set(
    xscale="log",
    yscale="log",
    xlabel="weight, g",
    ylabel="mercury, ug/g",
    title="133 fish; dashed: the advice",
)
left.legend(frameon=False)
exceeds = {}
for share, color, name in ((0.2, "#2a788e", "clean"), (0.9, "#c8442f", "polluted")):
    rows = np.tile(X, (len(grid), 1))
    rows[:, weight] = np.repeat(grid, len(X))
    rows[:, water] = np.nanquantile(X[:, water], share)
    exceeds[name] = (
        forest.predict_survival_function(rows, [0.3])[:, 0].reshape(len(grid), -1).mean(axis=1)
    )
    right.plot(
        grid,
        exceeds[name],
        color=color,
        linewidth=2,
        label=f"{name} water ({rows[0, water]:.2f} ng/L)",
    )
right.set(
    xscale="log",
    ylim=(0, 1),
    xlabel="weight, g",
    ylabel="probability of more than 0.3 ug/g",
    title="by the forest",
)
right.legend(frameon=False)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)

# %%
# The decision
# ------------
# Advise against a fish where the probability exceeds a half, and to eat it seldom where it exceeds a quarter.

for name, probability in exceeds.items():
    for advice, level in (("do not eat", 0.5), ("eat seldom", 0.25)):
        heavy = grid[probability > level]
        print(f"{name} water, {advice}:", f"from {heavy[0]:.0f} g" if len(heavy) else "no weight")

# %%
# Where the water holds little methylmercury, only heavy fish call for restraint; where it holds much, all fish of
# these kinds do. Values below the limit have contributed exactly what is known about them.
#
# .. [1] U.S. EPA, "Water quality criterion for the protection of human health: methylmercury", EPA-823-R-01-001
#    (2001).
