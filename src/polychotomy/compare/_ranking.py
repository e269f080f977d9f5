"""The ranking of a comparison, and how certain each place of it is.

Design note: training parts of different splits overlap, so that the plain paired t-test is far too
confident. Nadeau and Bengio's correction is used throughout. Ranks over splits (Friedman) would
need independent splits too, and say nothing about the size of a difference.

Design note: a difference that is not significant is no proof that there is none. A method is called
as good as another only if the upper bound of the difference is below a margin.

Design note: the bound is for the mean over training sets of this size, not for one fit, as all
figures of a comparison are. On 17 sets (200 rows), of all ordered pairs of methods that it calls as
good, 98 % were within the margin in the mean over two training sets, and 97 % for one fit. To add a
quarter to the factor of the variance, for the noise of one fit, lost: a fifth fewer pairs, no more
of them right in the mean. See `docs/benchmarks.md` for what is not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from ..core import scores
from ..core.types import FloatArray
from ..statistics import corrected_t_test
from ._candidates import BASELINE
from ._words import extent

if TYPE_CHECKING:
    from ._comparison import MethodComparison

FIGURES = ("error", "nll", "brier")
# Methods are called equally good if one is behind by less than this share of what the best method
# gains over the baseline.
MARGIN = 0.02
CONFIDENCE = 0.95
# On fewer splits no method is called as good as another: differences that happen to agree on two
# splits have a small standard error.
FEW_SPLITS = 5


def ranked(comparison: MethodComparison) -> list[dict[str, Any]]:
    """Return a row for every method; see `MethodComparison.rows`."""
    figures = {name: comparison.figures(name) for name in FIGURES}
    judged = figures[comparison.criterion]
    means = {name: float(values.mean()) for name, values in judged.items()}
    # NaN, a method without probabilities, goes last; among those the error decides.
    order = sorted(
        judged,
        key=lambda name: (np.isnan(means[name]), means[name], figures["error"][name].mean()),
    )
    against = _tests(judged, [name for name in order if name != BASELINE.name], comparison)
    useless = means[BASELINE.name]
    rows = []
    for name in order:
        at, _, p = comparison.pooled(name)
        weights = comparison.pooled_weights(name)
        calibration = np.nan
        if p is not None:
            calibration = scores.calibration_error(p, comparison.y[at], weights)
        rows.append(
            {
                "method": name,
                "family": comparison.candidates[name].family,
                **{figure: float(values[name].mean()) for figure, values in figures.items()},
                "calibration": calibration,
                "seconds": float(np.mean([one.seconds for one in comparison.held_out[name]])),
                "train_rows": comparison.held_out[name][0].train_rows,
                "splits": comparison.n_splits,
                "worse_than_majority": bool(name != BASELINE.name and means[name] >= useless),
                **against[name],
            }
        )
    return [*rows, *_elsewhere(comparison)]


def _elsewhere(comparison: MethodComparison) -> list[dict[str, Any]]:
    """Return the rows of methods that were judged on fewer rows only."""
    rows = []
    for name, runs in comparison.others.items():
        figures = [one.figures(comparison.y[one.rows]) for one in runs]
        rows.append(
            {
                "method": name,
                "family": comparison.candidates[name].family,
                **{key: float(np.mean([one[key] for one in figures])) for key in FIGURES},
                "calibration": np.nan,
                "seconds": float(np.mean([one.seconds for one in runs])),
                "train_rows": runs[0].train_rows,
                "splits": len(runs),
                "worse_than_majority": False,
                "difference": np.nan,
                "standard_error": np.nan,
                "p_value": np.nan,
                "distinguishable": None,
                "verdict": "on fewer rows",
                "extent": extent(runs),
            }
        )
    return sorted(rows, key=lambda row: (-row["train_rows"], row[comparison.criterion]))


def _tests(
    judged: Mapping[str, FloatArray], order: Sequence[str], comparison: MethodComparison
) -> dict[str, dict[str, Any]]:
    """Compare every method with the best, the baseline too."""
    best = order[0] if order else BASELINE.name
    others = [name for name in judged if name != best]
    found: dict[str, dict[str, Any]] = {
        best: {
            "difference": 0.0,
            "standard_error": 0.0,
            "p_value": 1.0,
            "distinguishable": False,
            "verdict": "best",
        }
    }
    ratio = comparison.test_to_train
    # The baseline is no rival: it does not count in the correction for several tests.
    p_values = {name: _p_value(judged[name], judged[best], ratio) for name in others}
    adjusted = {**holm({k: p for k, p in p_values.items() if k != BASELINE.name})}
    adjusted.setdefault(BASELINE.name, p_values.get(BASELINE.name, np.nan))
    for name in others:
        differences = judged[name] - judged[best]
        p = adjusted[name]
        row = {
            "difference": float(differences.mean()),
            "standard_error": standard_error(differences, ratio),
            "p_value": p,
            "distinguishable": None if np.isnan(p) else bool(p < comparison.significance),
        }
        found[name] = {**row, "verdict": _verdict(row, differences, comparison)}
    return found


def _verdict(row: Mapping[str, Any], differences: FloatArray, comparison: MethodComparison) -> str:
    if row["distinguishable"]:
        return "behind"
    if within(differences, comparison.test_to_train, comparison.margin):
        return "as good"
    return "cannot tell"


def upper_bound(differences: FloatArray, test_to_train: float) -> float:
    """Return the largest mean difference that is still credible, at 95 %; NaN for one split.

    Parameters
    ----------
    differences : ndarray of shape (n_splits,)
        The differences on every split.
    test_to_train : float
        Test rows over training rows.

    Returns
    -------
    bound : float
        One-sided: the mean plus the quantile of Student's t times the corrected standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.compare._ranking import upper_bound
    >>> round(upper_bound(np.array([0.0, 0.1, 0.2]), 1 / 3), 3)
    0.338
    """
    spread = standard_error(differences, test_to_train)
    if np.isnan(spread):
        return float("nan")
    return float(differences.mean() + stats.t.ppf(CONFIDENCE, len(differences) - 1) * spread)


def within(differences: FloatArray, test_to_train: float, margin: float) -> bool:
    """Whether a method is behind another by less than a margin, as far as the splits can tell.

    Parameters
    ----------
    differences : ndarray of shape (n_splits,)
        The differences on every split.
    test_to_train : float
        Test rows over training rows.
    margin : float
        The margin.

    Returns
    -------
    within : bool
        False for fewer than 5 splits.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.compare._ranking import within
    >>> within(np.array([0.0, 0.01, 0.0, 0.01, 0.0]), 1 / 3, 0.02)
    True
    >>> within(np.array([0.01, 0.01]), 1 / 3, 0.02)
    False
    """
    enough = len(differences) >= FEW_SPLITS
    return enough and bool(upper_bound(differences, test_to_train) <= margin)


def _p_value(first: FloatArray, second: FloatArray, ratio: float) -> float:
    return corrected_t_test(first, second, test_to_train=ratio, alternative="two-sided").p_value


def standard_error(differences: FloatArray, test_to_train: float) -> float:
    """Return the standard error of a mean of paired differences, corrected for overlapping parts.

    Nadeau and Bengio (2003): ``sqrt(1 / J + n_test / n_train) s``.

    Parameters
    ----------
    differences : ndarray of shape (n_splits,)
        The differences on every split.
    test_to_train : float
        Test rows over training rows.

    Returns
    -------
    error : float
        NaN for a single split.
    """
    n = len(differences)
    if n < 2:
        return float("nan")
    return float(differences.std(ddof=1) * np.sqrt(1.0 / n + test_to_train))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Correct p-values for their number, by Holm's method; NaN stays.

    Parameters
    ----------
    p_values : mapping of str to float
        Of several tests.

    Returns
    -------
    adjusted : dict of float

    Examples
    --------
    >>> from polychotomy.compare._ranking import holm
    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    known = sorted((name for name, p in p_values.items() if p == p), key=p_values.__getitem__)
    adjusted, least = {}, 0.0
    for place, name in enumerate(known):
        least = max(least, min(1.0, (len(known) - place) * p_values[name]))
        adjusted[name] = least
    return adjusted | {name: p for name, p in p_values.items() if p != p}


def alike_groups(comparison: MethodComparison) -> list[list[str]]:
    """Return runs of neighbours in the ranking, no two of which are distinguishable."""
    judged = comparison.figures(comparison.criterion)
    names = [
        row["method"]
        for row in comparison.rows
        if row["method"] in comparison.methods and not np.isnan(row[comparison.criterion])
    ]
    if comparison.n_splits < 2:
        return []
    pairs = {
        f"{i} {j}": _p_value(judged[names[i]], judged[names[j]], comparison.test_to_train)
        for i in range(len(names))
        for j in range(i + 1, len(names))
    }
    alike = {key for key, p in holm(pairs).items() if not p < comparison.significance}
    groups: list[list[str]] = []
    end = 0
    for start in range(len(names)):
        stop = start + 1
        while stop < len(names) and all(f"{i} {stop}" in alike for i in range(start, stop)):
            stop += 1
        if stop > end:
            groups.append(names[start:stop])
            end = stop
    return groups
