"""A loaded data set, its checksums, and the comparison with what is known about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.types import FloatArray
from ._facts import Facts


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set of the papers.

    Attributes
    ----------
    name : str
        Its name.
    X : ndarray of shape (n_rows, n_features)
        The inputs, float64; NaN where a value is missing.
    y : ndarray of shape (n_rows,)
        The classes, as strings.
    feature_names : tuple of str
        The inputs.
    continuous : ndarray of bool, of shape (n_features,)
        Which inputs are numbers on a scale; the others are yes or no, grades, or codes.
    split : ndarray of shape (n_rows,) or None
        "train" or "test", for data that come in two parts (usps).
    facts : Facts
        What is known about the data of the papers.
    source : {"folder", "generated", "scikit-learn", "openml"}
        Where it came from.
    exact : bool
        Whether the rows are those of the papers, in any order.
    checksum : str
        The SHA-256 of the rows as loaded, in their order; studies record it.

    Examples
    --------
    >>> from polychotomy import datasets
    >>> wine = datasets.load("wine", source="scikit-learn")
    >>> wine.X.shape, wine.exact, wine.checksum[:12]
    ((178, 13), True, '19108b76c6a8')
    >>> print(wine)
    wine: 178 rows, 13 inputs, 3 classes, from scikit-learn
    """

    name: str
    X: FloatArray
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    continuous: NDArray[np.bool_]
    split: NDArray[Any] | None
    facts: Facts
    source: str
    exact: bool
    checksum: str

    def __str__(self) -> str:
        rows, inputs = self.X.shape
        return (
            f"{self.name}: {rows} rows, {inputs} inputs, {len(set(self.y))} classes, "
            f"from {self.source}{'' if self.exact else ', not the rows of the papers'}"
        )

    __repr__ = __str__

    def copy(self) -> Dataset:
        """Return a copy of the data set, with its own arrays."""
        split = None if self.split is None else self.split.copy()
        return replace(
            self, X=self.X.copy(), y=self.y.copy(), continuous=self.continuous.copy(), split=split
        )

    def filled(self, rows: ArrayLike) -> FloatArray:
        """Return X with missing values replaced by the means of the training rows."""
        means = np.nanmean(self.X[np.asarray(rows)], axis=0)
        return np.where(np.isnan(self.X), means, self.X)

    def without_missing(self) -> Dataset:
        """Return the rows that have no missing value."""
        keep = ~np.isnan(self.X).any(axis=1)
        X, y = self.X[keep], self.y[keep]
        split = None if self.split is None else self.split[keep]
        return replace(self, X=X, y=y, split=split, checksum=checksum(X, y, split))

    def without_constants(self) -> Dataset:
        """Return the inputs that have more than one value."""
        keep = np.nanmin(self.X, axis=0) < np.nanmax(self.X, axis=0)
        return replace(
            self,
            X=self.X[:, keep],
            feature_names=tuple(np.array(self.feature_names)[keep].tolist()),
            continuous=self.continuous[keep],
            checksum=checksum(self.X[:, keep], self.y, self.split),
        )


def _row_bytes(X: FloatArray, y: NDArray[Any], split: NDArray[Any] | None) -> list[bytes]:
    """Write every row as bytes that do not depend on the machine: doubles, class, part."""
    # One bit pattern each for NaN and for zero.
    plain = np.where(np.isnan(X), np.nan, X) + 0.0
    parts = [""] * len(y) if split is None else split.tolist()
    return [
        row.tobytes() + f"|{label}|{part}\n".encode()
        for row, label, part in zip(plain.astype("<f8"), y.tolist(), parts, strict=True)
    ]


def checksum(X: FloatArray, y: NDArray[Any], split: NDArray[Any] | None = None) -> str:
    """Return the SHA-256 of the rows in their order."""
    return sha256(b"".join(_row_bytes(X, y, split))).hexdigest()


def content(X: FloatArray, y: NDArray[Any], split: NDArray[Any] | None = None) -> str:
    """Return the SHA-256 of the rows, independent of their order."""
    return sha256(b"".join(sorted(_row_bytes(X, y, split)))).hexdigest()


def disagreement(
    X: FloatArray, y: NDArray[Any], split: NDArray[Any] | None, facts: Facts
) -> str | None:
    """Return how a data set differs from the papers', or None if it does not."""
    if X.shape != (facts.rows, facts.inputs):
        return (
            f"it has {X.shape[0]} rows and {X.shape[1]} inputs, "
            f"the papers' {facts.rows} and {facts.inputs}"
        )
    counts = Counter(y.tolist())
    for label in [*facts.classes, *counts]:
        if counts[label] != facts.classes.get(label, 0):
            return (
                f"class {label!r} has {counts[label]} rows, "
                f"in the papers' data {facts.classes.get(label, 0)}"
            )
    if content(X, y, split) != facts.content:
        return "its counts agree, but not its values (the checksum of its content differs)"
    return None
