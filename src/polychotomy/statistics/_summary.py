"""Mean and deviation of runs, and their distance from printed ones."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._runs import run_array


@dataclass(frozen=True)
class Summary:
    """The mean and deviation of a method's runs.

    Attributes
    ----------
    mean : float
        The mean; NaN if every run failed.
    deviation : float
        The sample standard deviation (divisor n - 1); NaN for fewer than two runs.
    n_runs, n_failed : int
        The runs that count, and those that failed.

    Examples
    --------
    >>> from polychotomy.statistics import summarise
    >>> summary = summarise([1.0, 2.0, 3.0, float("nan")])
    >>> print(summary)
    2.00 +- 1.00 (3 runs, 1 failed)
    """

    mean: float
    deviation: float
    n_runs: int
    n_failed: int = 0

    @property
    def standard_error(self) -> float:
        """The standard error of the mean, ``deviation / sqrt(n_runs)``."""
        return float(self.deviation / np.sqrt(self.n_runs)) if self.n_runs else np.nan

    def __str__(self) -> str:
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        return f"{self.mean:.2f} +- {self.deviation:.2f} ({self.n_runs} runs{failed})"


def summarise(values: ArrayLike) -> Summary:
    """Return the mean and the sample deviation of some runs.

    Parameters
    ----------
    values : array-like of shape (n_runs,)
        One figure for each run, NaN for a failed one.

    Returns
    -------
    summary : Summary

    Examples
    --------
    >>> from polychotomy.statistics import summarise
    >>> summarise([4.0, 6.0]).standard_error
    1.0
    """
    array = run_array(values, "values")
    good = array[~np.isnan(array)]
    return Summary(
        mean=float(good.mean()) if len(good) else np.nan,
        deviation=float(good.std(ddof=1)) if len(good) > 1 else np.nan,
        n_runs=len(good),
        n_failed=len(array) - len(good),
    )


@dataclass(frozen=True)
class Printed:
    """A mean and deviation as a paper prints them.

    Attributes
    ----------
    mean, deviation : float
        As printed.
    n_runs : int
        The number of runs.
    mean_unit, deviation_unit : float
        The last printed digit's unit, 0.01 for two decimals: the true value lies within half of
        it. 0 for values that are exact.

    Examples
    --------
    >>> from polychotomy.statistics import Printed
    >>> Printed.parse("7.66±0.73", n_runs=20)
    Printed(mean=7.66, deviation=0.73, n_runs=20, mean_unit=0.01, deviation_unit=0.01)
    >>> Printed.parse("87.5(2.7)", n_runs=10).mean_unit
    0.1
    """

    mean: float
    deviation: float
    n_runs: int
    mean_unit: float = 0.0
    deviation_unit: float = 0.0

    @classmethod
    def parse(cls, text: str, n_runs: int) -> Printed:
        """Read ``mean±deviation``, ``mean+-deviation`` or ``mean(deviation)``."""
        number = r"([-+]?(?:\d+\.?\d*|\.\d+))"
        found = re.fullmatch(rf"\s*{number}\s*(?:±|\+-|\()\s*{number}\s*\)?\s*", text)
        if not found:
            raise ValueError(f"{text!r} is not a mean and deviation like 7.66±0.73 or 87.5(2.7).")
        decimals = [len(part.partition(".")[2]) for part in found.groups()]
        units = [float(f"1e-{places}") for places in decimals]
        return cls(float(found[1]), float(found[2]), n_runs, *units)


@dataclass(frozen=True)
class PrintedDifference:
    """How far our mean is from a printed one.

    Attributes
    ----------
    difference : float
        Our mean minus the printed one.
    standard_error : float
        ``sqrt(s1^2 / n1 + s2^2 / n2)``: both means are over a number of runs.
    standard_errors : float
        The difference in standard errors.
    at_least : float
        The same, made as small as the rounding of the printed values allows: the printed mean
        moved towards ours, and the printed deviation up, by half a unit of their last digits.

    Examples
    --------
    >>> from polychotomy.statistics import Printed, compare_with_printed, Summary
    >>> ours = Summary(mean=7.90, deviation=0.80, n_runs=20)
    >>> print(compare_with_printed(ours, Printed.parse("7.66±0.73", n_runs=20)))
    0.24, or 0.99 standard errors (at least 0.97, for the rounding)
    """

    difference: float
    standard_error: float
    standard_errors: float
    at_least: float

    def __str__(self) -> str:
        return (
            f"{self.difference:.2f}, or {self.standard_errors:.2f} standard errors "
            f"(at least {self.at_least:.2f}, for the rounding)"
        )


def compare_with_printed(ours: Summary, printed: Printed) -> PrintedDifference:
    """Return how many standard errors our mean is from a printed one.

    Parameters
    ----------
    ours : Summary
        Our runs.
    printed : Printed
        The paper's.

    Returns
    -------
    difference : PrintedDifference
        NaN where either has no deviation (a single run, or none that worked); infinite where both
        deviations are 0 and the means differ.

    Notes
    -----
    Given the rows of a data set, random partitions are independent draws, so that this is the
    standard error between two studies of the same rows. Where the rows are others (a new sample
    of waveform or led) means vary more than it says.

    Examples
    --------
    >>> from polychotomy.statistics import Printed, compare_with_printed, summarise
    >>> found = compare_with_printed(summarise([7.0, 8.0, 9.0]), Printed(8.0, 1.0, 3))
    >>> found.standard_errors
    0.0
    """
    if printed.n_runs < 1:
        raise ValueError(f"printed.n_runs must be at least 1, got {printed.n_runs!r}.")

    def error(deviation: float) -> float:
        return float(np.hypot(ours.standard_error, deviation / np.sqrt(printed.n_runs)))

    gap = ours.mean - printed.mean
    nearest = float(np.copysign(max(abs(gap) - printed.mean_unit / 2, 0.0), gap))
    plain, widest = error(printed.deviation), error(printed.deviation + printed.deviation_unit / 2)
    return PrintedDifference(gap, plain, _in_units(gap, plain), _in_units(nearest, widest))


def _in_units(gap: float, unit: float) -> float:
    if np.isnan(gap) or np.isnan(unit):
        return np.nan
    if unit > 0:
        return float(gap / unit)
    return float(np.copysign(np.inf, gap)) if gap else 0.0
