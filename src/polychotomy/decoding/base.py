"""The base class of all decoders, and the context that they learn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from ..core.checks import finite_array, probability_array
from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.math import pair_columns, to_square
from ..core.registry import Part
from ..core.state import Array, Field, Sizes, require
from ..core.state import Code as CodebookField
from ..core.types import FloatArray, IntArray

# Rows are decoded in pieces of this size, to bound memory and to let Ctrl-C take effect.
ROWS_AT_ONCE = 16384

Scorer = Callable[[Any], Margins]
Fold = tuple[IntArray, IntArray, IntArray]


@dataclass(frozen=True)
class Context:
    """What a decoder may learn from; its `needs` declares which fields it reads.

    Parameters
    ----------
    codebook : Codebook
        The code.
    y : ndarray of shape (n_rows,)
        The class number (0, 1, ...) of every training row.
    weights : ndarray of shape (n_rows,), default=None
        The weight of every training row.
    classes : ndarray of shape (n_classes,), default=None
        The class labels; the class numbers by default.
    X : array-like or sparse matrix, default=None
        The inputs of the training rows.
    training : Margins, default=None
        The machines' answers for their own training rows.
    held_out : Margins, default=None
        Scores from machines that did not see the row. If the row's class takes part in the column,
        the score comes from a machine trained without the row's fold. Otherwise no machine of the
        column has seen the row, and the machine trained on all rows scores it (DUAN03, 3.1).
    folds : ndarray of shape (n_rows,), default=None
        The fold of every training row.
    refit : callable, default=None
        ``refit(rows, columns)`` trains machines for some columns on some training rows and
        returns a function from inputs to `Margins`.
    random_state : int, default=None
        The seed of decoders that draw random numbers.
    sizes : ndarray of shape (n_classes,), default=None
        The class sizes, if they differ from those of `y`.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy import Context, OneVsOne, ValuedPreference
    >>> context = Context(OneVsOne().build(3), y=np.array([0, 0, 1, 2]))
    >>> context.class_sizes
    array([2., 1., 1.])
    >>> ValuedPreference().fit(context).decode([[0.9, 0.8, 0.5]]).round(2)
    array([[1.75, 0.58, 0.67]])
    """

    codebook: Codebook
    y: IntArray
    weights: FloatArray | None = None
    classes: NDArray[Any] | None = None
    X: Any = None
    training: Margins | None = None
    held_out: Margins | None = None
    folds: IntArray | None = None
    refit: Callable[[IntArray, IntArray], Scorer] | None = None
    random_state: int | None = None
    sizes: FloatArray | None = None

    @cached_property
    def class_sizes(self) -> FloatArray:
        """The total weight of the rows of each class."""
        if self.sizes is not None:
            return self.sizes
        return np.bincount(self.y, self.weights, self.codebook.n_classes).astype(float)

    @cached_property
    def class_labels(self) -> NDArray[Any]:
        """The class labels, or the class numbers if there are no labels."""
        return np.arange(self.codebook.n_classes) if self.classes is None else self.classes


class Decoder(Part, BaseEstimator):
    """Base of all decoders: from binary answers to classes.

    A subclass declares in class attributes what it is for, and defines `_decode`. If it learns
    anything, it also defines `_fit`.

    Attributes
    ----------
    name : str
        The name under which `register` registered it.
    codes : frozenset of str
        The codes it is for: "one_vs_one", "one_vs_rest", "nested" or "any".
    needs : frozenset of str
        What it reads: "probabilities" of the binary problems (without it, scores are enough),
        "scores" (never probabilities), "likelihoods" (variances, or else probabilities), and the
        parts of the context "training_scores", "held_out_scores", "inputs" and "refit".
    yields : str
        "probabilities", "scores" (the largest wins), or "decisions" (only the position of the
        largest is meaningful).

    Examples
    --------
    Your own decoder, for any code; it also works in `PolychotomyClassifier`:

    >>> import numpy as np
    >>> from polychotomy import Decoder, OneVsRest
    >>> class Product(Decoder):
    ...     needs = frozenset({"probabilities"})
    ...     def _decode(self, margins, codebook, X):
    ...         r = np.clip(margins.probability, 1e-9, 1 - 1e-9)
    ...         matrix = codebook.matrix
    ...         return np.log(r) @ (matrix > 0).T + np.log(1 - r) @ (matrix < 0).T
    >>> Product().decode([[0.8, 0.3, 0.4]], OneVsRest().build(3)).round(2)
    array([[-1.09, -3.32, -2.88]])
    """

    part_kind: ClassVar[str] = "decoder"
    fitted_state: ClassVar[Mapping[str, Field]] = {
        "codebook_": CodebookField(),
        "class_sizes_": Array("M", at_least=0.0),
    }
    codes: ClassVar[frozenset[str]] = frozenset({"any"})
    needs: ClassVar[frozenset[str]] = frozenset()
    yields: ClassVar[str] = "scores"
    _bare: ClassVar[str] = "probability"

    @property
    def takes_sparse(self) -> bool:
        """Whether the inputs, if it reads them, may be a sparse matrix."""
        return True

    def fits(self, codebook: Codebook) -> bool:
        """Return whether the decoder is for this code.

        Note: it asks for properties of the code matrix, not for ``isinstance(code, OneVsOne)``. So
        a custom matrix, or a code of the user's, that has one column for each pair of classes can
        use all one-vs-one decoders, and decoding does not import the codes.
        """
        return (
            "any" in self.codes
            or ("one_vs_one" in self.codes and codebook.pairs is not None)
            or ("one_vs_rest" in self.codes and codebook.rest is not None)
            or ("nested" in self.codes and codebook.branches is not None)
        )

    def yields_probabilities(self, calibrated: bool) -> bool:
        """Return whether `decode` returns class probabilities, given binary ones or not."""
        return self.yields == "probabilities"

    def fit(self, context: Context) -> Self:
        """Learn what the method needs from the training rows.

        Parameters
        ----------
        context : Context
            The training rows, and the machines' answers for them.

        Returns
        -------
        self : Decoder
        """
        self._remember(context)
        self._fit(context)
        return self

    def decode(
        self, values: ArrayLike | Margins, codebook: Codebook | None = None, X: Any = None
    ) -> FloatArray:
        """Turn binary answers into class scores or probabilities.

        Parameters
        ----------
        values : Margins or array-like
            The answers of the binary machines. A bare array of shape (n_rows, n_columns) holds
            probabilities of the positive side, or scores for a decoder that reads scores;
            one-vs-one decoders of probabilities also take (n_rows, n_classes, n_classes).
        codebook : Codebook, default=None
            The code; by default that of `fit`. One-vs-one and one-vs-rest decoders can also infer
            it from the shape.
        X : array-like or sparse matrix, default=None
            The inputs, for decoders that read them.

        Returns
        -------
        scores : ndarray of shape (n_rows, n_classes)
            The largest wins. Each row sums to 1 where the decoder yields probabilities.
        """
        margins = self._coerce(values)
        book = self._codebook_for(margins, codebook)
        n_rows = margins.n_rows
        if n_rows <= ROWS_AT_ONCE:
            return self._decode(margins, book, X)
        result = np.empty((n_rows, book.n_classes))
        for start in range(0, n_rows, ROWS_AT_ONCE):
            piece = slice(start, start + ROWS_AT_ONCE)
            result[piece] = self._decode(margins.rows(piece), book, None if X is None else X[piece])
        return result

    def check_state(self, sizes: Sizes) -> None:
        """Check what a fitted state cannot express; subclasses extend it."""
        require(self.fits(self.codebook_), self, f"is not for the code {self.codebook_.name!r:.60}")
        require(self.class_sizes_.any(), self, "has no class sizes")

    def cross_fit(
        self,
        codebook: Codebook,
        scores: FloatArray,
        y: IntArray,
        weights: FloatArray | None,
        folds: Sequence[Fold],
        n_threads: int = 1,
    ) -> FloatArray | None:
        """Decode the rows of every fold by fits on other rows, for several sets of scores at once.

        For decoders that learn only from held-out scores and can share the work of many fits.

        Parameters
        ----------
        codebook : Codebook
            The code.
        scores : ndarray of shape (n_sets, n_rows, n_columns)
            Scores from machines that did not see the row, for example one set per cell of a search.
        y : ndarray of shape (n_rows,)
            The class numbers.
        weights : ndarray of shape (n_rows,) or None
            The weights of the rows.
        folds : sequence of (train, test, numbers)
            The rows to learn from, the rows to decode, and the folds of the former.
        n_threads : int, default=1
            The number of threads that share the fits.

        Returns
        -------
        scores : ndarray of shape (n_sets, n_rows, n_classes) or None
            Bit for bit the result of fitting a decoder to each set and fold separately; None if the
            decoder has no such shortcut.
        """
        return None

    def _remember(self, context: Context) -> None:
        """Check that the decoder is for the code, and store the fields that all decoders keep."""
        self._check_code(context.codebook)
        self.codebook_ = context.codebook
        self.class_sizes_ = context.class_sizes

    def _fit(self, context: Context) -> None:
        """Learn from the context; by default nothing."""

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        raise NotImplementedError

    def _coerce(self, values: ArrayLike | Margins) -> Margins:
        if isinstance(values, Margins):
            self._check_margins(values)
            return values
        name = f"The argument of {type(self).__name__}.decode"
        if self._bare == "mean":
            return Margins(mean=finite_array(values, name, (2,)))
        return Margins(probability=probability_array(values, name, self._dimensions))

    @property
    def _dimensions(self) -> tuple[int, ...]:
        return (2, 3) if self.codes == frozenset({"one_vs_one"}) else (2,)

    def _check_margins(self, margins: Margins) -> None:
        if "probabilities" in self.needs and margins.probability is None:
            raise ValueError(f"{type(self).__name__} needs Margins with probabilities.")
        if "scores" in self.needs and margins.mean is None:
            raise ValueError(f"{type(self).__name__} needs Margins with scores (mean).")
        if margins.mean is None and margins.probability is None:
            raise ValueError("Margins need scores (mean) or probabilities.")
        if margins.mean is not None:
            finite_array(margins.mean, "Margins.mean (the scores of the binary machines)", (2,))
        if margins.probability is not None:
            probability_array(margins.probability, "Margins.probability", self._dimensions)
            if margins.mean is not None and len(margins.mean) != len(margins.probability):
                raise ValueError(
                    f"Margins.mean has {len(margins.mean)} rows, but Margins.probability has "
                    f"{len(margins.probability)}."
                )

    def _codebook_for(self, margins: Margins, codebook: Codebook | None) -> Codebook:
        values = margins.probability if margins.probability is not None else margins.mean
        assert values is not None
        book = codebook if codebook is not None else getattr(self, "codebook_", None)
        if book is None:
            return self._infer_codebook(values)
        self._check_code(book)
        for array in (margins.mean, margins.probability):
            if array is None:
                continue
            wanted = (book.n_classes, book.n_classes) if array.ndim == 3 else (book.n_columns,)
            if array.shape[1:] != wanted:
                raise ValueError(
                    f"{type(self).__name__}.decode got an array of shape {array.shape}, but the "
                    f"code has {book.n_classes} classes and {book.n_columns} columns."
                )
        return book

    def _infer_codebook(self, values: FloatArray) -> Codebook:
        if self.codes == frozenset({"one_vs_one"}):
            return one_vs_one_codebook(values, type(self).__name__)
        if self.codes == frozenset({"one_vs_rest"}):
            if values.shape[1] < 2:
                raise ValueError(
                    f"{type(self).__name__}.decode got an array of shape {values.shape}; "
                    "one-vs-rest answers for M classes have shape (n_rows, M), M at least 2."
                )
            return Codebook(2 * np.eye(values.shape[1]) - 1, "one_vs_rest")
        raise ValueError(f"{type(self).__name__} has not been fitted; pass the codebook to decode.")

    def _check_code(self, codebook: Codebook) -> None:
        if not self.fits(codebook):
            wanted = " or ".join(sorted(self.codes))
            raise ValueError(
                f"{type(self).__name__} is for {wanted} codes, not for {codebook.name}."
            )


def one_vs_one_codebook(values: FloatArray, who: str) -> Codebook:
    """Build the one-vs-one code that matches the shape of pairwise answers."""
    if values.ndim == 3:
        n_classes = values.shape[1]
        fitting = values.shape[2] == n_classes and n_classes >= 2
    else:
        n_classes = round((1.0 + np.sqrt(1.0 + 8.0 * values.shape[1])) / 2.0)
        fitting = n_classes * (n_classes - 1) // 2 == values.shape[1] and n_classes >= 2
    if not fitting:
        raise ValueError(
            f"{who}.decode got an array of shape {values.shape}; pairwise answers for M classes "
            "have shape (n_rows, M (M - 1) / 2) or (n_rows, M, M)."
        )
    first, second = np.triu_indices(n_classes, 1)
    matrix = np.zeros((n_classes, len(first)))
    matrix[first, np.arange(len(first))] = 1
    matrix[second, np.arange(len(first))] = -1
    return Codebook(matrix, "one_vs_one")


def preferences(margins: Margins) -> FloatArray:
    """Return signed answers: probabilities minus 1/2 if there are any, else the scores."""
    if margins.probability is not None:
        return margins.probability - 0.5
    assert margins.mean is not None
    return margins.mean


def canonical(values: FloatArray, codebook: Codebook, flip: float) -> FloatArray:
    """Put one-vs-one columns into the order (0, 1), (0, 2), ... with the first class positive.

    A flipped value is subtracted from ``flip``: 1 for probabilities, 0 for scores.
    """
    source, sign = codebook.canonical
    if (sign > 0).all() and (source == np.arange(len(source))).all():
        return values
    taken = values[..., source]
    return np.where(sign > 0, taken, flip - taken)


def pairwise_probabilities(margins: Margins, codebook: Codebook) -> FloatArray:
    """Return canonical r of shape (n_rows, n_pairs), normalised by GALAR (13)."""
    r = margins.probability
    assert r is not None
    if r.ndim == 2:
        return canonical(r, codebook, 1.0)
    first, second = np.triu_indices(codebook.n_classes, 1)
    return normalised_pair(r[:, first, second], r[:, second, first])


def normalised_pair(forward: FloatArray, backward: FloatArray) -> FloatArray:
    """Return ``forward / (forward + backward)``, 1/2 where both are 0: GALAR (13)."""
    total = forward + backward
    empty = total <= 0.0
    # Values that are already normalised keep their exact bits.
    total = np.where(np.abs(total - 1.0) < 1e-15, 1.0, total)
    return np.where(empty, 0.5, forward / np.where(empty, 1.0, total))


def preference_square(margins: Margins, codebook: Codebook) -> FloatArray:
    """Return R of shape (n_rows, n_classes, n_classes), as given or from its columns."""
    r = margins.probability
    if r is not None and r.ndim == 3:
        return r
    return to_square(pairwise_probabilities(margins, codebook), codebook.n_classes)


def pairwise_preferences(margins: Margins, codebook: Codebook) -> FloatArray:
    """Return canonical signed pairwise answers of shape (n_rows, n_pairs)."""
    if margins.probability is not None:
        return pairwise_probabilities(margins, codebook) - 0.5
    return canonical(preferences(margins), codebook, 0.0)


def pairwise_sums(pairs: FloatArray, n_classes: int) -> FloatArray:
    """Sum for every class the signed answers of its pairs."""
    sums = np.zeros((n_classes, len(pairs)))
    columns = np.ascontiguousarray(pairs.T)
    for column, i, j in zip(columns, *pair_columns(n_classes), strict=True):
        sums[i] += column
        sums[j] -= column
    return np.ascontiguousarray(sums.T)


def prior_of(decoder: Decoder, codebook: Codebook) -> FloatArray:
    """Return the class sizes seen in `fit`, or equal sizes, to break ties."""
    sizes: FloatArray = getattr(decoder, "class_sizes_", np.ones(codebook.n_classes))
    return sizes
