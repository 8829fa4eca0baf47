"""
Brackets: what does a household earn?
=====================================

Surveys ask for brackets of income, because people answer that. **A city wants to write to
households that probably earn less than 20,000 dollars, and knows only age, education and a few
habits. To whom?**
"""

# %%
# The table
# ---------
# 944 voters of the American National Election Study of 1996 chose one of 24 brackets. The highest one is open.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.ensemble import RandomForestRegressor

from marginwood import IntervalSearchCV, MaxMarginIntervalForest, MaxMarginIntervalTree
from marginwood.datasets import load_incomes
from marginwood.metrics import interval_d2_score
from marginwood.plotting import plot_tree

voters = load_incomes()
known = [voters.feature_names.index(name) for name in ("popul", "TVnews", "age", "educ")]
names = [voters.feature_names[idx] for idx in known]
X, y = voters.X[:, known], voters.y / 1000
print(names)
print(y[[0, 400, 943]])  # from the lower end to under the upper one

# %%
# A model, and a picture of it
# ----------------------------
# The tree chooses its margin and its size by cross-validation; ``selection="1se"`` takes the smallest
# one that is about as good as the best.

half = np.arange(len(X)) % 2 == 0
search = IntervalSearchCV(
    MaxMarginIntervalTree(min_samples_leaf=20), {"margin": 5, "anchor": [0]}, selection="1se"
).fit(X[half], y[half])
ax = plot_tree(search, X[half], y[half], feature_names=names)

# %%
# Education runs from 1 to 7, 6 is a master's degree. Beside each leaf lie its brackets; an arrow is the open one.
#
# What if one had taken the middles of the brackets as the truth, and 105 for the open one? An ordinary forest has
# to reproduce those middles; its error is measured against the brackets, on the other half of the voters.

middles = np.where(np.isinf(y[:, 1]), 105.0, y.mean(axis=1))
plain = RandomForestRegressor(min_samples_leaf=10, max_features=1 / 3, random_state=0).fit(
    X[half], middles[half]
)
forest = MaxMarginIntervalForest(min_samples_leaf=10, random_state=0).fit(X[half], y[half])
for name, model in {
    "tree": search,
    "forest on middles": plain,
    "forest on brackets": forest,
}.items():
    print(f"{name:19} D2 {interval_d2_score(y[~half], model.predict(X[~half])):.3f}")

# %%
# With brackets this narrow, middles do little harm. What they cannot give is the open end, and what follows: an
# honest distribution.
#
# The decision
# ------------
# The forest predicts for each household the probability of less than 20,000 dollars. The city can afford 100
# letters, and writes to those for whom it is greatest.

probability = 1 - forest.predict_survival_function(X[~half], [20.0])[:, 0]
chosen = np.argsort(-probability, kind="stable")[:100]
certainly_poor = y[~half][:, 1] <= 20
n_reached, n_at_random = certainly_poor[chosen].sum(), 100 * certainly_poor.mean()
print(
    f"of 100 letters {n_reached} reach a household below 20,000 dollars; at random {n_at_random:.0f} would"
)

fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
tenth = np.floor(probability * 10) / 10 + 0.05  # the middle of the tenth that a probability lies in
places = [place for place in np.unique(tenth) if (tenth == place).sum() >= 10]
share = [certainly_poor[tenth == place].mean() for place in places]
ax.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
ax.plot(places, share, marker="o", color="#c8442f")
ax.set(
    xlabel="predicted probability of less than 20,000 dollars",
    ylabel="share that answered so",
    xlim=(0, 1),
    ylim=(0, 1),
)
ax.spines[["top", "right"]].set_visible(False)
