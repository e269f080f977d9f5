"""
A decoder of your own
=====================

A part is one class. This one multiplies the probabilities of the sides that a class is on. It works
everywhere at once: in the classifier, in searches, in comparisons.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from polychotomy import SVM, Decoder, PolychotomyClassifier, compare_decoders


class Product(Decoder):
    """The product of the probabilities of a class's sides."""

    needs = frozenset({"probabilities"})
    yields = "probabilities"

    def _decode(self, margins, codebook, X):
        r = np.clip(margins.probability, 1e-12, 1 - 1e-12)
        sides = np.log(r) @ (codebook.matrix > 0).T + np.log(1 - r) @ (codebook.matrix < 0).T
        p = np.exp(sides - sides.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)


X, y = load_wine(return_X_y=True)
X = scale(X)[:, [0, 6]]
clf = PolychotomyClassifier(SVM(C=1))
print(compare_decoders(clf, X, y, [Product(), "pairwise_coupling", "code_coupling"]))

# %%
# The product counts every pair as independent evidence, and is bolder than coupling:
fig, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
p = {
    name: PolychotomyClassifier(SVM(C=1), decoder=decoder).fit(X, y).predict_proba(X).max(axis=1)
    for name, decoder in (("coupling", "pairwise_coupling"), ("product", Product()))
}
ax.plot([1 / 3, 1], [1 / 3, 1], color="grey", lw=1)
ax.scatter(p["coupling"], p["product"], c=y, cmap="viridis", s=22, edgecolor="black", lw=0.4)
ax.set(xlabel="largest probability by coupling", ylabel="largest probability by the product")
plt.show()
