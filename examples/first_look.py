"""
A first look: ten digits from forty-five binary machines
========================================================

Trains one support vector machine for every pair of handwritten digits, turns their scores into
class probabilities, judges them on rows held out, and shows the digits it is least sure about.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from polychotomy import SVM, PolychotomyClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16.0, y, train_size=600, stratify=y, random_state=0
)
clf = PolychotomyClassifier(SVM(C=5), code="one_vs_one").fit(X_train, y_train)
p = clf.predict_proba(X_test)
error = 1.0 - accuracy_score(y_test, clf.predict(X_test))
print(f"{clf.codebook_.n_columns} binary machines, {len(y_test)} rows held out")
print(f"error {error:.3f}, negative log-likelihood {log_loss(y_test, p):.3f}")

# %%
# The eight most doubtful digits, with the probabilities of all classes. Red is the true one.
doubtful = np.argsort(p.max(axis=1))[:8]
fig, axes = plt.subplots(4, 4, figsize=(9, 6.4), width_ratios=[1, 2, 1, 2], layout="constrained")
for row, (picture, bars) in zip(doubtful, axes.reshape(-1, 2), strict=True):
    picture.imshow(X_test[row].reshape(8, 8), cmap="gray_r")
    picture.set(xticks=[], yticks=[])
    bars.bar(
        range(10), p[row], color=["#bd1f01" if k == y_test[row] else "#94a4a2" for k in range(10)]
    )
    bars.set(ylim=(0, 1), yticks=[], xticks=range(10))
plt.show()

# %%
# What each machine said about the most doubtful one, and how it was decoded:
print("\n".join(str(clf.explain(X_test[doubtful[0]])).splitlines()[-12:]))
