"""Ranks of several methods over several data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..core.types import FloatArray
from ._runs import refuse_infinite, run_array


def average_ranks(scores: ArrayLike, *, lower_is_better: bool = True) -> FloatArray:
    """Return the mean rank of every method, 1 being the best.

    Parameters
    ----------
    scores : array-like of shape (n_data_sets, n_methods)
        The figures; methods that are equal on a data set share the mean of their ranks, and data
        sets with a NaN are skipped.
    lower_is_better : bool, default=True
        True for errors, False for accuracies.

    Returns
    -------
    ranks : ndarray of shape (n_methods,)

    Examples
    --------
    >>> from polychotomy.statistics import average_ranks
    >>> average_ranks([[0.1, 0.2, 0.2], [0.3, 0.5, 0.4]])
    array([1.  , 2.75, 2.25])
    """
    table, _ = _complete(scores)
    return _mean_ranks(_ranks(table, lower_is_better))


@dataclass(frozen=True)
class FriedmanTest:
    """The result of Friedman's test, and of Iman and Davenport's.

    Attributes
    ----------
    statistic, p_value : float
        Friedman's chi-square, with ``n_methods - 1`` degrees of freedom.
    f_statistic, f_p_value : float
        Iman and Davenport's F, with ``n_methods - 1`` and ``(n_methods - 1)(n_data_sets - 1)``
        degrees of freedom: the one to report, as the chi-square is too cautious.
    n_methods, n_data_sets, n_dropped : int
        The methods, the data sets that count, and those skipped.

    Examples
    --------
    >>> from polychotomy.statistics import friedman_test
    >>> print(friedman_test([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 2.0, 3.0]]))
    Friedman 4.67, p = 0.097; Iman-Davenport 7.00, p = 0.0494 (3 methods, 3 data sets)
    """

    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float
    n_methods: int
    n_data_sets: int
    n_dropped: int

    def __str__(self) -> str:
        dropped = f", {self.n_dropped} left out" if self.n_dropped else ""
        return (
            f"Friedman {self.statistic:.2f}, p = {self.p_value:.3g}; Iman-Davenport "
            f"{self.f_statistic:.2f}, p = {self.f_p_value:.3g} ({self.n_methods} methods, "
            f"{self.n_data_sets} data sets{dropped})"
        )


def friedman_test(scores: ArrayLike, *, correct_ties: bool = True) -> FriedmanTest:
    """Test whether several methods perform equally, by their ranks on several data sets.

    Parameters
    ----------
    scores : array-like of shape (n_data_sets, n_methods)
        The figures. Data sets with a NaN are skipped.
    correct_ties : bool, default=True
        Divide by the variance that the ranks really have, as SciPy does; False leaves out the
        correction for ties, as Demsar (2006) does.

    Returns
    -------
    result : FriedmanTest
        NaN for a single data set. If all methods are equal everywhere
        the statistics are 0. If all data sets agree on the ranks, F is infinite.

    Examples
    --------
    >>> from polychotomy.statistics import friedman_test
    >>> friedman_test([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]).statistic
    1.0
    """
    table, n_dropped = _complete(scores)
    ranks = _ranks(table, lower_is_better=True)
    n, k = ranks.shape
    if n < 2:
        return FriedmanTest(np.nan, np.nan, np.nan, np.nan, k, n, n_dropped)
    middle = (k + 1) / 2
    # Without ties the squares of a row sum to k (k^2 - 1) / 12.
    spread = ((ranks - middle) ** 2).sum() if correct_ties else n * k * (k**2 - 1) / 12
    between = n * ((ranks.mean(axis=0) - middle) ** 2).sum()
    chi_square = float(n * (k - 1) * between / spread) if spread else 0.0
    left = n * (k - 1) - chi_square
    # If all data sets agree, what remains is rounding error.
    agreed = left <= 1e-9 * n * (k - 1)
    f = np.inf if agreed else (n - 1) * chi_square / left
    return FriedmanTest(
        statistic=chi_square,
        p_value=float(stats.chi2.sf(chi_square, k - 1)),
        f_statistic=f,
        f_p_value=float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))),
        n_methods=k,
        n_data_sets=n,
        n_dropped=n_dropped,
    )


def critical_difference(n_methods: int, n_data_sets: int, alpha: float = 0.05) -> float:
    """Return Nemenyi's critical difference of mean ranks.

    ``q_alpha sqrt(k (k + 1) / (6 N))`` for k methods on N data sets, where ``q_alpha`` is the
    quantile of the studentised range over the square root of 2 (Demsar, section 3.2.2). Two
    methods differ if their mean ranks differ by at least as much.

    Parameters
    ----------
    n_methods, n_data_sets : int
        At least two methods, and one data set.
    alpha : float, default=0.05
        The probability of claiming a difference where there is none.

    Returns
    -------
    difference : float

    Examples
    --------
    >>> from polychotomy.statistics import critical_difference
    >>> round(critical_difference(4, 14), 2)  # Demsar (2006), page 16
    1.25
    """
    if n_methods < 2 or n_data_sets < 1:
        raise ValueError(
            f"A critical difference needs at least two methods and one data set, got "
            f"n_methods={n_methods} and n_data_sets={n_data_sets}."
        )
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}.")
    q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data_sets)))


def indistinguishable(ranks: ArrayLike, difference: float) -> list[tuple[int, ...]]:
    """Return the largest groups of methods none of which differ from one another.

    Parameters
    ----------
    ranks : array-like of shape (n_methods,)
        The mean ranks.
    difference : float
        The critical difference; ranks that are as far apart as that do differ.

    Returns
    -------
    groups : list of tuple of int
        Numbers of methods, the best first, without groups of a single method and groups that are
        part of another one.

    Examples
    --------
    >>> from polychotomy.statistics import indistinguishable
    >>> indistinguishable([3.143, 2.0, 2.893, 1.964], 1.12)
    [(3, 1, 2), (2, 0)]
    """
    ranks = run_array(ranks, "ranks")
    order = np.argsort(ranks, kind="stable")
    ordered = ranks[order]
    groups: list[tuple[int, ...]] = []
    reached = 0
    for start, best in enumerate(ordered):
        end = start + int((ordered[start:] - best < difference).sum())
        if end - start > 1 and end > reached:
            groups.append(tuple(order[start:end].tolist()))
        reached = max(reached, end)
    return groups


@dataclass(frozen=True)
class MethodRanking:
    """Methods ranked over several data sets, and which of them are distinguishable.

    Attributes
    ----------
    methods : tuple of str
        The methods, the best first.
    ranks : tuple of float
        Their mean ranks.
    friedman : FriedmanTest
        The test whether all perform equally.
    critical_difference : float
        Mean ranks that are as far apart as this differ (Nemenyi); NaN without data sets.
    groups : tuple of tuple of str
        The largest groups of methods that are not distinguishable.
    alpha : float
        The level of the critical difference.

    Examples
    --------
    >>> from polychotomy.statistics import rank_methods
    >>> scores = [[0.1, 0.2, 0.3], [0.1, 0.3, 0.4], [0.2, 0.3, 0.5], [0.1, 0.2, 0.4]]
    >>> print(rank_methods(scores, ["a", "b", "c"]))
    rank  method
    1.00  a
    2.00  b
    3.00  c
    Friedman 8.00, p = 0.0183; Iman-Davenport inf, p = 0 (3 methods, 4 data sets)
    critical difference at 0.05: 1.66; not told apart: a = b, b = c
    """

    methods: tuple[str, ...]
    ranks: tuple[float, ...]
    friedman: FriedmanTest
    critical_difference: float
    groups: tuple[tuple[str, ...], ...]
    alpha: float

    def __str__(self) -> str:
        rows = [f"{r:.2f}  {m}" for r, m in zip(self.ranks, self.methods, strict=True)]
        alike = ", ".join(" = ".join(group) for group in self.groups) or "none"
        last = (
            f"critical difference at {self.alpha:g}: {self.critical_difference:.2f}; "
            f"not told apart: {alike}"
        )
        return "\n".join(["rank  method", *rows, str(self.friedman), last])


def rank_methods(
    scores: ArrayLike,
    methods: Sequence[str],
    *,
    lower_is_better: bool = True,
    alpha: float = 0.05,
) -> MethodRanking:
    """Rank methods over several data sets: Friedman's test, then Nemenyi's.

    Parameters
    ----------
    scores : array-like of shape (n_data_sets, n_methods)
        The figures. Data sets with a NaN are skipped.
    methods : sequence of str
        The names of the methods.
    lower_is_better : bool, default=True
        True for errors, False for accuracies.
    alpha : float, default=0.05
        The level of the critical difference.

    Returns
    -------
    ranking : MethodRanking

    Examples
    --------
    >>> from polychotomy.statistics import rank_methods
    >>> rank_methods([[0.1, 0.2], [0.1, 0.3], [0.4, 0.3]], ["a", "b"]).groups
    (('a', 'b'),)
    """
    table, _ = _complete(scores)
    names = list(methods)
    if len(names) != table.shape[1] or len(set(names)) < len(names):
        raise ValueError(
            f"methods must be {table.shape[1]} different names, one for each column of scores; "
            f"got {names!r}."
        )
    ranks = _mean_ranks(_ranks(table, lower_is_better))
    n = len(table)
    difference = critical_difference(len(names), n, alpha) if n else np.nan
    order = np.argsort(ranks, kind="stable")
    groups = indistinguishable(ranks, difference) if n else []
    return MethodRanking(
        methods=tuple(names[i] for i in order),
        ranks=tuple(float(ranks[i]) for i in order),
        friedman=friedman_test(scores),
        critical_difference=difference,
        groups=tuple(tuple(names[i] for i in group) for group in groups),
        alpha=alpha,
    )


def _complete(scores: ArrayLike) -> tuple[FloatArray, int]:
    """Return the data sets on which no method failed, and the number of the others."""
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError(
            "scores must have a row for each data set and a column for each of two or more "
            f"methods; got an array of shape {table.shape}."
        )
    refuse_infinite(table, "scores", "row")
    good = ~np.isnan(table).any(axis=1)
    return table[good], int((~good).sum())


def _ranks(table: FloatArray, lower_is_better: bool) -> FloatArray:
    signed = table if lower_is_better else -table
    ranks: FloatArray = stats.rankdata(signed, axis=1) if len(table) else np.empty(table.shape)
    return ranks


def _mean_ranks(ranks: FloatArray) -> FloatArray:
    mean: FloatArray = ranks.mean(axis=0) if len(ranks) else np.full(ranks.shape[1], np.nan)
    return mean
