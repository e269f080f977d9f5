"""Splitting the training rows into folds, for any class sizes.

Note: the folds belong to the estimator, not to the calibrator as in scikit-learn's
`CalibratedClassifierCV`. Calibrators, and decoders that learn from out-of-fold scores, share one
set of folds, so that the machines are trained once for all of them.
"""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.checks import listed
from ..core.types import IntArray

Splits = list[tuple[IntArray, IntArray]]


def split_rows(
    cv: Any,
    X: Any,
    y: IntArray,
    rows: IntArray,
    classes: NDArray[Any],
    split_params: dict[str, Any],
) -> Splits:
    """Split `rows` into folds, as lists of training and test rows.

    Parameters
    ----------
    cv : int, splitter or iterable
        As in scikit-learn; every row must be tested exactly once. The pairs of an iterable
        hold row numbers of `X`.
    X, y : array-like
        All rows and their class numbers.
    rows : ndarray
        The rows in use.
    classes : ndarray
        The class labels, for messages.
    split_params : dict
        Parameters of the splitter, such as `groups`.

    Returns
    -------
    splits : list of (train, test)
        Empty if no class has two rows, because no row can be held out then.
    """
    # Imported here: at the top of the module it would double the import time of the library.
    from sklearn.model_selection import check_cv

    if isinstance(cv, Integral):
        cv = _fitting_number(int(cv), y[rows], classes)
        if cv < 2:
            return []
    params = {name: _cut(value, rows, len(y)) for name, value in split_params.items()}
    with warnings.catch_warnings():
        # `_fitting_number` has already warned about small classes, by name.
        warnings.filterwarnings("ignore", message="The least populated class", append=False)
        if hasattr(cv, "split") or isinstance(cv, Integral):
            splitter = check_cv(cv, y[rows], classifier=True)
            pairs = [
                (rows[train], rows[test])
                for train, test in splitter.split(X[rows], y[rows], **params)
            ]
        else:
            pairs = [
                (_used(train, rows, "cv"), _used(test, rows, "cv"))
                for train, test in check_cv(cv).split()
            ]
    _check_partition(pairs, rows)
    return pairs


def stratified_splits(y: IntArray, rows: IntArray, n_splits: int = 5) -> Splits:
    """Split `rows` into stratified folds.

    There are fewer than `n_splits` if no class has that many rows, and none if no class has two.
    For parts that can handle a class whose rows are all in one fold.
    """
    from sklearn.model_selection import check_cv

    n_splits = int(min(n_splits, np.bincount(y[rows]).max(initial=0)))
    if n_splits < 2:
        return []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", append=False)
        splitter = check_cv(n_splits, y[rows], classifier=True)
        return [(rows[train], rows[test]) for train, test in splitter.split(rows, y[rows])]


def _fitting_number(n_splits: int, y: IntArray, classes: NDArray[Any]) -> int:
    if n_splits < 2:
        raise ValueError(f"cv must be at least 2 folds, got cv={n_splits}.")
    sizes = np.bincount(y, minlength=len(classes))
    small = np.flatnonzero(sizes < n_splits)
    if len(small):
        noun = "Class" if len(small) == 1 else "Classes"
        verb = "has" if len(small) == 1 else "have"
        warnings.warn(
            f"{noun} {listed(classes[small].tolist(), 'and')} {verb} fewer rows than the "
            f"{n_splits} folds. Where a fold holds all rows of a class, their scores come from "
            "machines that were trained on them. Use fewer folds, or more rows of the class.",
            UserWarning,
            stacklevel=5,
        )
    return int(min(n_splits, sizes.max()))


def _used(index: Any, rows: IntArray, name: str) -> IntArray:
    index = np.asarray(index)
    if index.dtype == bool:
        index = np.flatnonzero(index)
    kept: IntArray = index[np.isin(index, rows)]
    return kept


def _cut(value: Any, rows: IntArray, n_rows: int) -> Any:
    if value is None or not hasattr(value, "__len__") or len(value) != n_rows:
        return value
    return np.asarray(value)[rows]


def _check_partition(pairs: Splits, rows: IntArray) -> None:
    tested = np.concatenate([test for _, test in pairs]) if pairs else np.array([], int)
    if len(tested) != len(rows) or not np.array_equal(np.sort(tested), rows):
        raise ValueError(
            "cv must test every row exactly once, so that each has one out-of-fold score; use a "
            "partition such as StratifiedKFold."
        )
