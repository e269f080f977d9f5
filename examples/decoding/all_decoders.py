"""
Decision regions of all decoders on one data set
================================================

The machines are the same in every picture, a support vector machine for each pair of five classes.
Only the decoder differs. Colours are fainter where the chosen class is less probable.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs
from sklearn.preprocessing import scale

from polychotomy import SVM, PolychotomyClassifier
from polychotomy.plots import DecisionRegionDisplay

X, y = make_blobs(200, centers=5, cluster_std=1.8, random_state=6)
X = scale(X)
decoders = [
    "max_wins",
    "weighted_voting",
    "decision_graph",
    "binary_tree",
    "valued_preference",
    "non_dominance",
    "pairwise_coupling",
    "code_coupling",
    "soft_max",
]
fig, axes = plt.subplots(3, 3, figsize=(10, 9), sharex=True, sharey=True, layout="constrained")
for ax, decoder in zip(axes.flat, decoders, strict=True):
    clf = PolychotomyClassifier(SVM(C=3), decoder=decoder).fit(X, y)
    DecisionRegionDisplay.from_estimator(clf, X, y, ax=ax, grid_size=80)
    if ax.get_legend():
        ax.get_legend().remove()
    ax.set(title=decoder.replace("_", " "), xlabel="", ylabel="", xticks=[], yticks=[])
plt.show()

# %%
# Far from the boundaries all agree. The decoders differ in the middle, where no class wins all of
# its pairs.
