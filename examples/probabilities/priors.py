"""
Other class frequencies in use
==============================

Trained where each class is a third of the rows, used where one class is 90 %. With ``priors`` the
probabilities are corrected, and nothing is trained again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from polychotomy import SVM, PolychotomyClassifier
from polychotomy.plots import ReliabilityDisplay

X, y = make_classification(
    9000, 6, n_informative=4, n_redundant=0, n_classes=3, class_sep=0.8, random_state=1
)
rng = np.random.default_rng(0)
shift = {0: 0.9, 1: 0.05, 2: 0.05}
later = np.arange(600, 9000)
chosen = np.concatenate(
    [rng.choice(later[y[later] == k], int(2500 * share), False) for k, share in shift.items()]
)
fig, axes = plt.subplots(1, 2, figsize=(13, 4.8), sharey=True, layout="constrained")
for ax, priors in zip(axes, (None, shift), strict=True):
    clf = PolychotomyClassifier(SVM(), tempering="auto", priors=priors).fit(X[:600], y[:600])
    p = clf.predict_proba(X[chosen])
    ReliabilityDisplay.from_predictions(y[chosen], p, ax=ax)
    words = "priors given" if priors else "frequencies of training"
    error = np.mean(p.argmax(axis=1) != y[chosen])
    ax.set_title(f"{words}: error {error:.2f}, NLL {log_loss(y[chosen], p):.2f}")
plt.show()
