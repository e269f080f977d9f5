"""Reliability diagrams: predicted probabilities against observed frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from ..core import scores
from ..core.checks import listed, one_of, probability_array
from ..core.types import FloatArray, IntArray
from ._drawing import PALETTE, axes, class_labels, class_styles, put_legend, text_colour

STRATEGIES = (scores.UNIFORM, scores.QUANTILE)
UNCERTAINTIES = ("band", "bars", "none")
# How many classes are drawn unless they are chosen.
SHOWN = 6
# How far the probabilities of a row may be from a sum of 1.
SUM_TOLERANCE = 1e-3


@dataclass(frozen=True)
class ReliabilityCurve:
    """Predicted probabilities of one event in bins, and how often it happened.

    Attributes
    ----------
    predicted : ndarray of shape (n_bins,)
        The mean predicted probability in every bin that holds enough rows.
    observed : ndarray of shape (n_bins,)
        The share of its rows where the event happened.
    count : ndarray of shape (n_bins,)
        The number of its rows.
    lower, upper : ndarray of shape (n_bins,)
        The exact binomial (Clopper-Pearson) interval of `observed`.
    error : float
        The expected calibration error: the mean over all rows, those of small bins included, of
        the distance between `predicted` and `observed` in their bin.

    Examples
    --------
    >>> from polychotomy.plots import reliability_curves
    >>> p = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.2, 0.8]]
    >>> curve = reliability_curves([0, 0, 1, 1], p, n_bins=2, min_count=1).classes[0]
    >>> curve.predicted.round(2), curve.observed.round(2), curve.count
    (array([0.2, 0.8]), array([0.  , 0.67]), array([1, 3]))
    >>> round(curve.error, 3)
    0.15
    """

    predicted: FloatArray
    observed: FloatArray
    count: IntArray
    lower: FloatArray
    upper: FloatArray
    error: float


@dataclass(frozen=True)
class ReliabilityCurves:
    """The reliability of class probabilities, for every class and for the predicted class.

    Attributes
    ----------
    classes : dict of ReliabilityCurve
        For every class, by its label: its probability against all other classes.
    confidence : ReliabilityCurve
        For the predicted class: its probability, the largest of the row, against the accuracy.
        Its `error` is usually called *the* expected calibration error.
    level : float
        The level of the binomial intervals.

    Examples
    --------
    >>> from polychotomy.plots import reliability_curves
    >>> p = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.2, 0.8]]
    >>> curves = reliability_curves(["a", "a", "b", "b"], p)
    >>> list(curves.classes)
    ['a', 'b']
    """

    classes: dict[Any, ReliabilityCurve]
    confidence: ReliabilityCurve
    level: float

    @property
    def class_error(self) -> float:
        """The mean of the classes' expected calibration errors."""
        return float(np.mean([curve.error for curve in self.classes.values()]))


def reliability_curves(
    y: ArrayLike,
    p: ArrayLike,
    classes: Any = None,
    *,
    n_bins: int = 10,
    strategy: str = "uniform",
    min_count: int = 5,
    level: float = 0.95,
) -> ReliabilityCurves:
    """Compare class probabilities with observed frequencies.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The true classes.
    p : array-like of shape (n_rows, n_classes)
        The predicted probabilities.
    classes : array-like of shape (n_classes,), default=None
        The labels of the columns of `p`; those in `y`, sorted, by default.
    n_bins : int, default=10
        The number of bins; empty bins are skipped.
    strategy : {"uniform", "quantile"}, default="uniform"
        Whether bins have the same width, or hold the same number of rows. With many classes most
        probabilities are near 0 or 1, and so are quantiles.
    min_count : int, default=5
        Bins with fewer rows are not in the curves, but count in their `error`.
    level : float, default=0.95
        The level of the binomial intervals.

    Returns
    -------
    curves : ReliabilityCurves

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, equation (3),
    for the confidence; Kull et al. (2019), Beyond temperature scaling, section 2, for the classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import PolychotomyClassifier
    >>> from polychotomy.plots import reliability_curves
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PolychotomyClassifier().fit(X[::2], y[::2])
    >>> p = clf.predict_proba(X[1::2])
    >>> curves = reliability_curves(y[1::2], p, n_bins=5, strategy="quantile")
    >>> curves.confidence.count
    array([15, 15, 15, 15, 15])
    >>> curves.confidence.error < 0.1
    True
    """
    one_of(strategy, "strategy", STRATEGIES)
    _check_count(n_bins, "n_bins")
    _check_count(min_count, "min_count")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1, got {level!r}.")
    numbers, probability, labels = _checked(y, p, classes)

    def curve(predicted: FloatArray, happened: NDArray[np.bool_]) -> ReliabilityCurve:
        bins = scores.probability_bins(predicted, n_bins, strategy)
        return _curve(predicted, happened, bins, min_count, level)

    winner = probability.argmax(axis=1)
    return ReliabilityCurves(
        classes={
            label: curve(probability[:, k], numbers == k) for k, label in enumerate(labels.tolist())
        },
        confidence=curve(probability.max(axis=1), numbers == winner),
        level=level,
    )


