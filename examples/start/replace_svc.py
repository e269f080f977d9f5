"""
The replacement for SVC(probability=True)
=========================================

`ProbabilisticSVC` has the parameters of scikit-learn's `SVC`, and class probabilities. Here its
probabilities are compared with those of scikit-learn's replacement, `CalibratedClassifierCV`, on
handwritten digits, for growing numbers of training rows.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from polychotomy import ProbabilisticSVC

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, train_size=800, stratify=y, random_state=0
)
methods = {
    "ProbabilisticSVC": ProbabilisticSVC(C=5),
    "ProbabilisticSVC(tempering=None)": ProbabilisticSVC(C=5, tempering=None),
    "CalibratedClassifierCV(SVC)": CalibratedClassifierCV(SVC(C=5), ensemble=False),
}
sizes = [100, 200, 400, 800]

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for name, clf in methods.items():
    fitted = [clf.fit(X_train[:n], y_train[:n]) and clf.predict_proba(X_test) for n in sizes]
    axes[0].plot(sizes, [log_loss(y_test, p) for p in fitted], "o-", label=name)
    axes[1].plot(sizes, [(p.argmax(axis=1) != y_test).mean() for p in fitted], "o-")
axes[0].set(xlabel="training rows", ylabel="negative log-likelihood", xscale="log", yscale="log")
axes[1].set(xlabel="training rows", ylabel="error", xscale="log", ylim=(0, None))
for ax in axes:
    ax.set_xticks(sizes, sizes)
    ax.xaxis.set_minor_formatter("")
axes[0].set_yticks([0.05, 0.1, 0.2, 0.5], ["0.05", "0.1", "0.2", "0.5"])
axes[0].yaxis.set_minor_formatter("")
axes[1].legend(*axes[0].get_legend_handles_labels())
plt.show()

# %%
# The errors hardly differ: the machines are the same. The probabilities do. Both methods see each
# row held out once; coupling all pairs uses more of what the machines know than one sigmoid for
# each class against the rest.
