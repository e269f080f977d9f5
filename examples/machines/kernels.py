"""
Kernels
=======

The same pipe with five kernels: an SVM for each pair, coupled. Colours are fainter where the
class is less probable.
"""

import matplotlib.pyplot as plt
import numpy as np

from polychotomy import SVM, PolychotomyClassifier
from polychotomy.plots import DecisionRegionDisplay

rng = np.random.default_rng(0)
angle = np.repeat(np.arange(3), 60) * 2 * np.pi / 3 + np.tile(np.linspace(0, 3.5, 60), 3)
radius = np.tile(np.linspace(0.3, 2.2, 60), 3)
X = np.c_[radius * np.cos(angle), radius * np.sin(angle)] + rng.normal(0, 0.13, (180, 2))
y = np.repeat(["red", "green", "blue"], 60)

kernels = {
    "linear": SVM(kernel="linear"),
    "polynomial, degree 3": SVM(kernel="poly", degree=3, coef0=1, C=5),
    "Gaussian, wide": SVM(gamma=0.3, C=5),
    "Gaussian": SVM(gamma=3, C=5),
    "Laplacian": SVM(kernel="laplacian", gamma=1.5, C=5),
    "Gaussian, narrow": SVM(gamma=60, C=5),
}
fig, axes = plt.subplots(2, 3, figsize=(11, 7.2), sharex=True, sharey=True, layout="constrained")
for ax, (name, machine) in zip(axes.flat, kernels.items(), strict=True):
    clf = PolychotomyClassifier(machine).fit(X, y)
    DecisionRegionDisplay.from_estimator(clf, X, y, ax=ax, grid_size=90)
    if ax.get_legend():
        ax.get_legend().remove()
    ax.set(title=f"{name}: {clf.score(X, y):.2f}", xlabel="", ylabel="", xticks=[], yticks=[])
plt.show()