def _check_count(value: Any, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")


def _checked(y: ArrayLike, p: ArrayLike, classes: Any) -> tuple[IntArray, FloatArray, NDArray[Any]]:
    """Return the number of every row's class, the probabilities and the labels."""
    given = np.asarray(y)
    probability = probability_array(p, "p", (2,))
    if given.shape != (len(probability),) or not len(probability):
        raise ValueError(
            f"y must hold one class for each of the {len(probability)} rows of p; got an array of "
            f"shape {given.shape}."
        )
    off = np.flatnonzero(np.abs(probability.sum(axis=1) - 1.0) > SUM_TOLERANCE)
    if len(off):
        total = probability[off[0]].sum()
        raise ValueError(f"The probabilities of a row must sum to 1; row {off[0]} of p: {total:g}.")
    present = np.unique(given)
    if classes is None and len(present) != probability.shape[1]:
        raise ValueError(
            f"classes must name the {probability.shape[1]} columns of p, because y has "
            f"{len(present)} classes."
        )
    labels = class_labels(present if classes is None else classes, probability.shape[1])
    order = np.argsort(labels)
    unknown = np.setdiff1d(present, labels)
    if len(unknown):
        raise ValueError(
            f"y has the class {unknown.tolist()[0]!r}, which is not in classes; it has "
            f"{listed(labels.tolist(), 'and')}."
        )
    return order[np.searchsorted(labels, given, sorter=order)], probability, labels


def _curve(
    predicted: FloatArray,
    happened: NDArray[np.bool_],
    bins: IntArray,
    min_count: int,
    level: float,
) -> ReliabilityCurve:
    count = np.bincount(bins)
    hits = np.bincount(bins, happened)
    total = np.bincount(bins, predicted)
    error = scores.binned_error(predicted, happened, bins)
    kept = count >= min_count
    count, hits, total = count[kept], hits[kept], total[kept]
    tail = (1.0 - level) / 2.0
    # Clopper and Pearson (1934); without a hit, or without a miss, one end is 0 or 1.
    lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1), count - hits + 1, tail), 0.0)
    misses = count - hits
    upper = np.where(misses > 0, betaincinv(hits + 1, np.maximum(misses, 1), 1.0 - tail), 1.0)
    return ReliabilityCurve(total / count, hits / count, count, lower, upper, error)


