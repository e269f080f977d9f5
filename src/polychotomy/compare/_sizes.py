"""The numbers of training rows that a comparison tries."""

from __future__ import annotations

# The smallest part of a large table; each next one has so many times the rows.
FIRST_ROWS = 1_000
FACTOR = 4


def sizes(n_train: int, n_classes: int) -> list[int]:
    """Return the numbers of training rows to try, all of them last.

    Parameters
    ----------
    n_train, n_classes : int
        The training rows and classes.

    Returns
    -------
    sizes : list of int

    Examples
    --------
    >>> from polychotomy.compare._sizes import sizes
    >>> sizes(43_500, 7)
    [1000, 4000, 16000, 43500]
    >>> sizes(2_000, 3)
    [2000]
    """
    found: list[int] = []
    size = max(FIRST_ROWS, 5 * n_classes)
    while size * 1.6 < n_train and (found or size * 2.5 < n_train):
        found.append(size)
        size *= FACTOR
    return [*found, n_train]
