"""Where a method is good and where it is bad: by class, by pair of classes, by slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray, IntArray

if TYPE_CHECKING:
    from ._comparison import MethodComparison

# Slices with fewer test rows say too little.
FEWEST_ROWS = 20
MOST_CATEGORIES = 20
# For probabilities after tempering: the classes at most, the entries of all probabilities that are
# tempered, and the splits if there would be more.
MOST_TEMPERED, TEMPERED_WORK, FEW_SPLITS = 100, 300_000, 3


def class_figures(comparison: MethodComparison, name: str | None = None) -> list[dict[str, Any]]:
    """Return precision, recall, F1 and one-vs-rest AUC of every class.

    Parameters
    ----------
    comparison : MethodComparison
        The comparison.
    name : str, default=None
        The method; the recommended one by default.

    Returns
    -------
    rows : list of dict
        "class", "rows" (in the table), "tested" (test rows of all splits), "precision", "recall",
        "f1" and "auc"; None where it is not defined.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy.compare import class_figures, compare_methods
    >>> X, y = load_iris(return_X_y=True)
    >>> found = class_figures(compare_methods(X, y, ["PWC_PSVM"], n_splits=2))
    >>> found[0]["class"], found[0]["recall"], found[0]["auc"]
    (0, 1.0, 1.0)
    """
    rows, _, p = comparison.pooled(name)
    y, counts = comparison.y[rows], comparison.confusion(name)
    true, said = counts.sum(axis=1), counts.sum(axis=0)
    sizes = np.bincount(comparison.y, minlength=len(comparison.classes))
    found = []
    for k, label in enumerate(comparison.classes.tolist()):
        right = int(counts[k, k])
        precision = _ratio(right, said[k])
        recall = _ratio(right, true[k])
        both = None if precision is None or recall is None else precision + recall
        found.append(
            {
                "class": label,
                "rows": int(sizes[k]),
                "tested": int(true[k]),
                "precision": precision,
                "recall": recall,
                "f1": _ratio(2 * right, true[k] + said[k]) if both is not None else None,
                "auc": None if p is None else area(p[:, k], y == k),
            }
        )
    return found


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def area(scores: FloatArray, positive: Any) -> float | None:
    """Return the area under the ROC curve, by ranks; None without rows on both sides.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Larger for rows that are more likely positive.
    positive : ndarray of bool of shape (n,)
        Which rows are.

    Returns
    -------
    area : float or None

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.compare._per_class import area
    >>> area(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True]))
    0.875
    """
    from scipy.stats import rankdata

    n = int(np.sum(positive))
    if not 0 < n < len(scores):
        return None
    ranks = rankdata(scores)[positive].sum()
    return float((ranks - n * (n + 1) / 2) / (n * (len(scores) - n)))


def worst_confusions(
    comparison: MethodComparison, most: int = 10, name: str | None = None
) -> list[dict[str, Any]]:
    """Return the classes that are taken for others most often.

    Parameters
    ----------
    comparison : MethodComparison
        The comparison.
    most : int, default=10
        The number of pairs to return.
    name : str, default=None
        The method; the recommended one by default.

    Returns
    -------
    pairs : list of dict
        "class", "taken_for", "rows" and "share" (of the class's test rows), the most rows first.
    """
    return confused(comparison.confusion(name), comparison.classes.tolist(), most)


def confused(counts: IntArray, labels: Sequence[Any], most: int = 10) -> list[dict[str, Any]]:
    """Return the largest entries of a confusion matrix; see `worst_confusions`."""
    true = counts.sum(axis=1)
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    return [
        {
            "class": labels[i],
            "taken_for": labels[j],
            "rows": int(wrong[i, j]),
            "share": float(wrong[i, j] / true[i]),
        }
        for i, j in (divmod(int(place), len(labels)) for place in order)
        if wrong[i, j]
    ]


def error_of_all_rows(comparison: MethodComparison, name: str | None = None) -> float:
    """Return the error of a method, the recommended one by default, all test rows together."""
    rows, predicted, _ = comparison.pooled(name)
    return float((predicted != comparison.y[rows]).mean())


def slices(
    comparison: MethodComparison, X: Any, most: int = 10, name: str | None = None
) -> list[dict[str, Any]]:
    """Return the categories and quarters of the columns in which the error is largest.

    Parameters
    ----------
    comparison : MethodComparison
        The comparison.
    X : DataFrame
        The inputs of the compared rows.
    most : int, default=10
        The number of slices to return.
    name : str, default=None
        The method; the recommended one by default.

    Returns
    -------
    slices : list of dict
        "column", "where", "rows" (test rows of all splits), "error", and "standard_error"; only
        slices whose error is above that of all rows by two standard errors or more.
    """
    rows, predicted, _ = comparison.pooled(name)
    wrong = predicted != comparison.y[rows]
    whole = error_of_all_rows(comparison, name)
    variance = max(whole * (1 - whole), 1e-12)
    found: list[dict[str, Any]] = []
    for column in X.columns:
        values = X[column].to_numpy()[rows]
        for where, inside in _parts(values):
            n = int(inside.sum())
            if n < FEWEST_ROWS or n == len(rows):
                continue
            error = float(wrong[inside].mean())
            if error <= whole + 2.0 * np.sqrt(variance / n):
                continue  # nor with fewer distinct rows, which take time to count
            # Rows are tested several times: their number is that of distinct rows.
            distinct = len(np.unique(rows[inside]))
            spread = float(np.sqrt(variance / distinct))
            if error > whole + 2.0 * spread:
                found.append(
                    {
                        "column": str(column),
                        "where": where,
                        "rows": n,
                        "error": error,
                        "standard_error": spread,
                    }
                )
    return sorted(found, key=lambda one: one["standard_error"] * 2 - one["error"])[:most]


def day_words(moment: Any) -> str:
    """Write a moment as people do: only the day, if it has no time; a time without day, too."""
    return str(moment).replace("T", " ").removeprefix("0 days ").removesuffix(" 00:00:00")


def _parts(values: Any) -> list[tuple[str, Any]]:
    if values.dtype.kind == "M":
        seconds = values.astype("datetime64[s]").astype(np.int64).astype(float)
        return _quarters(
            seconds,
            np.isnat(values),
            lambda value: day_words(np.datetime64(int(value), "s")),
        )
    if values.dtype.kind == "m":
        seconds = values.astype("timedelta64[s]").astype(np.int64).astype(float)
        return _quarters(
            seconds, np.isnat(values), lambda value: str(timedelta(seconds=int(value))).zfill(8)
        )
    if values.dtype.kind in "fiu":
        numbers = values.astype(float)
        return _quarters(numbers, np.isnan(numbers), lambda value: f"{value:.4g}")
    import pandas

    # By hashes: an array of texts is as wide as the longest of them.
    numbers, names = pandas.factorize(values)
    counts = np.bincount(numbers[numbers >= 0], minlength=len(names))
    often = sorted(range(len(names)), key=lambda k: (-counts[k], str(names[k])))[:MOST_CATEGORIES]
    parts = [("missing", numbers < 0)] if (numbers < 0).any() else []
    return parts + [(str(names[k]), numbers == k) for k in often]


def _quarters(
    numbers: FloatArray, missing: NDArray[np.bool_], words: Callable[[float], str]
) -> list[tuple[str, Any]]:
    """Divide numbers into four parts with as many each, and those that are missing."""
    parts = [("missing", missing)] if missing.any() else []
    if missing.all():
        return parts
    ends = np.unique(np.quantile(numbers[~missing], [0.0, 0.25, 0.5, 0.75, 1.0]))
    if len(ends) < 3:
        return parts
    place = np.searchsorted(ends[1:-1], numbers, side="left")
    for k in range(len(ends) - 1):
        inside = (place == k) & ~missing
        parts.append((f"{words(ends[k])} to {words(ends[k + 1])}", inside))
    return parts


def recalibrated(comparison: MethodComparison, name: str | None = None) -> dict[str, float] | None:
    """Return the calibration error and NLL as they are, and after tempering on other splits.

    Returns
    -------
    figures : dict or None
        "before" and "after" (calibration error), "nll_before" and "nll_after"; None with fewer
        than two splits, without probabilities, or with hundreds of classes.

    Notes
    -----
    With many rows or splits only some of them are used: it takes time when there is none left.
    """
    from ..core import scores
    from ..tempering.tempering import Tempering

    runs, n_classes = comparison.runs(name), len(comparison.classes)
    if len(runs) < 2 or any(one.p is None for one in runs) or n_classes > MOST_TEMPERED:
        return None
    if n_classes * len(runs) * sum(len(one.rows) for one in runs) > TEMPERED_WORK:
        runs = runs[:FEW_SPLITS]
    most = TEMPERED_WORK // (n_classes * len(runs))
    after = []
    for number in range(len(runs)):
        others = [one for k, one in enumerate(runs) if k != number]
        # A row that is tested here must not have taught the tempering.
        own = np.isin(np.concatenate([one.rows for one in others]), runs[number].rows)
        p = np.concatenate([_p(one) for one in others])[~own]
        y = comparison.y[np.concatenate([one.rows for one in others])][~own]
        step = -(-len(y) // most) if len(y) else 1
        if len(np.unique(y[::step])) < 2:
            return None
        after.append(Tempering().fit(p[::step], y[::step]).transform(_p(runs[number])))
    y = comparison.y[np.concatenate([one.rows for one in runs])]
    both = (np.concatenate([_p(one) for one in runs]), np.concatenate(after))
    first, second = (scores.calibration_error(p, y) for p in both)
    nlls = [float(scores.nll(p, y)) for p in both]
    return {
        "before": float(first),
        "after": float(second),
        "nll_before": nlls[0],
        "nll_after": nlls[1],
    }


def _p(held: Any) -> FloatArray:
    p: FloatArray = np.asarray(held.p, dtype=np.float64)
    return p
