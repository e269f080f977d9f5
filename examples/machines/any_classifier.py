"""
Any classifier is a machine
===========================

A code and a decoder around scikit-learn's own classifiers: trees, neighbours and linear models get
class probabilities from pairs. Beside each is the classifier alone.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from polychotomy import PolychotomyClassifier

X, y = load_digits(return_X_y=True)
X, y = X[:700] / 16, y[:700]
learners = {
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "10 neighbours": KNeighborsClassifier(10),
    "naive Bayes": GaussianNB(var_smoothing=1e-2),
    "logistic": LogisticRegression(C=0.1, max_iter=300),
}
alone, coupled = [], []
for learner in learners.values():
    pairs = PolychotomyClassifier(clone(learner), calibrator="platt", tempering="auto")
    for clf, scores in ((learner, alone), (pairs, coupled)):
        p = cross_val_predict(clf, X, y, cv=3, method="predict_proba")
        scores.append(
            log_loss(y, np.clip(p, 1e-15, None) / np.clip(p, 1e-15, None).sum(1)[:, None])
        )

fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
place = np.arange(len(learners))
ax.bar(place - 0.2, alone, 0.38, label="alone", color="#94a4a2")
ax.bar(place + 0.2, coupled, 0.38, label="pairs, Platt, coupled, tempered", color="#3f90da")
ax.set_xticks(place, learners)
ax.set(ylabel="negative log-likelihood", yscale="log", ylim=(0.3, 12))
ax.set_yticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
ax.yaxis.set_minor_formatter("")
ax.legend()
plt.show()
