"""
Tempering, before and after
===========================

Coupled probabilities can be too timid or too bold as a whole. Tempering is one last stage that
learns this from rows that machines, sigmoids and coupling have not seen.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from polychotomy import ProbabilisticSVC
from polychotomy.plots import ReliabilityDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, train_size=400, random_state=0)

fig, axes = plt.subplots(1, 2, figsize=(13, 4.8), sharey=True, layout="constrained")
for ax, tempering in zip(axes, (None, "auto"), strict=True):
    clf = ProbabilisticSVC(C=5, tempering=tempering).fit(X_train, y_train)
    p = clf.predict_proba(X_test)
    ReliabilityDisplay.from_predictions(y_test, p, show=[], ax=ax)
    words = "after tempering" if tempering else "as coupled"
    ax.set_title(f"{words}: negative log-likelihood {log_loss(y_test, p):.3f}")
plt.show()

# %%
# Ten classes and forty-five smoothed sigmoids make coupled probabilities too timid: of the rows
# at 70 %, nearly all are right. Tempering moves the curve to the diagonal, and changes hardly a
# class.
