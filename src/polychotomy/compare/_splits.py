"""Training and test parts: stratified, by group, or by time.

Design note: the training rows of a split are put into an order in which every beginning is
stratified. A smaller training part is a beginning of the larger one, so that a learning curve adds
rows and never exchanges them, and nothing has to be drawn for another size.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.checks import one_of
from ..core.types import FloatArray, IntArray

PROTOCOLS = ("hold-out", "nested")
Rounds = list[tuple[IntArray, IntArray]]
# With this many rows, splits are made when they are asked for: ten of 100,000 rows take as long as
# to read them, and in a short time one is used.
MANY_ROWS = 20_000
# The probabilities of a test part: more rows would make figures only slightly more precise.
MOST_TEST_CELLS = 2_000_000
MOST_TEST_ROWS = 20_000
# With rows in the order of time, this share of them is never tested.
FIRST_PAST = 0.5


def rounds(
    y: IntArray,
    protocol: str,
    n_splits: int,
    test_size: float,
    seed: int,
    groups: ArrayLike | None = None,
    order: ArrayLike | None = None,
) -> Sequence[tuple[IntArray, IntArray]]:
    """Return the training and test rows of every split.

    Rows of a class that the training part lacks are not tested.

    Parameters
    ----------
    y : ndarray of int of shape (n_rows,)
        The classes, by number.
    protocol : {"hold-out", "nested"}
        As in `compare_methods`.
    n_splits, test_size, seed
        As in `compare_methods`.
    groups : array-like of shape (n_rows,), default=None
        Rows of the same group are never on both sides.
    order : array-like of shape (n_rows,), default=None
        Training rows come before all test rows in this order.

    Returns
    -------
    rounds : sequence of (train, test)

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.compare._splits import rounds
    >>> y = np.arange(20) % 2
    >>> (train, test), _ = rounds(y, "hold-out", 2, 0.25, 0, order=np.arange(20))
    >>> int(train.max()) < int(test.min())
    True
    """
    one_of(protocol, "protocol", PROTOCOLS)
    if isinstance(n_splits, bool) or not isinstance(n_splits, int) or n_splits < 1:
        raise ValueError(f"n_splits must be a whole number of at least 1, got {n_splits!r}.")
    if not 0.0 < test_size < 1.0:
        raise ValueError(f"test_size must be between 0 and 1, got {test_size!r}.")
    if groups is not None and order is not None:
        raise ValueError("groups and order do not go together: give one of them.")
    if order is not None and protocol == "nested":
        raise ValueError(
            "order does not go with nested cross-validation: rows are judged in windows of time."
        )
    free = groups is None and order is None
    drawn: Rounds
    if order is not None:
        drawn = _by_time(_column(order, "order", len(y)), n_splits)
    elif groups is not None:
        folds = 5 if protocol == "nested" else max(2, round(1.0 / test_size))
        drawn = _by_group(y, _column(groups, "groups", len(y)), n_splits, folds, seed)
    elif protocol == "nested":
        drawn = _folds(y, n_splits, seed)
    else:
        lazy = HoldOuts(y, n_splits, test_size, seed)
        if len(y) >= MANY_ROWS:
            return lazy
        drawn = list(lazy)
    found = drawn
    if not free or protocol == "nested":
        found = [_judgeable(y, train, test, free) for train, test in drawn]
    found = [(train, test) for train, test in found if len(test) and len(np.unique(y[train])) > 1]
    if not found and free:
        raise ValueError("No split has two classes in its training part: use fewer splits.")
    what = "order" if groups is None else "groups"
    if not found:
        raise ValueError(f"{_NOTHING_JUDGED[what]} Use another column for {what}, or none.")
    if not free:
        _tell_not_judged(y, drawn, found, what)
    return found


_NOTHING_JUDGED = {
    "groups": "With these groups, no row can be judged by what was learned from the others: each "
    "class has rows in one group only, or one group has nearly all rows.",
    "order": "In this order, no row can be judged by what was learned before it: the classes come "
    "one after another.",
}
_LACKING = {
    "groups": "the other groups have no row of their class",
    "order": "no row of their class comes before them",
}


def _tell_not_judged(y: IntArray, drawn: Rounds, found: Rounds, what: str) -> None:
    """Warn of rows that are in no test part, because the training part lacks their class.

    Not of classes with one row, of which a note tells anyway.
    """
    often = np.bincount(y)[y] > 1
    rows, judged = (
        len(set().union(*(test[often[test]].tolist() for _, test in one))) for one in (drawn, found)
    )
    if judged < rows:
        lost = rows - judged
        warnings.warn(
            f"{lost:,} of {rows:,} test rows {'is' if lost == 1 else 'are'} not judged, because "
            f"{_LACKING[what]}: all figures are of the others. Use another column for {what}, or "
            "none, to judge all.",
            UserWarning,
            stacklevel=4,
        )


def _column(values: ArrayLike, name: str, n_rows: int) -> Any:
    column = np.asarray(values)
    if column.shape != (n_rows,):
        raise ValueError(f"{name} must have one value for each of the {n_rows} rows.")
    return column


class HoldOuts(Sequence[tuple[IntArray, IntArray]]):
    """Random stratified splits, each drawn after those before it, when it is asked for.

    Parameters
    ----------
    y : ndarray of int of shape (n_rows,)
        The classes, by number.
    n_splits, test_size, seed
        As in `compare_methods`.
    """

    def __init__(self, y: IntArray, n_splits: int, test_size: float, seed: int) -> None:
        counts = np.bincount(y)
        self.y, self.n_splits, self.seed = y, n_splits, seed
        self.often, self.alone = np.flatnonzero(counts[y] > 1), np.flatnonzero(counts[y] == 1)
        # At least one test row for each class, and at least one training row.
        classes = int((counts > 1).sum())
        self.n_test = min(max(round(test_size * len(y)), classes), len(self.often) - classes)
        self._known: Rounds = []
        self._others: Iterator[tuple[IntArray, IntArray]] | None = None

    @property
    def fewest_training_rows(self) -> int:
        """The training rows of a split; it has more if a class of the test part moves there."""
        return len(self.y) - self.n_test

    def __len__(self) -> int:
        return self.n_splits

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(self.n_splits))]
        number = range(self.n_splits)[number]
        while len(self._known) <= number:
            if self._others is None:
                self._others = islice(self._drawn(), len(self._known), None)
            self._known.append(next(self._others))
        return self._known[number]

    def __getstate__(self) -> dict[str, Any]:
        """Return what other processes need to draw the same splits."""
        return {**vars(self), "_others": None}

    def _drawn(self) -> Iterator[tuple[IntArray, IntArray]]:
        from sklearn.model_selection import StratifiedShuffleSplit

        often, alone, y = self.often, self.alone, self.y
        splitter = StratifiedShuffleSplit(
            self.n_splits, test_size=self.n_test, random_state=self.seed
        )
        for train, test in splitter.split(np.zeros(len(often)), y[often]):
            known = np.concatenate([often[train], alone]) if len(alone) else often[train]
            yield _judgeable(y, known, often[test], True)


class Arranged(Sequence[tuple[IntArray, IntArray]]):
    """Splits whose training rows begin with stratified ones, and whose test parts are not large.

    Parameters
    ----------
    given : sequence of (train, test)
        The splits.
    y : ndarray of int
        The class of every row.
    seed, most : int
        Seeds the order; the test rows at most.
    ordered : bool
        Whether the training rows are put into order.
    """

    def __init__(
        self,
        given: Sequence[tuple[IntArray, IntArray]],
        y: IntArray,
        seed: int,
        most: int,
        ordered: bool,
    ) -> None:
        self.given, self.y, self.seed, self.most, self.ordered = given, y, seed, most, ordered
        self._known: dict[int, tuple[IntArray, IntArray]] = {}

    def __len__(self) -> int:
        return len(self.given)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(len(self)))]
        number = range(len(self))[number]
        if number not in self._known:
            train, test = self.given[number]
            if self.ordered:
                train = stratified_order(self.y, train, self.seed + number)
            if len(test) > self.most:
                ordered = stratified_order(self.y, test, self.seed + number, first=1)
                test = np.sort(ordered[: self.most])
            self._known[number] = train, test
        return self._known[number]


def fewest_training_rows(given: Sequence[tuple[IntArray, IntArray]]) -> int:
    """Return the rows of the smallest training part, or a number that it has at least."""
    if isinstance(given, HoldOuts):
        return given.fewest_training_rows
    return min(len(train) for train, _ in given)


def _folds(y: IntArray, n_splits: int, seed: int) -> Rounds:
    from sklearn.model_selection import StratifiedKFold

    folds = min(5, int(np.bincount(y).max()))
    found: Rounds = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        while len(found) < n_splits:
            splitter = StratifiedKFold(folds, shuffle=True, random_state=seed + len(found))
            found += splitter.split(np.zeros(len(y)), y)
    return found[:n_splits]


def _by_group(y: IntArray, groups: Any, n_splits: int, folds: int, seed: int) -> Rounds:
    from sklearn.model_selection import StratifiedGroupKFold

    names, numbers = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise ValueError("groups must have at least two groups, or no row can be tested.")
    folds = min(folds, len(names))
    # Few groups can be divided in few ways: the same split again would say nothing new, but count
    # as more evidence.
    found: dict[bytes, tuple[IntArray, IntArray]] = {}
    draws = 0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        while len(found) < n_splits and draws < n_splits:
            splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed + draws * folds)
            draws += 1
            for train, test in splitter.split(np.zeros(len(y)), y, numbers):
                if len(test) and len(train):
                    found.setdefault(np.unique(numbers[test]).tobytes(), (train, test))
    return list(found.values())[:n_splits]


def _by_time(order: Any, n_splits: int) -> Rounds:
    """Return windows: the first half trains, then each piece of the rest is tested in turn."""
    if order.dtype == object:
        order = order.astype(str)
    values, when = np.unique(order, return_inverse=True)
    if len(values) < 2:
        raise ValueError("order must have at least two different values.")
    rows = np.argsort(when, kind="stable")
    shares = np.linspace(FIRST_PAST, 1.0, n_splits + 1)[:-1]
    starts = np.minimum(np.round(shares * len(rows)).astype(int), len(rows) - 1)
    # Rows of the same time are on the same side.
    cuts = np.searchsorted(when[rows], when[rows][starts])
    cuts = np.unique(np.append(cuts[cuts > 0], len(rows)))
    return [(np.sort(rows[:start]), np.sort(rows[start:end])) for start, end in pairwise(cuts)]


def _judgeable(
    y: IntArray, train: IntArray, test: IntArray, free: bool
) -> tuple[IntArray, IntArray]:
    """Test only classes that the training part has; if rows may move, they train instead."""
    known = np.isin(y[test], y[train])
    if free and not known.all():
        train = np.concatenate([train, test[~known]])
    return train, test[known]


def stratified_order(y: IntArray, rows: IntArray, seed: int, first: int = 2) -> IntArray:
    """Put rows into an order in which every beginning has all classes in about their shares.

    Parameters
    ----------
    y : ndarray of int
        The class of every row of the table.
    rows : ndarray of int
        The rows to order.
    seed : int
        Seeds the order within the classes.
    first : int, default=2
        The rows of every class that come before all others.

    Returns
    -------
    rows : ndarray of int

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.compare._splits import stratified_order
    >>> y = np.repeat([0, 1], [90, 10])
    >>> np.bincount(y[stratified_order(y, np.arange(100), 0)[:50]]).tolist()
    [45, 5]
    """
    random = np.random.RandomState(seed)
    mixed = random.permutation(rows)
    by_class = mixed[np.argsort(y[mixed], kind="stable")]
    counts = np.unique(y[by_class], return_counts=True)[1]
    place = np.concatenate([np.arange(count) for count in counts])
    share: FloatArray = (place + 0.5) / np.repeat(counts, counts)
    share[place < first] -= 1.0
    ordered: IntArray = by_class[np.argsort(share, kind="stable")]
    return ordered


def grouped_folds(y: IntArray, groups: IntArray, wanted: int, seed: int) -> Rounds | None:
    """Return folds that keep groups together, each row tested once.

    Parameters
    ----------
    y, groups : ndarray of int
        The class and the group of every row.
    wanted : int
        The number of folds; fewer if there are fewer groups.
    seed : int
        Seeds the folds.

    Returns
    -------
    folds : list of (train, test), or None
        None if there is only one group, or a fold would leave only one class to learn from.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.compare._splits import grouped_folds
    >>> folds = grouped_folds(np.arange(12) % 2, np.repeat([0, 1, 2], 4), 5, 0)
    >>> sorted(test.tolist() for _, test in folds)
    [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    """
    from sklearn.model_selection import StratifiedGroupKFold

    folds = min(wanted, len(np.unique(groups)))
    if folds < 2:
        return None
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        found = list(splitter.split(np.zeros(len(y)), y, groups))
    found = [(train, test) for train, test in found if len(test) and len(train)]
    return found if all(len(np.unique(y[train])) > 1 for train, _ in found) else None


def periods(order: Any, n_periods: int = 5) -> IntArray:
    """Return the period of every row: consecutive ones with about as many rows each.

    Rows of the same time are in the same period.

    Parameters
    ----------
    order : ndarray of shape (n_rows,)
        The times.
    n_periods : int, default=5
        The number of periods, at most.

    Returns
    -------
    periods : ndarray of int

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.compare._splits import periods
    >>> periods(np.array([30, 10, 20, 20]), 2)
    array([1, 0, 1, 1])
    """
    if order.dtype == object:
        order = order.astype(str)
    _, when, counts = np.unique(order, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    found: IntArray = (middle * n_periods / len(order)).astype(np.intp)[when.reshape(-1)]
    return found


def most_test_rows(n_classes: int) -> int:
    """Return how many rows of a test part are used at most."""
    return min(MOST_TEST_ROWS, max(1000, MOST_TEST_CELLS // n_classes))
