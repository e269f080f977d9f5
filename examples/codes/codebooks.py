"""
Codes as pictures
=================

A codebook says, for every binary problem (a column), which classes are positive, which are
negative, and which take no part.
"""

import matplotlib.pyplot as plt

from polychotomy import (
    ErrorCorrectingCode,
    MinimalCode,
    NestedCode,
    OneVsOne,
    OneVsRest,
    OrdinalCode,
    SparseRandomCode,
)
from polychotomy.plots import CodebookDisplay

codes = [
    OneVsRest(),
    OneVsOne(),
    MinimalCode(),
    OrdinalCode(),
    NestedCode(),
    SparseRandomCode(),
    ErrorCorrectingCode(),
]
books = [code.build(6, random_state=0) for code in codes]
fig = plt.figure(figsize=(11, 8), layout="constrained")
spaces = [(0, 0, 1), (0, 1, 2), (1, 0, 1), (1, 1, 1), (1, 2, 1), (2, 0, 3), (3, 0, 3)]
grid = fig.add_gridspec(4, 3)
for code, book, (row, column, width) in zip(codes, books, spaces, strict=True):
    ax = fig.add_subplot(grid[row, column : column + width])
    CodebookDisplay.from_codebook(book, list("ABCDEF"), ax=ax)
    ax.set_title(f"{type(code).__name__}: {book.n_columns} problems")
    ax.set(xlabel="", ylabel="")
    if ax.get_legend():
        ax.get_legend().remove()
plt.show()
