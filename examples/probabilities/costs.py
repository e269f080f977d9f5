"""
Decisions by cost
=================

To miss the red class costs ten times as much as any other mistake. The classifier is trained
once; the decision takes the class of smallest expected cost, and asks a person where even that
is more than the person costs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from polychotomy import ProbabilisticSVC

X, y = make_blobs(300, centers=[[-2, 0], [2, 0], [0, 3]], cluster_std=1.3, random_state=2)
clf = ProbabilisticSVC().fit(X, y)
side = np.linspace(-6, 6, 220), np.linspace(-4, 7, 220)
grid = np.stack(np.meshgrid(*side), axis=-1)
p = clf.predict_proba(grid.reshape(-1, 2))

plain = 1.0 - np.eye(3)
costly = plain.copy()
costly[2] *= 10  # a row is the true class, a column the decision
colours = np.array([[0.55, 0.75, 0.93], [1.0, 0.85, 0.5], [0.9, 0.55, 0.5], [0.35, 0.35, 0.35]])
cases = [
    ("every mistake costs 1", plain, np.inf),
    ("to miss red costs 10", costly, np.inf),
    ("... and asking a person (dark) 0.8", costly, 0.8),
]
fig, axes = plt.subplots(1, 3, figsize=(12, 4.2), sharey=True, layout="constrained")
for ax, (title, cost, price) in zip(axes, cases, strict=True):
    expected = p @ cost
    decision = np.where(expected.min(axis=1) > price, 3, expected.argmin(axis=1))
    picture = colours[decision].reshape(*grid.shape[:2], 3)
    ax.imshow(picture, origin="lower", extent=(-6, 6, -4, 7), aspect="auto")
    ax.scatter(*X.T, c=colours[y] * 0.75, s=14, edgecolor="black", lw=0.4)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
