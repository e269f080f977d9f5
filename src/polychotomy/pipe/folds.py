"""Splitting the training rows into folds, for any class sizes.

Note: the folds belong to the estimator, not to the calibrator as in scikit-learn's
`CalibratedClassifierCV`. Calibrators, and decoders that learn from out-of-fold scores, share one
set of folds, so that the machines are trained once for all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import cached_property
from numbers import Integral
from reprlib import repr as shortened
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.checks import listed
from ..core.contents import content_keys
from ..core.types import FloatArray, IntArray

Splits = list[tuple[IntArray, IntArray]]
# A warning names so many classes.
MOST_NAMED = 6


class FoldRows:
    """The rows to be split into folds, in an order that depends on what they hold.

    Note: a number of folds means stratified folds by the rows' content. scikit-learn's folds depend
    on the order of the rows: refitting on permuted rows moved probabilities by up to 0.09 (see
    `benchmarks/folds.py`), and shuffling with `random_state` would still depend on the order.
    Equal rows of a class are spread over the folds: in one fold together, machines of discrete
    inputs would be judged on combinations that they have never seen.

    Parameters
    ----------
    X, y : array-like
        All rows and their class numbers.
    rows : ndarray
        The rows in use.
    weights : ndarray or None
        The weights of all rows; they order rows that are equal otherwise.
    pairwise : bool, default=False
        Whether X is a square kernel matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.pipe.folds import FoldRows
    >>> X, y = np.arange(8.0)[:, None], np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> for _, test in FoldRows(X, y, np.arange(8), None).stratified(2):
    ...     print(test)
    [0 3 5 7]
    [1 2 4 6]
    """

    def __init__(
        self,
        X: Any,
        y: IntArray,
        rows: IntArray,
        weights: FloatArray | None,
        pairwise: bool = False,
    ) -> None:
        self.X, self.y, self.rows, self.weights, self.pairwise = X, y, rows, weights, pairwise

    @property
    def used_labels(self) -> IntArray:
        """The class numbers of the rows in use."""
        return self.y[self.rows]

    @cached_property
    def order(self) -> IntArray:
        """The rows in use by class and content; objects without visible content as they stand."""
        X, rows = self.X, self.rows
        if len(rows) < len(self.y):
            X = X[rows][:, rows] if self.pairwise else X[rows]
        keys: list[Any] = list(content_keys(X, self.pairwise) or ())[::-1]
        if self.weights is not None:
            keys.insert(0, self.weights[rows])
        order: IntArray = rows[np.lexsort((*keys, self.used_labels))]
        return order

    def stratified(self, n_splits: int = 5) -> Splits:
        """Split the rows into stratified folds, by dealing them out in their order.

        There are fewer than `n_splits` if no class has that many rows, and none if no class has
        two. Sizes of folds differ by one row at most, and so do the numbers of rows of a class.
        """
        n_splits = int(min(n_splits, np.bincount(self.used_labels).max(initial=0)))
        if n_splits < 2:
            return []
        fold = np.full(len(self.y), -1)
        fold[self.order] = np.arange(len(self.order)) % n_splits
        used = fold[self.rows]
        return [
            (self.rows[used != number], self.rows[used == number]) for number in range(n_splits)
        ]


def split_rows(
    cv: Any, data: FoldRows, classes: NDArray[Any], split_params: dict[str, Any]
) -> Splits:
    """Split rows into folds, as lists of training and test rows.

    Parameters
    ----------
    cv : int, splitter or iterable
        A number means stratified folds by content, see `FoldRows`. A splitter and an iterable mean
        what they mean in scikit-learn; every row must be tested exactly once. Both give row numbers
        of `X`; rows that are not in use are dropped.
    data : FoldRows
        The rows.
    classes : ndarray
        The class labels, for messages.
    split_params : dict
        Parameters of the splitter, such as `groups`.

    Returns
    -------
    splits : list of (train, test)
        Empty if no class has two rows, because no row can be held out then.
    """
    rows = data.rows
    if is_number(cv):
        check_number(int(cv), np.bincount(data.used_labels, minlength=len(classes)), classes)
        return data.stratified(int(cv))
    found = list_folds(cv, data.X, data.y, split_params)
    pairs = [(_used(train, rows), _used(test, rows)) for train, test in found]
    # A fold may hold nothing but rows that are not in use.
    pairs = [(train, test) for train, test in pairs if len(test)]
    _check_partition(pairs, rows)
    return pairs


def is_number(cv: Any) -> bool:
    """Whether `cv` is a number of folds."""
    return isinstance(cv, Integral) and not isinstance(cv, bool)


def list_folds(cv: Any, X: Any, y: Any, split_params: Mapping[str, Any] | None = None) -> list[Any]:
    """List the folds of a splitter or an iterable, as pairs of training and test rows.

    Note: whoever needs folds twice has to list them once. Asked again, a splitter without a seed
    gives other folds, and a generator none. Splitters see all rows, also those of weight 0, because
    some hold a value for every row, as `PredefinedSplit` does.
    """
    # Texts have `split`, too.
    if isinstance(cv, str) or not hasattr(cv, "split"):
        pairs = list(cv) if isinstance(cv, Iterable) else [cv]
        if not all(hasattr(pair, "__len__") and len(pair) == 2 for pair in pairs):
            raise ValueError(
                "cv must be a number of folds, a splitter, or pairs of training and test rows; got "
                f"cv={shortened(cv)}."
            )
        return pairs
    try:
        with warnings.catch_warnings():
            # Small classes are no problem of the pipe; numbers of folds warn about them by name.
            warnings.filterwarnings("ignore", message="The least populated class", append=False)
            return list(cv.split(X, y, **(split_params or {})))
    except ValueError as error:
        if "'groups' parameter should not be None" not in str(error):
            raise
        raise ValueError(
            f"{type(cv).__name__} needs groups, which it did not get. Give its folds instead: "
            "cv=list(splitter.split(X, y, groups))."
        ) from error


def folds_among(splits: Iterable[Any], rows: IntArray) -> Splits:
    """Return folds of some of the rows, as places among these; none if one could not be trained."""
    places = [[np.flatnonzero(np.isin(rows, part)) for part in pair] for pair in splits]
    found = [(train, test) for train, test in places if len(test)]
    return found if all(len(train) for train, _ in found) else []


def listed_once(cv: Any, X: Any, y: Any) -> Any:
    """Return the folds of a splitter or an iterable; numbers, names and None as they are."""
    as_it_is = cv is None or isinstance(cv, Integral | str)
    return cv if as_it_is else list_folds(cv, X, y)


def n_folds(cv: Any) -> int:
    """Return how many folds there will be; five if only the rows can tell."""
    if isinstance(cv, Integral):
        return int(cv)
    known = getattr(cv, "n_splits", None) or (len(cv) if hasattr(cv, "__len__") else None)
    return int(known) if isinstance(known, Integral) else 5


def check_number(n_splits: int, sizes: IntArray, classes: NDArray[Any]) -> None:
    """Refuse less than two folds, and warn of classes with fewer rows than folds."""
    if n_splits < 2:
        raise ValueError(f"cv must be at least 2 folds, got cv={n_splits}.")
    small = np.flatnonzero(sizes < n_splits)
    if len(small):
        noun = "Class" if len(small) == 1 else "Classes"
        verb = "has" if len(small) == 1 else "have"
        some = classes[small[:MOST_NAMED]].tolist()
        left = len(small) - len(some)
        named = f"{', '.join(map(repr, some))} and {left} more" if left else listed(some, "and")
        warnings.warn(
            f"{noun} {named} {verb} fewer rows than the "
            f"{n_splits} folds. Where a fold holds all rows of a class, their scores come from "
            "machines that were trained on them. Use fewer folds, or more rows of the class.",
            UserWarning,
            stacklevel=5,
        )


def _used(index: Any, rows: IntArray) -> IntArray:
    index = np.asarray(index)
    if index.dtype == bool:
        index = np.flatnonzero(index)
    kept: IntArray = index[np.isin(index, rows)]
    return kept


def _check_partition(pairs: Splits, rows: IntArray) -> None:
    tested = np.concatenate([test for _, test in pairs]) if pairs else np.array([], int)
    if len(tested) != len(rows) or not np.array_equal(np.sort(tested), rows):
        raise ValueError(
            "cv must test every row exactly once, so that each has one out-of-fold score; use a "
            "partition such as StratifiedKFold."
        )
    if any(not len(train) or np.isin(test, train).any() for train, test in pairs):
        raise ValueError(
            "cv must give every fold rows of positive weight to train on, and none that it tests."
        )
