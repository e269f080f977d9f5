"""
The unclassifiable region of voting
===================================

With three linear machines, one for each pair, there is a triangle in which every class gets one
vote. Voting has to guess there; coupling uses how sure the machines are.
"""

import matplotlib.pyplot as plt
import numpy as np

from polychotomy import SVM, PolychotomyClassifier

# Three long clouds that stand around the middle like the blades of a fan.
y = np.repeat(np.arange(3), 50)
place = 2 * np.pi * y / 3
blade = place - 1.35
along, across = np.random.default_rng(0).uniform(-1, 1, size=(2, 150)) * [[2.5], [0.4]]
X = np.c_[
    2 * np.cos(place) + along * np.cos(blade) - across * np.sin(blade),
    2 * np.sin(place) + along * np.sin(blade) + across * np.cos(blade),
]
svm = SVM(C=10, kernel="linear")
votes = PolychotomyClassifier(svm, decoder="max_wins").fit(X, y)
coupled = PolychotomyClassifier(svm, decoder="pairwise_coupling").fit(X, y)

grid = np.stack(np.meshgrid(np.linspace(-4, 4, 400), np.linspace(-4, 4, 400)), axis=-1)
points = grid.reshape(-1, 2)
positive = votes.binary_scores(points) > 0
counts = np.stack(
    [
        positive[:, 0].astype(int) + positive[:, 1],
        (~positive[:, 0]).astype(int) + positive[:, 2],
        (~positive[:, 1]).astype(int) + ~positive[:, 2],
    ]
)
tied = (counts == 1).all(axis=0).reshape(grid.shape[:2])
colours = np.array([[0.25, 0.56, 0.85], [1.0, 0.66, 0.05], [0.74, 0.12, 0.0]])

fig, axes = plt.subplots(1, 2, figsize=(10, 5), sharey=True, layout="constrained")
extent = (-4, 4, -4, 4)
shown = 1 - 0.45 * (1 - colours[counts.argmax(axis=0)]).reshape(*grid.shape[:2], 3)
shown[tied] = 0.15
axes[0].imshow(shown, origin="lower", extent=extent, aspect="equal")
axes[0].set_title(f"voting: no winner in {tied.mean():.0%} of the picture (dark)")
p = coupled.predict_proba(points)
axes[1].imshow(
    1 - 0.6 * (1 - p @ colours).reshape(*grid.shape[:2], 3),
    origin="lower",
    extent=extent,
    aspect="equal",
)
axes[1].set_title("coupling: colours mixed by the probabilities")
for ax in axes:
    ax.scatter(*X.T, c=colours[y], s=18, edgecolor="black", lw=0.5)
    ax.set(xticks=[], yticks=[], xlim=(-4, 4), ylim=(-4, 4))
plt.show()
