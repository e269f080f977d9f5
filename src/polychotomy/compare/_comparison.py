"""What a comparison found, and how certain it is.

Design note: training parts of different splits overlap, so that the plain paired t-test is far too
confident. Nadeau and Bengio's correction is used throughout. Ranks over splits (Friedman) would
need independent splits too, and say nothing about the size of a difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import scores
from ..core.types import FloatArray, IntArray
from ..plots import ReliabilityCurves, reliability_curves
from ..statistics import corrected_t_test
from ._candidates import Candidate
from ._judging import HeldOut

FIGURES = ("error", "nll", "brier")
POOL = "POOL"


@dataclass(frozen=True)
class MethodComparison:
    """Methods tuned, and judged on rows they were not trained on; it prints as a ranking.

    Attributes
    ----------
    candidates : dict of Candidate
        The methods that were judged, in the order of the ranking.
    held_out : dict of list of HeldOut
        For every method, what it said about the test rows of every split.
    y : ndarray of int of shape (n_rows,)
        The classes of all rows, as numbers.
    classes : ndarray of shape (n_classes,)
        The class labels.
    test_to_train : float
        Test rows over training rows.
    protocol : str
        How the methods were judged, in words.
    left_out : dict of str
        The methods that were skipped, and why.
    notes : list of str
        Warnings of the methods.
    seconds : float
        How long the comparison took.
    level : float
        Differences with a smaller p-value are called distinguishable.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy.compare import compare_methods
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = compare_methods(X[::2], y[::2], ["logistic", "PWC_PSVM"], n_splits=3)
    >>> sorted(row["method"] for row in comparison.rows)
    ['PWC_PSVM', 'logistic']
    >>> comparison.n_splits, comparison.criterion
    (3, 'nll')
    """

    candidates: dict[str, Candidate]
    held_out: dict[str, list[HeldOut]]
    y: IntArray
    classes: NDArray[Any]
    test_to_train: float
    protocol: str
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    level: float = 0.05

    @property
    def n_splits(self) -> int:
        """The number of splits on which every method was judged."""
        return len(next(iter(self.held_out.values())))

    @property
    def criterion(self) -> str:
        """The score of the ranking: "nll", or "error" if no method has probabilities."""
        return "nll" if any(one.probabilities for one in self.candidates.values()) else "error"

    def figures(self, figure: str) -> dict[str, FloatArray]:
        """Return a figure of every method on every split.

        Parameters
        ----------
        figure : {"error", "nll", "brier"}
            The name of the figure.

        Returns
        -------
        figures : dict of ndarray of shape (n_splits,)
        """
        return {
            name: np.array([one.figures(self.y[one.rows])[figure] for one in runs])
            for name, runs in self.held_out.items()
        }

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A row for every method, the best first; methods without probabilities come last.

        "method", "family", "error", "nll", "brier", "calibration" (the expected calibration error
        of the predicted class, all splits together), "seconds", and, against the best method,
        "difference" (of the criterion), "standard_error", "p_value" (corrected t-test, Holm's
        correction for several methods) and "distinguishable" (None if it cannot be tested).
        """
        return _ranked(self)

    @property
    def recommended(self) -> str:
        """The method with the least mean negative log-likelihood, or a pool close to it.

        The pool is recommended if it is behind by no more than one standard error. A pool stays
        near the best of its members, while a single method may be ahead by chance.
        """
        for row in self.rows:
            if row["method"] == POOL and row["difference"] <= row["standard_error"]:
                return POOL
        return str(self.rows[0]["method"])

    @property
    def storable(self) -> str | None:
        """The recommended method, or the best other one that a model file can hold, or None."""
        names = [self.recommended, *(row["method"] for row in self.rows)]
        return next((name for name in names if self.candidates[name].storable), None)

    @property
    def indistinguishable(self) -> list[str]:
        """The methods that are not distinguishable from the best one, the best first."""
        return [row["method"] for row in self.rows if row["distinguishable"] is False]

    @cached_property
    def groups(self) -> list[list[str]]:
        """Runs of neighbours in the ranking, no two of which are distinguishable."""
        return _groups(self)

    @property
    def reasons(self) -> list[str]:
        """Why the recommended method is recommended, in sentences."""
        from ._words import reasons

        return reasons(self)

    def pooled(self, name: str | None = None) -> tuple[IntArray, IntArray, FloatArray | None]:
        """Return rows, predicted classes and probabilities of a method, all splits together.

        Parameters
        ----------
        name : str, default=None
            The method; the recommended one by default.

        Returns
        -------
        rows : ndarray of int
            The test rows of all splits.
        predicted : ndarray of int
            The predicted classes, by number.
        p : ndarray of shape (n, n_classes) or None
            The class probabilities.
        """
        runs = self.held_out[name or self.recommended]
        rows = np.concatenate([one.rows for one in runs])
        predicted = np.concatenate([one.predicted for one in runs])
        parts = [one.p for one in runs if one.p is not None]
        return rows, predicted, np.concatenate(parts) if len(parts) == len(runs) else None

    def confusion(self, name: str | None = None) -> IntArray:
        """Return the confusion matrix: test rows by true class (row) and predicted class (column).

        Parameters
        ----------
        name : str, default=None
            The method; the recommended one by default.

        Returns
        -------
        counts : ndarray of shape (n_classes, n_classes)
        """
        rows, predicted, _ = self.pooled(name)
        counts = np.zeros((len(self.classes), len(self.classes)), dtype=np.intp)
        np.add.at(counts, (self.y[rows], predicted), 1)
        return counts

    def reliability(self, name: str | None = None) -> ReliabilityCurves | None:
        """Return the reliability of the probabilities, None if there are none.

        Parameters
        ----------
        name : str, default=None
            The method; the recommended one by default.

        Returns
        -------
        curves : ReliabilityCurves or None
        """
        rows, _, p = self.pooled(name)
        if p is None:
            return None
        return reliability_curves(self.y[rows], p, range(len(self.classes)))

    def hard_pairs(self) -> tuple[str, FloatArray] | None:
        """Return the errors of the pairwise machines on test rows of their two classes.

        Returns
        -------
        name, errors : str, ndarray of shape (n_classes, n_classes); or None
            The best one-vs-one method, and the mean over the splits; None if there is none.
        """
        for name in (row["method"] for row in self.rows):
            pairs = [one.pairs for one in self.held_out[name] if one.pairs is not None]
            if pairs:
                stack = np.array(pairs)
                count = np.maximum((~np.isnan(stack)).sum(axis=0), 1)
                mean = np.nansum(stack, axis=0) / count
                mean[np.isnan(stack).all(axis=0)] = np.nan
                return name, mean
        return None

    def doubtful(self, n_rows: int = 10) -> list[dict[str, Any]]:
        """Return the rows whose own class got the least probability when they were held out.

        Parameters
        ----------
        n_rows : int
            The number of rows to return.

        Returns
        -------
        rows : list of dict
            "row" (its number from 0), "class", "probability" (of that class, the mean over the
            splits that held it out), "predicted" (the class of largest mean probability) and
            "times" (how often it was held out).
        """
        rows, _, p = self.pooled()
        if p is None:
            return []
        times = np.bincount(rows, minlength=len(self.y))
        total = np.zeros((len(self.y), len(self.classes)))
        np.add.at(total, rows, p)
        seen = np.flatnonzero(times)
        mean = total[seen] / times[seen, None]
        own = mean[np.arange(len(seen)), self.y[seen]]
        labels = self.classes.tolist()
        return [
            {
                "row": int(seen[at]),
                "class": labels[self.y[seen[at]]],
                "probability": float(own[at]),
                "predicted": labels[int(mean[at].argmax())],
                "times": int(times[seen[at]]),
            }
            for at in np.argsort(own, kind="stable")[:n_rows]
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as values that JSON can hold."""
        pairs = self.hard_pairs()
        return {
            "recommended": self.recommended,
            "criterion": self.criterion,
            "reasons": self.reasons,
            "ranking": [_plain(row) for row in self.rows],
            "groups": self.groups,
            "protocol": self.protocol,
            "splits": self.n_splits,
            "figures": {
                figure: {name: _listed(values) for name, values in self.figures(figure).items()}
                for figure in FIGURES
            },
            "parameters": {
                name: [_plain(one.parameters) for one in runs]
                for name, runs in self.held_out.items()
            },
            "classes": self.classes.tolist(),
            "confusion": self.confusion().tolist(),
            "hard_pairs": pairs and {"method": pairs[0], "errors": _listed(pairs[1])},
            "doubtful": self.doubtful(),
            "left_out": self.left_out,
            "notes": self.notes,
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        from ._words import ranking_text

        return ranking_text(self)


def _ranked(comparison: MethodComparison) -> list[dict[str, Any]]:
    figures = {name: comparison.figures(name) for name in FIGURES}
    judged = figures[comparison.criterion]
    means = {name: float(values.mean()) for name, values in judged.items()}
    # NaN, a method without probabilities, goes last; among those the error decides.
    order = sorted(
        judged,
        key=lambda name: (np.isnan(means[name]), means[name], figures["error"][name].mean()),
    )
    against = _tests(judged, order, comparison)
    rows = []
    for name in order:
        at, _, p = comparison.pooled(name)
        calibration = np.nan if p is None else scores.calibration_error(p, comparison.y[at])
        rows.append(
            {
                "method": name,
                "family": comparison.candidates[name].family,
                **{figure: float(values[name].mean()) for figure, values in figures.items()},
                "calibration": calibration,
                "seconds": float(np.mean([one.seconds for one in comparison.held_out[name]])),
                **against[name],
            }
        )
    return rows


def _tests(
    judged: Mapping[str, FloatArray], order: Sequence[str], comparison: MethodComparison
) -> dict[str, dict[str, Any]]:
    """Compare every method with the best."""
    best, ratio = order[0], comparison.test_to_train
    found: dict[str, dict[str, Any]] = {
        best: {"difference": 0.0, "standard_error": 0.0, "p_value": 1.0, "distinguishable": False}
    }
    p_values = {name: _p_value(judged[name], judged[best], ratio) for name in order[1:]}
    adjusted = holm(p_values)
    for name in order[1:]:
        differences = judged[name] - judged[best]
        p = adjusted[name]
        found[name] = {
            "difference": float(differences.mean()),
            "standard_error": standard_error(differences, ratio),
            "p_value": p,
            "distinguishable": None if np.isnan(p) else bool(p < comparison.level),
        }
    return found


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
    >>> from polychotomy.compare._comparison import holm
    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    known = sorted((name for name, p in p_values.items() if p == p), key=p_values.__getitem__)
    adjusted, least = {}, 0.0
    for place, name in enumerate(known):
        least = max(least, min(1.0, (len(known) - place) * p_values[name]))
        adjusted[name] = least
    return adjusted | {name: p for name, p in p_values.items() if p != p}


def _groups(comparison: MethodComparison) -> list[list[str]]:
    judged = comparison.figures(comparison.criterion)
    names = [row["method"] for row in comparison.rows if not np.isnan(row[comparison.criterion])]
    if comparison.n_splits < 2:
        return []
    pairs = {
        f"{i} {j}": _p_value(judged[names[i]], judged[names[j]], comparison.test_to_train)
        for i in range(len(names))
        for j in range(i + 1, len(names))
    }
    alike = {key for key, p in holm(pairs).items() if not p < comparison.level}
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


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _plain_value(value) for key, value in row.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _listed(values: FloatArray) -> Any:
    """Return lists, with None instead of NaN."""
    plain = values.astype(object)
    plain[~np.isfinite(values)] = None
    return plain.tolist()
