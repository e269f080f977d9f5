"""
Was the grid large enough?
==========================

`TwoStepSearchCV` looks at a coarse grid of C and kernel width, and then at a fine one around its
best cell. All cells share distances and Gram matrices.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from polychotomy import TwoStepSearchCV, recipe
from polychotomy.plots import SearchSurfaceDisplay

X, y = load_wine(return_X_y=True)
search = TwoStepSearchCV(recipe("PWC_PSVM"), show_progress=False).fit(scale(X), y)
fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, figure in zip(axes, ("error", "nll"), strict=True):
    SearchSurfaceDisplay.from_search(search, figure=figure, ax=ax)
plt.show()

# %%
# The error has a plateau: many cells make the same few mistakes. The negative log-likelihood
# tells them apart.
cells = search.cv_results_
print(len(cells["params"]), "cells; smallest error", np.nanmin(cells["cv_error"]).round(4))
