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
# How far each is behind the best, with the standard error of that difference. The shares of the
# classes, which every comparison has as a baseline, are far off to the right.
rows = [row for row in found.rows if row["method"] in methods]
rows.sort(key=lambda row: row["nll"], reverse=True)
fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
for place, row in enumerate(rows):
    colour = "#bd1f01" if row["method"] == found.recommended else "#3f90da"
    behind, error = row["difference"] or 0.0, row["standard_error"] or 0.0
    ax.errorbar(behind, place, xerr=error, fmt="o", capsize=3, color=colour)
ax.axvline(0, color="grey", lw=1)
ax.set_yticks(range(len(rows)), [row["method"] for row in rows])
ax.set(xlabel="negative log-likelihood behind the best")
ax.set_title(f"recommended: {found.recommended} (red)")
ax.grid(axis="x", alpha=0.3)
plt.show()
