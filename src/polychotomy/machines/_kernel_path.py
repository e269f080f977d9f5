"""Held-out scores of kernel machines along a path of C values, from one Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .._types import FloatArray, IntArray, SignArray
from ._solved import Solved


def held_out_scores(
    gram: FloatArray,
    labels: SignArray,
    splits: Sequence[tuple[IntArray, IntArray]],
    path: Sequence[Solved],
    n_threads: int,
) -> list[FloatArray]:
    """Return for every fold the scores of its test rows, of shape (n_values, n_test, n_columns).

    Rows of a class have coefficients only in the columns in which the class takes part (one-vs-one:
    its own pairs), so the product is taken class by class.
    """
    groups = rows_by_columns(labels)

    def of_fold(fold: int) -> FloatArray:
        return _fold_scores(gram, groups, *splits[fold], fold, path)

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(of_fold, range(len(splits))))


def rows_by_columns(labels: SignArray) -> list[tuple[IntArray, IntArray]]:
    """Group the rows that take part in the same columns: pairs of rows and columns."""
    patterns, numbers = np.unique(labels != 0, axis=0, return_inverse=True)
    numbers = np.ravel(numbers)
    return [
        (np.flatnonzero(numbers == number), np.flatnonzero(pattern))
        for number, pattern in enumerate(patterns)
        if pattern.any()
    ]


def _fold_scores(
    gram: FloatArray,
    groups: list[tuple[IntArray, IntArray]],
    train: IntArray,
    test: IntArray,
    fold: int,
    path: Sequence[Solved],
) -> FloatArray:
    biases = np.stack([solved.biases[fold] for solved in path])
    scores = np.repeat(biases[:, None, :], len(test), axis=1)
    inside = np.zeros(len(gram), dtype=bool)
    inside[train] = True
    groups = [(rows[inside[rows]], columns) for rows, columns in groups]
    # Rows of a class side by side: everything below is a slice.
    order = np.concatenate([rows for rows, _ in groups])
    kernel = gram[np.ix_(test, order)]
    weights = np.stack([solved.coefficients[fold][:, order] for solved in path])
    start = 0
    for rows, columns in groups:
        part = slice(start, start + len(rows))
        start += len(rows)
        own = weights[:, columns, part].reshape(len(path) * len(columns), len(rows))
        product = (kernel[:, part] @ own.T).reshape(len(test), len(path), len(columns))
        scores[:, :, columns] += product.transpose(1, 0, 2)
    return scores