class ReliabilityDisplay:
    """Multi-class reliability diagram.

    The thick line compares the probability of the predicted class with its accuracy; the thin ones
    compare the probability of single classes with how often they were the true one. A well
    calibrated classifier stays near the diagonal, above it where it is too modest.

    Parameters
    ----------
    curves : ReliabilityCurves
        The curves to draw.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : dict
        The line of every class drawn, by its label; that of the confidence has the key None.

    See Also
    --------
    reliability_curves : The numbers alone.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import PolychotomyClassifier
    >>> from polychotomy.plots import ReliabilityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PolychotomyClassifier().fit(X[::2], y[::2])
    >>> display = ReliabilityDisplay.from_estimator(clf, X[1::2], y[1::2], n_bins=5)
    >>> display.curves.confidence.error < 0.1
    True
    >>> plt.close(display.figure_)
    """

    def __init__(self, curves: ReliabilityCurves) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        n_bins: int = 10,
        strategy: str = "uniform",
        min_count: int = 5,
        level: float = 0.95,
        ax: Any = None,
        **options: Any,
    ) -> ReliabilityDisplay:
        """Draw the reliability of a fitted classifier on rows it was not trained on.

        Parameters
        ----------
        estimator : classifier
            Any fitted classifier with `predict_proba`.
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The true classes.
        n_bins, strategy, min_count, level
            As in `reliability_curves`.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            As for `plot`.

        Returns
        -------
        display : ReliabilityDisplay
        """
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                "A reliability diagram needs class probabilities, which this "
                f"{type(estimator).__name__} does not have; choose a decoder that yields them."
            )
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            estimator.classes_,
            n_bins=n_bins,
            strategy=strategy,
            min_count=min_count,
            level=level,
            ax=ax,
            **options,
        )

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        classes: Any = None,
        *,
        n_bins: int = 10,
        strategy: str = "uniform",
        min_count: int = 5,
        level: float = 0.95,
        ax: Any = None,
        **options: Any,
    ) -> ReliabilityDisplay:
        """Draw the reliability of class probabilities.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The true classes.
        p : array-like of shape (n_rows, n_classes)
            The predicted probabilities.
        classes : array-like of shape (n_classes,), default=None
            The labels of the columns of `p`; those in `y`, sorted, by default.
        n_bins, strategy, min_count, level
            As in `reliability_curves`.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            As for `plot`.

        Returns
        -------
        display : ReliabilityDisplay
        """
        curves = reliability_curves(
            y, p, classes, n_bins=n_bins, strategy=strategy, min_count=min_count, level=level
        )
        return cls(curves).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        show: Sequence[Any] | None = None,
        confidence: bool = True,
        uncertainty: str = "band",
    ) -> ReliabilityDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        show : sequence of class labels, default=None
            The classes to draw; by default all, or of many those with the largest expected
            calibration error. With an empty list only the confidence is drawn.
        confidence : bool, default=True
            Whether to draw the probability of the predicted class.
        uncertainty : {"band", "bars", "none"}, default="band"
            How the binomial intervals are drawn: as shading, as a bar at every point, or not.

        Returns
        -------
        display : ReliabilityDisplay
            Itself.
        """
        one_of(uncertainty, "uncertainty", UNCERTAINTIES)
        shown = self._shown(show)
        ax = axes(ax, 7.4, 5.0)
        ink = text_colour()
        ax.plot([0, 1], [0, 1], color=ink, linewidth=0.8, linestyle=(0, (1, 2)), alpha=0.8)
        labels = list(self.curves.classes)
        styles = class_styles(len(labels))
        self.lines_: dict[Any, Any] = {}
        for place, label in enumerate(shown):
            # Many classes share few colours; those drawn together should not.
            style = styles[labels.index(label) if len(labels) <= len(PALETTE) else place]
            name = f"{label} ({self.curves.classes[label].error:.3f})"
            self._draw(
                ax, label, {**style, "label": name, "linewidth": 1.2}, uncertainty, len(shown)
            )
        if confidence:
            name = f"predicted class ({self.curves.confidence.error:.3f})"
            style = {"color": ink, "marker": "o", "linewidth": 2.5, "label": name}
            self._draw(ax, None, style, uncertainty, len(shown))
        ax.set(
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
            xlabel="predicted probability",
            ylabel="observed frequency",
        )
        self._legend(ax, len(shown))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _shown(self, show: Sequence[Any] | None) -> list[Any]:
        known = self.curves.classes
        if show is not None:
            unknown = [label for label in show if label not in known]
            if unknown:
                raise ValueError(
                    f"show has the class {unknown[0]!r}, which does not exist; the classes are "
                    f"{listed(known, 'and')}."
                )
            return list(show)
        if len(known) <= SHOWN:
            return list(known)
        return sorted(known, key=lambda label: -known[label].error)[:SHOWN]

    def _draw(
        self, ax: Any, label: Any, style: dict[str, Any], uncertainty: str, n_shown: int
    ) -> None:
        curve = self.curves.confidence if label is None else self.curves.classes[label]
        x, y = curve.predicted, curve.observed
        if uncertainty == "band":
            # The more classes, the fainter, so that what lies below can still be seen.
            alpha = 0.2 if label is None else min(0.12, 0.3 / n_shown)
            ax.fill_between(x, curve.lower, curve.upper, color=style["color"], alpha=alpha, lw=0)
        if uncertainty == "bars":
            ends = np.maximum([y - curve.lower, curve.upper - y], 0.0)
            ax.errorbar(x, y, ends, fmt="none", ecolor=style["color"], elinewidth=0.8, capsize=2)
        (self.lines_[label],) = ax.plot(x, y, markersize=5, **style)

    def _legend(self, ax: Any, n_shown: int) -> None:
        if not self.lines_:
            return
        title = "class (calibration error)" if n_shown else "(calibration error)"
        if 0 < n_shown < len(self.curves.classes):
            title = f"{n_shown} of {len(self.curves.classes)} classes\n(calibration error)"
        # The confidence, drawn last to lie on top, is named first.
        handles = sorted(self.lines_.values(), key=lambda line: line is not self.lines_.get(None))
        put_legend(ax, handles, title)
