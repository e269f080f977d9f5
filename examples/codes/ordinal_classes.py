"""
Classes with an order
=====================

How far has the disease progressed: mild, moderate, severe, very severe? The ordinal code asks "more
than mild?", "more than moderate?", ... A mistake by one step is better than one by three; the
matrices show where the mistakes are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import cross_val_predict

from polychotomy import KernelLogisticRegression, PolychotomyClassifier

X, progression = load_diabetes(return_X_y=True)
stages = ["mild", "moderate", "severe", "very severe"]
y = np.searchsorted(np.quantile(progression, [0.25, 0.5, 0.75]), progression)

fig, axes = plt.subplots(1, 3, figsize=(11, 4.8), sharey=True, layout="constrained")
machine = KernelLogisticRegression(C=1.0, kernel="linear")
for ax, code in zip(axes, ("ordinal", "one_vs_one", "one_vs_rest"), strict=True):
    clf = PolychotomyClassifier(machine, code=code)
    p = cross_val_predict(clf, X / X.std(), y, cv=5, method="predict_proba")
    counts = confusion_matrix(y, p.argmax(axis=1))
    steps = np.abs(p.argmax(axis=1) - y).mean()
    ax.imshow(counts, cmap="Blues", vmin=0, vmax=90)
    for (i, j), count in np.ndenumerate(counts):
        ax.text(j, i, count, ha="center", va="center", color="white" if count > 55 else "black")
    machines = 3 if code == "ordinal" else 6 if code == "one_vs_one" else 4
    ax.set_title(f"{code.replace('_', ' ')}, {machines} machines\n{steps:.2f} steps off on average")
    ax.set_xticks(range(4), [stage.replace(" ", "\n") for stage in stages])
    ax.set_yticks(range(4), stages)
axes[0].set_ylabel("true stage")
plt.show()
