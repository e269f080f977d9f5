"""Tests of two methods on paired runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..core.checks import one_of, positive_number
from ..core.types import FloatArray
from ._runs import run_array

ALTERNATIVES = ("less", "greater", "two-sided")
# With more pairs than this the signed-rank distribution is practically normal.
MOST_EXACT_PAIRS = 100


@dataclass(frozen=True)
class PairedTest:
    """The result of a test on paired runs.

    Attributes
    ----------
    test : str
        The name of the test, and its alternative.
    statistic, p_value : float
        NaN if there were too few pairs.
    difference : float
        The mean of first minus second.
    n_pairs, n_dropped : int
        The pairs that count, and those skipped because a run failed.

    Examples
    --------
    >>> from polychotomy.statistics import paired_t_test
    >>> print(paired_t_test([1.0, 2.0, 2.5, 3.0], [2.0, 2.5, 4.0, 5.0]))
    paired t-test, less: difference -1.25, statistic -3.87, p = 0.0152 (4 pairs)
    """

    test: str
    statistic: float
    p_value: float
    difference: float
    n_pairs: int
    n_dropped: int

    def __str__(self) -> str:
        dropped = f", {self.n_dropped} left out" if self.n_dropped else ""
        return (
            f"{self.test}: difference {self.difference:.4g}, statistic {self.statistic:.2f}, "
            f"p = {self.p_value:.3g} ({self.n_pairs} pairs{dropped})"
        )


def paired_t_test(first: ArrayLike, second: ArrayLike, alternative: str = "less") -> PairedTest:
    """Compare two methods by the paired t-test, as DUAN03 does.

    With the default alternative a small p-value says that the first method's errors are smaller,
    a p-value near 1 that they are larger.

    Parameters
    ----------
    first, second : array-like of shape (n_runs,)
        The figures of both methods on the same partitions.
    alternative : {"less", "greater", "two-sided"}, default="less"
        The claim about the first method's mean.

    Returns
    -------
    result : PairedTest

    Notes
    -----
    If all differences are zero, neither method is favoured: the statistic is 0 (p = 0.5
    one-sided, 1 two-sided). If they all have one other value it is infinite.

    Random partitions share rows, so that for claims beyond these rows the runs are not
    independent and the p-values too small; see `corrected_t_test`.

    Examples
    --------
    >>> from polychotomy.statistics import paired_t_test
    >>> round(paired_t_test([1.0, 2.0, 2.5, 3.0], [2.0, 2.5, 4.0, 5.0]).p_value, 4)
    0.0152
    """
    return _t_test(first, second, 0.0, f"paired t-test, {alternative}", alternative)


def corrected_t_test(
    first: ArrayLike, second: ArrayLike, *, test_to_train: float, alternative: str = "less"
) -> PairedTest:
    """Compare two methods by the corrected resampled t-test of Nadeau and Bengio (2003).

    The variance of the mean difference over J random partitions is taken to be
    ``(1 / J + n_test / n_train) * s^2`` instead of ``s^2 / J``, because the training parts
    overlap.

    Parameters
    ----------
    first, second : array-like of shape (n_runs,)
        The figures of both methods on the same partitions.
    test_to_train : float
        The number of test rows over the number of training rows, 0.5 for 2/3 against 1/3.
    alternative : {"less", "greater", "two-sided"}, default="less"
        The claim about the first method's mean.

    Returns
    -------
    result : PairedTest

    Examples
    --------
    >>> from polychotomy.statistics import corrected_t_test
    >>> first, second = [1.0, 2.0, 2.5, 3.0], [2.0, 2.5, 4.0, 5.0]
    >>> round(corrected_t_test(first, second, test_to_train=0.5).p_value, 4)
    0.0557
    """
    ratio = positive_number(test_to_train, "test_to_train")
    return _t_test(first, second, ratio, f"corrected t-test, {alternative}", alternative)


def _t_test(
    first: ArrayLike, second: ArrayLike, ratio: float, test: str, alternative: str
) -> PairedTest:
    one_of(alternative, "alternative", ALTERNATIVES)
    differences, n_dropped = _differences(first, second)
    n = len(differences)
    mean = float(differences.mean()) if n else np.nan
    if n < 2:
        return PairedTest(test, np.nan, np.nan, mean, n, n_dropped)
    error = differences.std(ddof=1) * np.sqrt(1 / n + ratio)
    # By rounding, equal differences can have a deviation that is not exactly zero.
    if np.ptp(differences) == 0:
        statistic = float(np.sign(mean) * np.inf) if mean else 0.0
    else:
        statistic = float(mean / error)
    low, high = stats.t.cdf(statistic, n - 1), stats.t.sf(statistic, n - 1)
    return PairedTest(test, statistic, _p_value(low, high, alternative), mean, n, n_dropped)


def _p_value(low: float, high: float, alternative: str) -> float:
    """Return the p-value, given the probabilities of results as low, and as high, as this one."""
    if alternative == "two-sided":
        return min(1.0, 2.0 * float(min(low, high)))
    return float(low if alternative == "less" else high)


def wilcoxon_test(
    first: ArrayLike, second: ArrayLike, alternative: str = "two-sided"
) -> PairedTest:
    """Compare two methods by Wilcoxon's signed-rank test.

    Parameters
    ----------
    first, second : array-like of shape (n_pairs,)
        The figures of both methods: their means on several data sets, or runs on one.
    alternative : {"less", "greater", "two-sided"}, default="two-sided"
        The claim about the first method.

    Returns
    -------
    result : PairedTest
        The statistic is the smaller of the two sums of ranks.

    Notes
    -----
    Differences of zero are ranked too, and their ranks split evenly between both sums (Demsar,
    section 3.1.3); equal differences share the mean of their ranks. The p-value is exact, given
    the ranks, for up to 100 pairs, and from the normal approximation beyond. If all differences
    are zero it is 1.

    Examples
    --------
    >>> from polychotomy.statistics import wilcoxon_test
    >>> first, second = [1.0, 2.0, 2.5, 3.0, 4.0], [2.0, 2.5, 4.0, 5.0, 4.0]
    >>> result = wilcoxon_test(first, second)
    >>> result.statistic, result.p_value
    (0.5, 0.125)
    """
    one_of(alternative, "alternative", ALTERNATIVES)
    test = f"Wilcoxon, {alternative}"
    differences, n_dropped = _differences(first, second)
    n = len(differences)
    if not n:
        return PairedTest(test, np.nan, np.nan, np.nan, 0, n_dropped)
    ranks = stats.rankdata(np.abs(differences))
    above, below, tied = (
        float(ranks[side].sum()) for side in (differences > 0, differences < 0, differences == 0)
    )
    low, high = _signed_rank_tails(ranks[differences != 0], above)
    p_value = _p_value(low, high, alternative)
    mean = float(differences.mean())
    return PairedTest(test, min(above, below) + tied / 2, p_value, mean, n, n_dropped)


def _signed_rank_tails(ranks: FloatArray, above: float) -> tuple[float, float]:
    """Return P(W <= above) and P(W >= above) for the sum W of ranks with random signs."""
    if len(ranks) > MOST_EXACT_PAIRS:
        z = (above - ranks.sum() / 2) / np.sqrt((ranks**2).sum() / 4)
        return float(stats.norm.cdf(z)), float(stats.norm.sf(z))
    # Shared ranks end in one half, so that twice a rank is whole.
    doubled = np.rint(2 * ranks).astype(int)
    probability = np.ones(1)
    for rank in doubled:
        without = np.pad(probability, (0, rank))
        probability = 0.5 * (without + np.pad(probability, (rank, 0)))
    at = round(2 * above)
    return float(probability[: at + 1].sum()), float(probability[at:].sum())


def _differences(first: ArrayLike, second: ArrayLike) -> tuple[FloatArray, int]:
    """Return the differences of pairs without a failed run, and how many pairs had one."""
    a, b = run_array(first, "first"), run_array(second, "second")
    if len(a) != len(b):
        raise ValueError(
            f"first and second must be runs on the same partitions; they have {len(a)} and "
            f"{len(b)} runs."
        )
    differences = a - b
    good = differences[~np.isnan(differences)]
    return good, len(a) - len(good)
