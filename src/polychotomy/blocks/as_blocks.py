"""Which inputs of `fit` are read in blocks."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from .source import NEEDS_ALL, RowBlocks


def as_blocks(X: Any, y: Any, sample_weight: Any = None) -> RowBlocks | None:
    """Return the rows as a source of blocks, if they are one or are Dask's; otherwise None.

    Parameters
    ----------
    X, y, sample_weight
        What `fit` was given.

    Returns
    -------
    blocks : RowBlocks or None

    Examples
    --------
    >>> from polychotomy.blocks import RowBlocks
    >>> from polychotomy.blocks.as_blocks import as_blocks
    >>> as_blocks([[0.0], [1.0]], [0, 1]) is None
    True
    >>> source = RowBlocks([([[0.0], [1.0]], [0, 1])])
    >>> as_blocks(source, None) is source
    True
    """
    if isinstance(X, RowBlocks):
        if y is not None or sample_weight is not None:
            raise ValueError("A source of blocks has its own classes and weights: use fit(blocks).")
        return X
    if hasattr(X, "__dask_graph__"):
        from .cluster import DaskBlocks

        return DaskBlocks(X, y, sample_weight)
    if hasattr(X, "__next__"):
        raise ValueError(
            "X is an iterator, which can be read only once, but blocks of rows are read twice. "
            "Pass RowBlocks(function), with a function that returns a new iterator each time."
        )
    return None


def labels_given(estimator: Any, X: Any, y: ArrayLike | None) -> ArrayLike:
    """Return the labels that an estimator was given; refuse blocks of rows, which have their own.

    Parameters
    ----------
    estimator : estimator
        The one whose `fit` needs all rows at once.
    X, y
        What `fit` was given.

    Returns
    -------
    y : array-like

    Examples
    --------
    >>> from polychotomy import SVM
    >>> from polychotomy.blocks.as_blocks import labels_given
    >>> labels_given(SVM(), [[0.0], [1.0]], [0, 1])
    [0, 1]
    """
    if isinstance(X, RowBlocks):
        raise TypeError(f"{type(estimator).__name__} {NEEDS_ALL}")
    if y is None:
        # In scikit-learn's words.
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None."
        )
    return y
