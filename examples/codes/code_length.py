"""
Longer codes, fewer errors
==========================

A codeword with more bits survives more wrong machines. With a weak machine (a small tree) the error
falls for long; one-vs-one and one-vs-rest are drawn as lines.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from polychotomy import DenseRandomCode, PolychotomyClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=900, random_state=0)
tree = DecisionTreeClassifier(max_depth=5, random_state=0)


def error(code, decoder, seed=0):
    """Return the error of trees with a code and a decoder."""
    clf = PolychotomyClassifier(tree, code=code, decoder=decoder, random_state=seed)
    return 1 - clf.fit(X_train, y_train).score(X_test, y_test)


lengths = [8, 16, 32, 64, 128]
errors = np.array(
    [[error(DenseRandomCode(length), "hamming", seed) for seed in range(3)] for length in lengths]
)
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(lengths, errors.mean(axis=1), "o-", label="random code, Hamming decoding")
ax.fill_between(lengths, errors.min(axis=1), errors.max(axis=1), alpha=0.25)
ax.axhline(
    error("one_vs_one", "max_wins"), color="tab:green", ls="--", label="one-vs-one, 45 trees"
)
rest = error("one_vs_rest", "winner_takes_all")
ax.axhline(rest, color="tab:red", ls=":", label="one-vs-rest, 10 trees")
ax.set(xlabel="binary problems", ylabel="error", xscale="log", ylim=(0, None))
ax.set_xticks(lengths, lengths)
ax.legend()
plt.show()
