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
angle = 2 * np.pi * y / 3
along, across = np.random.default_rng(0).normal(size=(2, 150)) * [[1.6], [0.45]]
X = np.c_[
    2 + 1.5 * np.cos(angle) - along * np.sin(angle + 0.95) + across * np.cos(angle + 0.95),
    1.5 + 1.5 * np.sin(angle) + along * np.cos(angle + 0.95) + across * np.sin(angle + 0.95),
]
votes = PolychotomyClassifier(SVM(kernel="linear"), decoder="max_wins").fit(X, y)
coupled = PolychotomyClassifier(SVM(kernel="linear"), decoder="pairwise_coupling").fit(X, y)

grid = np.stack(np.meshgrid(np.linspace(-2, 6, 400), np.linspace(-3, 6, 400)), axis=-1)
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

fig, axes = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True, layout="constrained")
extent = (-2, 6, -3, 6)
shown = 1 - 0.45 * (1 - colours[counts.argmax(axis=0)]).reshape(*grid.shape[:2], 3)
shown[tied] = 0.15
axes[0].imshow(shown, origin="lower", extent=extent, aspect="auto")
axes[0].set_title(f"voting: {tied.mean():.1%} of the picture has no winner (black)")
p = coupled.predict_proba(points)
axes[1].imshow(
    1 - 0.6 * (1 - p @ colours).reshape(*grid.shape[:2], 3),
    origin="lower",
    extent=extent,
    aspect="auto",
)
axes[1].set_title("coupling: colours mixed by the probabilities")
for ax in axes:
    ax.scatter(*X.T, c=colours[y], s=18, edgecolor="black", lw=0.5)
    ax.set(xticks=[], yticks=[], xlim=(-2, 6), ylim=(-3, 6))
plt.show()
