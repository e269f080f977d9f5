"""
The reject curve: refuse the doubtful rows
==========================================

A classifier that knows when it does not know may pass the doubtful rows to a person. The curve
shows the error on the rows that remain. The lower and the further left it falls, the better the
probabilities order the rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from polychotomy import ProbabilisticSVC

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, train_size=300, random_state=0)
methods = {
    "ProbabilisticSVC": ProbabilisticSVC(C=5),
    "random forest": RandomForestClassifier(random_state=0),
    "naive Bayes": GaussianNB(var_smoothing=1e-2),
}
fig, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
for name, clf in methods.items():
    p = clf.fit(X_train, y_train).predict_proba(X_test)
    surest_first = np.argsort(-p.max(axis=1), kind="stable")
    wrong = (p.argmax(axis=1) != y_test)[surest_first]
    kept = np.arange(1, len(wrong) + 1)
    ax.plot(1 - kept / len(wrong), np.cumsum(wrong) / kept, label=name)
ax.set(xlabel="share of rows refused", ylabel="error on the others", xlim=(0, 0.6), ylim=(0, None))
ax.legend()
plt.show()
