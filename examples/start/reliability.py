"""
Can the probabilities be trusted?
=================================

Of all rows to which a classifier gives a probability of 70 %, about 70 % should belong to the
class. A reliability diagram shows it, for the predicted class and for each class against the rest.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from polychotomy import ProbabilisticSVC
from polychotomy.plots import ReliabilityDisplay

X, y = make_classification(
    3000, 10, n_informative=5, n_redundant=4, n_classes=3, class_sep=0.8, random_state=3
)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=700, random_state=0)

fig, axes = plt.subplots(1, 2, figsize=(13, 4.8), layout="constrained")
for ax, clf in zip(axes, (GaussianNB(), ProbabilisticSVC()), strict=True):
    clf.fit(X_train, y_train)
    ReliabilityDisplay.from_estimator(clf, X_test, y_test, ax=ax)
    ax.set_title(f"{type(clf).__name__}: error {1 - clf.score(X_test, y_test):.3f}")
plt.show()

# %%
# Naive Bayes takes inputs that say the same for independent witnesses, and is too sure of itself.
# The shading is the exact binomial interval of each bin.
