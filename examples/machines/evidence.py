"""
Evidence against cross-validation
=================================

An LS-SVM knows its evidence: the probability of the training labels under a kernel width and a
regularisation, after all weights are integrated out. It needs no held-out rows. Here it is
beside the error that cross-validation and 2,000 new rows find, along the kernel width.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import multivariate_normal
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score

from polychotomy import LSSVM

X, y = make_moons(120, noise=0.3, random_state=0)
X_new, y_new = make_moons(2000, noise=0.3, random_state=1)
widths = np.logspace(-2, 2, 21)

evidence, validated, new = [], [], []
for sigma2 in widths:
    machine = LSSVM(sigma2=sigma2).fit(X, y)
    # The labels are a Gaussian vector: their covariance is the kernel's part and the noise.
    covariance = rbf_kernel(X, gamma=0.5 / sigma2) / machine.mu_ + np.eye(len(X)) / machine.zeta_
    evidence.append(multivariate_normal(cov=covariance).logpdf(2.0 * y - 1.0))
    validated.append(1 - cross_val_score(LSSVM(sigma2=sigma2), X, y, cv=5).mean())
    new.append(1 - machine.score(X_new, y_new))

fig, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
ax.plot(widths, new, color="black", lw=2, label="error on 2,000 new rows")
ax.plot(widths, validated, "o-", ms=4, color="#ffa90e", label="cross-validated error, 120 rows")
ax.set(xscale="log", xlabel="kernel width sigma2", ylabel="error")
right = ax.twinx()
right.plot(widths, evidence, "--", color="#3f90da", lw=2, label="log evidence (right axis)")
right.set_ylabel("log evidence")
best = widths[int(np.argmax(evidence))]
ax.axvline(best, color="#3f90da", lw=1, alpha=0.6)
handles = [*ax.get_lines()[:2], right.get_lines()[0]]
ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=3)
plt.show()

# %%
# The evidence is a smooth curve with one top; cross-validation of 120 rows jumps in steps of one
# row. ``LSSVM(sigma2="evidence")`` climbs it.
found = LSSVM(sigma2="evidence").fit(X, y)
print(
    f"chosen: sigma2 = {found.sigma2_:.3g}, error on new rows {1 - found.score(X_new, y_new):.3f}"
)
