"""
A pool stays near the best of its members
=========================================

Which machine is best depends on the data set. A pool weighs them by probabilities of rows that they
have not seen. Small dots are the members, the large one is the pool.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from polychotomy import LSSVM, SVM, KernelLogisticRegression, PolychotomyClassifier, PolychotomyPool

data = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
    "generated": make_classification(500, 10, n_informative=4, n_classes=3, random_state=0),
}
machines = {
    "SVM": PolychotomyClassifier(SVM(C=3), tempering="auto"),
    "KLR": PolychotomyClassifier(KernelLogisticRegression(C=3), tempering="auto"),
    "LS-SVM": PolychotomyClassifier(LSSVM(), code="one_vs_rest", tempering="auto"),
}
fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
for place, (X, y) in enumerate(data.values()):
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=1)
    scaler = StandardScaler().fit(X_train)
    everyone = {**machines, "pool": PolychotomyPool(list(machines.items()))}
    nll = {
        name: log_loss(
            y_test,
            clf.fit(scaler.transform(X_train), y_train).predict_proba(scaler.transform(X_test)),
        )
        for name, clf in everyone.items()
    }
    best = min(nll.values())
    for (name, value), marker in zip(nll.items(), "osD*", strict=True):
        size = 15 if name == "pool" else 7
        colour = "#bd1f01" if name == "pool" else "#717581"
        label = name if place == 0 else None
        ax.plot(value / best, place, marker, ms=size, color=colour, label=label, alpha=0.85)
ax.set_yticks(np.arange(len(data)), list(data))
ax.set(xlabel="negative log-likelihood, least = 1", ylim=(-0.5, len(data) - 0.5))
ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
plt.show()
