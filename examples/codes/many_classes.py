"""
Many classes: machines against error
====================================

Sixty classes: one-vs-one trains 1,770 machines, nested dichotomies 59, a minimal code six. Each
point is a code; machines cost memory and time to predict.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from polychotomy import PolychotomyClassifier

X, y = make_blobs(1800, 8, centers=60, cluster_std=2.4, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
machine = LogisticRegression()
codes = ["minimal", "nested", "one_vs_rest", "dense_random", "one_vs_one"]

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for code in codes:
    decoder = "hamming" if code == "dense_random" else "auto"
    clf = PolychotomyClassifier(machine, code=code, decoder=decoder, random_state=0)
    error = 1 - clf.fit(X_train, y_train).score(X_test, y_test)
    ax.plot(clf.codebook_.n_columns, error, "o", ms=9)
    place = {"textcoords": "offset points", "ha": "center"}
    ax.annotate(code.replace("_", " "), (clf.codebook_.n_columns, error), (0, 9), **place)
ax.set(xlabel="binary machines", ylabel="error", xscale="log", ylim=(0, 1))
ax.margins(x=0.12)
plt.show()

# %%
# A linear machine separates two classes well, and one from 59 others too in these eight dimensions.
# The sides of random and nested codes mix many classes, which it cannot separate: such codes want
# machines that can bend, or trees that keep similar classes together.
