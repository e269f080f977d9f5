"""
All decoders on one set of scores
=================================

`compare_decoders` trains the machines once, and gives all decoders the same cross-validated scores.
A decoder without an orange dot has no probabilities.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from polychotomy import SVM, PolychotomyClassifier, compare_decoders

X, y = load_digits(return_X_y=True)
found = compare_decoders(PolychotomyClassifier(SVM(C=5)), X[:600] / 16, y[:600])
print(found)

# %%
rows = found.rows[::-1]
names = [row["decoder"] for row in rows]
size = (10, 0.3 * len(rows) + 1.2)
fig, axes = plt.subplots(1, 2, figsize=size, sharey=True, layout="constrained")
axes[0].plot([row["error"] for row in rows], names, "o", color="#3f90da")
nll = [float("nan") if row["nll"] is None else row["nll"] for row in rows]
axes[1].plot(nll, names, "o", color="#ffa90e")
axes[0].set(xlabel="error", xscale="log")
axes[1].set(xlabel="negative log-likelihood", xscale="log")
for ax in axes:
    ax.grid(alpha=0.3)
plt.show()
