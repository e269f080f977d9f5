"""
Calibrators compared
====================

The scores of an SVM are no probabilities. Platt's sigmoid, a sigmoid with a slope shared by all
pairs, and isotonic regression turn them into some. Below 3,000 test rows show how reliable they
are after coupling, with 400 and with 1,500 training rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from polychotomy import SVM, PolychotomyClassifier
from polychotomy.plots import reliability_curves

X, y = make_classification(
    4500, 8, n_informative=5, n_redundant=0, n_classes=4, class_sep=0.9, flip_y=0.1, random_state=0
)
X_test, y_test = X[1500:], y[1500:]
fig, axes = plt.subplots(1, 2, figsize=(10, 4.8), sharey=True, layout="constrained")
for ax, n in zip(axes, (400, 1500), strict=True):
    ax.plot([0, 1], [0, 1], color="grey", lw=1)
    for calibrator, marker in (("platt", "o"), ("pooled_platt", "s"), ("isotonic", "^")):
        clf = PolychotomyClassifier(SVM(C=1), calibrator=calibrator).fit(X[:n], y[:n])
        p = clf.predict_proba(X_test)
        curve = reliability_curves(y_test, p, clf.classes_).confidence
        label = f"{calibrator.replace('_', ' ')}: NLL {log_loss(y_test, p):.3f}"
        ax.plot(curve.predicted, curve.observed, marker + "-", label=label)
    ax.set(title=f"{n} training rows", xlabel="probability of the predicted class", xlim=(0.2, 1))
    ax.legend(loc="upper left")
axes[0].set_ylabel("how often it is right")
plt.show()
