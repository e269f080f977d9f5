"""What a comparison found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray, IntArray
from ..plots import ReliabilityCurves, reliability_curves
from ._candidates import BASELINE, Candidate
from ._judging import HeldOut, Level
from ._per_class import class_figures, recalibrated, worst_confusions
from ._ranking import FEW_SPLITS, FIGURES, MARGIN, alike_groups, ranked, within

POOL = "POOL"
# The classes whose figures a model file keeps.
MOST_KEPT = 1000


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
    significance : float
        Differences with a smaller p-value are called distinguishable.
    others : dict of list of HeldOut
        Methods that were judged on fewer training rows or splits, or without tuning.
    level : Level
        The training rows of the ranking, and whether the methods were tuned.
    most_rows : int
        The training rows of a whole training part.
    curve : list of dict
        The figures of every method for every number of training rows, on the first split.
    kept : ndarray of int or None
        The rows of the table that were used; None for all.
    why : dict of str
        Why methods were judged on fewer rows only, or without tuning.
    importance : list of dict or None
        How much worse the recommended method gets without each column; None if that was not
        computed. See `column_importance`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy.compare import compare_methods
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = compare_methods(X[::2], y[::2], ["logistic", "PWC_PSVM"], n_splits=3)
    >>> sorted(row["method"] for row in comparison.rows)
    ['PWC_PSVM', 'logistic', 'majority']
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
    significance: float = 0.05
    others: dict[str, list[HeldOut]] = field(default_factory=dict)
    level: Level = field(default_factory=lambda: Level(0))
    most_rows: int = 0
    curve: list[dict[str, Any]] = field(default_factory=list)
    kept: IntArray | None = None
    why: dict[str, str] = field(default_factory=dict)
    importance: list[dict[str, Any]] | None = None

    @property
    def n_splits(self) -> int:
        """The number of splits on which every method was judged."""
        return len(next(iter(self.held_out.values())))

    @property
    def criterion(self) -> str:
        """The score of the ranking: "nll", or "error" if no method has probabilities."""
        judged = [self.candidates[name] for name in self.held_out if name != BASELINE.name]
        return "nll" if any(one.probabilities for one in judged) or not judged else "error"

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
        of the predicted class, all splits together), "seconds", "train_rows", "splits",
        "worse_than_majority", and, against the best method, "difference" (of the criterion),
        "standard_error", "p_value" (corrected t-test, Holm's correction for several methods),
        "distinguishable" (None if it cannot be tested) and "verdict": "best", "as good" (behind by
        less than `margin`, with 95 % confidence), "behind" (distinguishably), "cannot tell", or
        "on fewer rows".
        """
        return ranked(self)

    @cached_property
    def per_class(self) -> list[dict[str, Any]]:
        """The figures of every class, of the recommended method; see `class_figures`."""
        return class_figures(self)

    @cached_property
    def recalibrated(self) -> dict[str, float] | None:
        """What tempering would change in its probabilities: calibration error and NLL."""
        return recalibrated(self)

    @property
    def methods(self) -> list[str]:
        """The methods of the ranking, the best first, without the baseline."""
        return [
            row["method"]
            for row in self.rows
            if row["method"] in self.held_out and row["method"] != BASELINE.name
        ]

    @property
    def margin(self) -> float:
        """How far behind a method may be to be called as good.

        That is 2 % of what the best method gains over the baseline.
        """
        figures = {name: values.mean() for name, values in self.figures(self.criterion).items()}
        base = float(figures.pop(BASELINE.name, np.nan))
        best = float(np.nanmin(list(figures.values()))) if figures else np.nan
        return max(0.0, MARGIN * (base - best)) if base > best else 0.0

    @property
    def few_splits(self) -> bool:
        """Whether the splits are too few to call a method as good as another."""
        return self.n_splits < FEW_SPLITS

    def is_as_good(self, name: str, other: str) -> bool:
        """Whether a method is behind another by less than the margin, with 95 % confidence.

        On fewer than five splits, none is.
        """
        judged = self.figures(self.criterion)
        return within(judged[name] - judged[other], self.test_to_train, self.margin)

    @property
    def worth(self) -> str:
        """On how many of the rows the ranking rests, in words; empty if on all, and tuned."""
        words = []
        if self.level.rows < self.most_rows:
            words.append(f"on {self.level.rows:,} of {self.most_rows:,} training rows")
        if not self.level.tuned:
            words.append("not tuned")
        return ", ".join(words)

    @property
    def recommended(self) -> str:
        """The method with the least mean negative log-likelihood, or a pool close to it.

        The pool is recommended if it is behind by no more than one standard error. A pool stays
        near the best of its members, while a single method may be ahead by chance. A method that
        there was time to judge on fewer training rows only is recommended if it was better all
        the same, on the same test rows.
        """
        ahead = self._ahead_on_fewer_rows
        return self._recommended_of_ranking if ahead is None else ahead

    @cached_property
    def _ahead_on_fewer_rows(self) -> str | None:
        chosen, key = self._recommended_of_ranking, self.criterion
        best, least = None, -self.margin
        for name, runs in self.others.items():
            differences = [
                one.figures(self.y[one.rows])[key] - same.figures(self.y[same.rows])[key]
                for one in runs
                for same in self.held_out[chosen]
                if np.array_equal(one.rows, same.rows)
            ]
            if differences and float(np.mean(differences)) < least:
                best, least = name, float(np.mean(differences))
        return best

    @property
    def _recommended_of_ranking(self) -> str:
        for row in self.rows:
            if row["method"] == POOL and row["difference"] <= row["standard_error"]:
                return POOL
        return self.methods[0] if self.methods else BASELINE.name

    @property
    def storable(self) -> str | None:
        """The recommended method, or the best other one that a model file can hold, or None."""
        names = [self.recommended, *self.methods, *self.others]
        return next((name for name in names if self.candidates[name].storable), None)

    @property
    def indistinguishable(self) -> list[str]:
        """The methods that are not distinguishable from the best one, the best first."""
        return [row["method"] for row in self.rows if row["distinguishable"] is False]

    @cached_property
    def groups(self) -> list[list[str]]:
        """Runs of neighbours in the ranking, no two of which are distinguishable."""
        return alike_groups(self)

    @property
    def reasons(self) -> list[str]:
        """Why the recommended method is recommended, in sentences."""
        from ._words import reasons

        return reasons(self)

    def runs(self, name: str | None = None) -> list[HeldOut]:
        """Return what a method predicted, split by split; the recommended one by default."""
        name = name or self.recommended
        return self.held_out[name] if name in self.held_out else self.others[name]

    def is_judged(self, name: str) -> bool:
        """Whether a method was judged, on all rows or on fewer."""
        return name in self.held_out or name in self.others

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
        runs = self.runs(name)
        rows = np.concatenate([one.rows for one in runs])
        predicted = np.concatenate([one.predicted for one in runs])
        parts = [one.p for one in runs if one.p is not None]
        return rows, predicted, np.concatenate(parts) if len(parts) == len(runs) else None

    def pooled_weights(self, name: str | None = None) -> FloatArray | None:
        """Return the weights of the rows of `pooled`, or None."""
        parts = [one.weights for one in self.runs(name)]
        known = [part for part in parts if part is not None]
        return np.concatenate(known) if known else None

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
        for name in self.methods:
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

    def summary(self, name: str | None = None) -> dict[str, Any]:
        """Return what a model file keeps: the ranking, and the figures of one method.

        Parameters
        ----------
        name : str, default=None
            The method that is kept, which need not be the recommended one. A method that was not
            judged, because there was no time for those that were, has no figures of its own.

        Returns
        -------
        summary : dict
            Values that JSON can hold. "importance" is None for a method that is not recommended.
        """
        name = self.recommended if name is None else name
        own = name == self.recommended
        per_class: list[dict[str, Any]] = []
        worst: list[dict[str, Any]] = []
        calibration = None
        if self.is_judged(name):
            per_class = self.per_class if own else class_figures(self, name)
            calibration = self.recalibrated if own else recalibrated(self, name)
            worst = worst_confusions(self, name=name)
        keys = ("method", *FIGURES, "calibration", "train_rows", "splits", "verdict", "extent")
        return {
            "recommended": self.recommended,
            "described": name,
            "criterion": self.criterion,
            "protocol": self.protocol,
            "worth": self.worth,
            "rows": len(self.y),
            "margin": self.margin,
            "reasons": self.reasons,
            "ranking": [{key: _plain_value(row.get(key)) for key in keys} for row in self.rows],
            "per_class": per_class[:MOST_KEPT],
            "worst_confusions": worst,
            "calibration": calibration,
            "importance": self.importance if own else None,
            "learning_curve": [_plain(one) for one in self.curve if one["method"] == name],
            "notes": self.notes,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as values that JSON can hold."""
        pairs = self.hard_pairs()
        return {
            "recommended": self.recommended,
            "criterion": self.criterion,
            "reasons": self.reasons,
            "ranking": [_plain(row) for row in self.rows],
            "groups": self.groups,
            "margin": self.margin,
            "worth": self.worth,
            "train_rows": min(self.level.rows, self.most_rows),
            "most_train_rows": self.most_rows,
            "learning_curve": [_plain(point) for point in self.curve],
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
            "per_class": self.per_class,
            "worst_confusions": worst_confusions(self),
            "calibration": self.recalibrated,
            "importance": self.importance,
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
