"""
Which method for my data?
=========================

`compare_methods` tunes each method inside every training part, judges it on the rest, and tests
whether differences are chance. The command ``polychotomy compare`` does the same for a file.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from polychotomy.compare import compare_methods

X, y = load_wine(return_X_y=True)
methods = ["PSVC", "PWC_KLR", "SSMC1v1", "WTA_KLR", "logistic"]
found = compare_methods(X, y, methods, n_splits=5, show_progress=False)
print(found)

# %%
rows = sorted(found.rows, key=lambda row: row["nll"], reverse=True)
fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
for place, row in enumerate(rows):
    ax.plot(row["nll"], place, "o", color="#3f90da")
ax.set_yticks(range(len(rows)), [row["method"] for row in rows])
ax.set(xlabel="negative log-likelihood on rows held out", title=f"recommended: {found.recommended}")
ax.grid(alpha=0.3)
plt.show()
