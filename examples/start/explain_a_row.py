"""
Why this class?
===============

Forty-five machines, one for each pair of digits, look at the most doubtful digit. The matrix shows
what they say: in row i and column j the probability of i, given that it is i or j.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from polychotomy import SVM, PolychotomyClassifier
from polychotomy.plots import PairwiseDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, train_size=500, random_state=0)
clf = PolychotomyClassifier(SVM(C=5)).fit(X_train, y_train)
p = clf.predict_proba(X_test)
doubtful = p.max(axis=1).argmin()

fig, axes = plt.subplots(1, 2, figsize=(11, 5), width_ratios=[1, 3], layout="constrained")
axes[0].imshow(X_test[doubtful].reshape(8, 8), cmap="gray_r")
axes[0].set(title=f"it is a {y_test[doubtful]}", xticks=[], yticks=[])
PairwiseDisplay.from_estimator(clf, X_test[doubtful], order="probability", ax=axes[1])
plt.show()

# %%
# The same in words. Machines of two classes that it is not have to say something too; coupling
# knows that their answers count little.
print("\n".join(str(clf.explain(X_test[doubtful])).splitlines()[-12:]))
print("rows more doubtful than 50 %:", int(np.sum(p.max(axis=1) < 0.5)), "of", len(p))
