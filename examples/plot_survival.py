"""
Survival: who needs to be seen more often?
==========================================

After surgery for breast cancer, women come back for check-ups. Visits are scarce. **Which women
should be seen more often, and when?**
"""

# %%
# The table
# ---------
# The German Breast Cancer Study Group followed 686 women. For 299 the cancer came back (or they died) on a known
# day; for the others nothing had happened when they were last seen, so all that is known is *later than that*: an
# interval that is open above.

import numpy as np
from matplotlib import pyplot as plt

from marginwood import MaxMarginIntervalForest, MaxMarginIntervalTree
from marginwood.datasets import load_gbsg2
from marginwood.distributions import turnbull
from marginwood.export import to_rules
from marginwood.metrics import interval_concordance_index

women = load_gbsg2()
X, years = women.X, women.y / 365.25
print(women.feature_names)
print(years[[0, 1, 6]].round(2), f"\nopen above: {np.isinf(years[:, 1]).mean():.0%}")

# %%
# A model to read
# ---------------
# A tree of four leaves, with at least 40 women in each, finds the groups.

tree = MaxMarginIntervalTree(max_leaf_nodes=4, min_samples_leaf=40).fit(X, years)
print(*to_rules(tree, feature_names=women.feature_names), sep="\n")

# %%
# Two facts decide: positive lymph nodes (``pnodes``) and progesterone receptors (``progrec``). The numbers are
# years, but early ones: a woman who is last seen well after five years is satisfied by any prediction above five.
# For the question *when* we need curves.
#
# The picture
# -----------
# In each leaf the women's intervals give a curve, without any assumption on its shape. For labels that are exact or
# open above it is the one of Kaplan and Meier.

groups = tree.apply(X)
leaves = sorted(
    set(groups.tolist()), key=lambda leaf: tree.predict(X[groups == leaf])[0]
)  # the shortest times first
texts = [
    "> 4 nodes, few receptors",
    "1 to 4 nodes, few receptors",
    "> 4 nodes, more receptors",
    "1 to 4 nodes, more receptors",
]
curves = {text: turnbull(years[groups == leaf]) for leaf, text in zip(leaves, texts, strict=True)}

times = np.linspace(0, 6, 300)
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
colors = plt.get_cmap("viridis")(np.linspace(0, 0.85, len(curves)))
for (text, curve), color in zip(curves.items(), colors, strict=True):
    ax.step(
        times, curve.sf(times, bound="lower"), where="post", color=color, linewidth=2, label=text
    )
ax.axhline(0.8, color="0.6", linewidth=0.8, linestyle="--")
ax.set(xlabel="years after surgery", ylabel="share without recurrence", ylim=(0, 1.02), xlim=(0, 6))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower left")

# %%
# How good is that? A forest orders women better than the small tree, on women that it has not seen. The tree is
# what a clinic can put on a wall.

half = np.arange(len(X)) % 2 == 0
forest = MaxMarginIntervalForest(min_samples_leaf=20, random_state=0)
for name, model in {
    "tree": MaxMarginIntervalTree(max_leaf_nodes=4, min_samples_leaf=40),
    "forest": forest,
}.items():
    predicted = model.fit(X[half], years[half]).predict(X[~half])
    print(f"{name:7} concordance {interval_concordance_index(years[~half], predicted):.2f}")

# %%
# The decision
# ------------
# When has one woman in five had a recurrence?

for text, curve in curves.items():
    print(f"{text:28} one in five within {curve.quantile(0.2, bound='lower'):.1f} years")

# %%
# Women with more than four positive nodes and few receptors reach that point within a year; those with few nodes
# and more receptors only after three. The first group gets a visit every three months, the last one every year.
#
# For a single woman, the forest draws her own curve: ``forest.predict_survival_function(X[:1], [1, 3, 5])``.
