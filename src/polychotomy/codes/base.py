"""The base class of all codes, and checks that they share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..core.codebook import Codebook
from ..core.registry import Part
from ..core.types import FloatArray, IntArray, SignArray


@dataclass(frozen=True)
class CodeContext:
    """What a code may be built from; its `needs` declares whether it reads the rows.

    Note: a code sees labels, and only those that declare it see rows, as decoders do with their
    `Context`. A method ``fit(X, y)`` for all codes was the alternative; it would have hidden that
    almost all codebooks depend on nothing but the number of classes.

    Parameters
    ----------
    labels : ndarray of shape (n_classes,)
        The class labels, in order.
    X : array-like or sparse matrix of shape (n_rows, n_features), default=None
        The inputs of the training rows.
    y : ndarray of shape (n_rows,), default=None
        The class number (0, 1, ...) of every training row.
    weights : ndarray of shape (n_rows,), default=None
        The weight of every training row.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.codes import CodeContext, NestedCode
    >>> X, y = np.array([[0.0], [1.0], [9.0], [10.0]]), np.array([0, 1, 2, 2])
    >>> NestedCode("centroid").build(3, context=CodeContext(np.arange(3), X, y))
    Codebook(nested, 3 classes, 2 columns)
       0  1
    0  +  +
    1  +  -
    2  -  .
    """

    labels: NDArray[Any]
    X: Any = None
    y: IntArray | None = None
    weights: FloatArray | None = None

    @cached_property
    def centroids(self) -> FloatArray:
        """The mean of the rows of each class, of shape (n_classes, n_features)."""
        assert self.y is not None
        n_rows = len(self.y)
        weights = np.ones(n_rows) if self.weights is None else self.weights
        sums = csr_array((weights, (self.y, np.arange(n_rows))), (len(self.labels), n_rows))
        total = sums @ self.X
        dense: FloatArray = total.toarray() if hasattr(total, "toarray") else np.asarray(total)
        return dense / np.bincount(self.y, weights, len(self.labels))[:, None]


class Code(Part, BaseEstimator):
    """A rule that builds a codebook for a given number of classes.

    To write your own code, subclass it with a method ``_build(n_classes, rng)`` that returns the
    code matrix; `register` gives it a name. For a single matrix, use
    :class:`~polychotomy.codes.CustomCode`.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.codes import Code
    >>> class FirstAgainstEach(Code):
    ...     name = "first_against_each"
    ...     def _build(self, n_classes, rng):
    ...         return np.vstack([np.ones(n_classes - 1), -np.eye(n_classes - 1)])
    >>> FirstAgainstEach().build(3)
    Codebook(first_against_each, 3 classes, 2 columns)
       0  1
    0  +  +
    1  -  .
    2  .  -
    """

    part_kind: ClassVar[str] = "code"

    @property
    def needs(self) -> frozenset[str]:
        """What it is built from beside the classes: "inputs" of the training rows, or nothing."""
        return frozenset()

    def build(
        self, n_classes: int, random_state: Any = None, context: CodeContext | None = None
    ) -> Codebook:
        """Build the codebook.

        Parameters
        ----------
        n_classes : int
            The number of classes, at least two.
        random_state : int, RandomState instance or None, default=None
            The seed of codes that are drawn at random: the same seed gives the same codebook.
            Other codes do not depend on it.
        context : CodeContext, default=None
            The labels and rows, for codes that depend on them. By default the labels are 0, 1, ...,
            and there are no rows.

        Returns
        -------
        codebook : Codebook
        """
        n_classes = positive_integer(n_classes, "n_classes")
        if n_classes < 2:
            raise ValueError(f"A code needs at least two classes; got n_classes={n_classes}.")
        context = CodeContext(np.arange(n_classes)) if context is None else context
        if "inputs" in self.needs and context.X is None:
            raise ValueError(
                f"{self!r} is built from training rows; pass build a CodeContext with X and y, or "
                "fit a PolychotomyClassifier with it."
            )
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4)
        return Codebook(self._build_from(context, np.random.default_rng(seed)), name=self.name)

    def default_decoder(self, probabilities: bool) -> str:
        """Return the name of the code's default decoder, given binary probabilities or not.

        Note: a code names its decoder but does not import it. Only the pipe knows both packages.
        """
        return "code_coupling" if probabilities else "loss"

    def _build_from(self, context: CodeContext, rng: np.random.Generator) -> SignArray:
        """Build the matrix from labels and rows; by default, only from the number of classes."""
        return self._build(len(context.labels), rng)

    def _build(self, n_classes: int, rng: np.random.Generator) -> SignArray:
        raise NotImplementedError(f"{type(self).__name__} must define _build(n_classes, rng).")


def positive_integer(value: Any, name: str) -> int:
    """Return `value` as an int after checking that it is a positive whole number."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a positive integer, got {value!r}.")
    if value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}.")
    return int(value)


def fewest_columns(n_classes: int) -> int:
    """Return ceil(log2 M), the fewest columns of +1 and -1 that tell M classes apart."""
    return (n_classes - 1).bit_length()


def checked_columns(n_columns: int | None, default: int, n_classes: int, existing: int) -> int:
    """Return the number of columns of a random code: the requested number, or all that exist."""
    wanted = default if n_columns is None else positive_integer(n_columns, "n_columns")
    fewest = fewest_columns(n_classes)
    if wanted < fewest:
        raise ValueError(
            f"n_columns={wanted} is too few to give each of {n_classes} classes its own "
            f"codeword; at least {fewest} columns are needed."
        )
    return min(wanted, existing)
