"""A fitted model judged on labelled rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import scores
from ..core.types import FloatArray, IntArray
from ..core.words import counted, printable
from ._per_class import confused
from ._splits import periods as periods_of
from ._words import number

# With an order in time, the rows are judged in so many parts.
PERIODS = 4
# A matrix of more classes is too wide to be read on a terminal.
MOST_IN_MATRIX = 30


@dataclass(frozen=True)
class Evaluation:
    """The figures of a model on labelled rows; it prints as a small table.

    Attributes
    ----------
    rows : int
        The number of rows.
    error, nll, brier, calibration : float
        The share of rows misclassified, the mean negative log-likelihood, the Brier score, and the
        expected calibration error of the predicted class; all but the first NaN without
        probabilities.
    classes : list
        The labels the model knows, then those that only the data have.
    confusion : ndarray of shape (n_classes, n_classes)
        The number of rows by true class (row) and predicted class (column).
    unknown : int
        The number of rows of classes that the model does not know. All are errors, and have the
        probability 0.
    method : str
        The name of the model's method.
    standard_errors : dict of str to float
        The standard errors of error, NLL and Brier score, over the groups of rows if there are
        some, or else over the rows.
    periods : list of dict
        If the rows have an order in time, the figures of four consecutive parts; of fewer if many
        rows have the same time.

    Examples
    --------
    >>> import numpy as np, pandas
    >>> from polychotomy.compare import evaluate_labels
    >>> p = np.array([[0.9, 0.1], [0.4, 0.6]])
    >>> found = evaluate_labels(
    ...     np.array(["a", "b"]), [pandas.Series(["a", "a"])], [(p.argmax(axis=1), p)], {})
    >>> found.error, round(found.nll, 4)
    (0.5, 0.5108)
    """

    rows: int
    error: float
    nll: float
    brier: float
    calibration: float
    classes: list[Any]
    confusion: IntArray
    unknown: int
    method: str
    standard_errors: dict[str, float] = field(default_factory=dict)
    periods: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as values that JSON can hold."""
        figures = {key: getattr(self, key) for key in ("error", "nll", "brier", "calibration")}
        return {
            "method": self.method,
            "rows": self.rows,
            **{key: None if np.isnan(value) else value for key, value in figures.items()},
            "unknown_classes": self.unknown,
            "classes": self.classes,
            "confusion": self.confusion.tolist(),
            "standard_errors": self.standard_errors,
            **({"periods": self.periods} if self.periods else {}),
        }

    def __str__(self) -> str:
        lines = [f"method       {printable(self.method)}", f"rows         {self.rows}"]
        figures = {key: getattr(self, key) for key in ("error", "nll", "brier", "calibration")}
        for key, each in figures.items():
            if each == each:
                around = self.standard_errors.get(key)
                lines.append(f"{key:<13}{number(each)}{f' ± {number(around)}' if around else ''}")
        if not self.standard_errors and self.rows > 1:
            lines.append("no standard errors: all rows are of one group")
        if self.periods:
            lines += ["", "in the order of time:", *(_period_line(one) for one in self.periods)]
        if self.unknown:
            rows = "1 row is" if self.unknown == 1 else f"{self.unknown:,} rows are"
            lines.append(f"{rows} of classes that the model does not know.")
        many = len(self.classes) > MOST_IN_MATRIX
        shown = self._worst_lines() if many else self._confusion_lines()
        return "\n".join([*lines, "", *shown])

    def _worst_lines(self) -> list[str]:
        lines = [f"the most frequent confusions of {len(self.classes)} classes; --json has all"]
        for one in confused(self.confusion, self.classes):
            name, other = printable(one["class"]), printable(one["taken_for"])
            rows, share = counted(one["rows"], "row"), 100 * one["share"]
            lines.append(f"{name} is taken for {other}: {rows}, {share:.1f} % of the class")
        return lines

    def _confusion_lines(self) -> list[str]:
        names = [printable(label) for label in self.classes]
        width = max(5, *(len(name) for name in names), *(len(str(n)) for n in self.confusion.flat))
        lines = ["true \\ predicted", " " * width + "".join(f"  {name:>{width}}" for name in names)]
        for name, counts in zip(names, self.confusion.tolist(), strict=True):
            lines.append(f"{name:<{width}}" + "".join(f"  {count:>{width}}" for count in counts))
        return lines


def evaluate_labels(
    classes: NDArray[Any],
    labels: Sequence[Any],
    answers: Sequence[tuple[IntArray, FloatArray | None]],
    metadata: Mapping[str, Any],
    *,
    weights: FloatArray | None = None,
    groups: IntArray | None = None,
    order: FloatArray | None = None,
) -> Evaluation:
    """Compare the predictions of a model with the true labels.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels that the model knows.
    labels : sequence of Series
        The true labels, in pieces.
    answers : sequence of tuple
        For every piece, the numbers of the predicted classes, and the probabilities or None.
    metadata : mapping
        The metadata of the model file; only "method" is used.
    weights : ndarray of shape (n_rows,), default=None
        How much each row counts in the figures. The confusions are numbers of rows.
    groups : ndarray of int of shape (n_rows,), default=None
        Rows that belong together, for the standard errors.
    order : ndarray of shape (n_rows,), default=None
        When each row was; the figures of four parts in this order are given too.

    Returns
    -------
    evaluation : Evaluation

    Examples
    --------
    >>> import numpy as np, pandas
    >>> from polychotomy.compare import evaluate_labels
    >>> said = [(np.array([0, 1]), None)]
    >>> evaluate_labels(np.array([3, 5]), [pandas.Series(["3", "3"])], said, {}).confusion
    array([[1, 1],
           [0, 0]])
    """
    from ..tables._columns import as_words

    words = np.concatenate([as_words(part) for part in labels]).astype(str)
    known = [str(label) for label in classes.tolist()]
    new = sorted(set(words.tolist()) - set(known))
    place = {name: k for k, name in enumerate([*known, *new])}
    y = np.array([place[word] for word in words.tolist()], dtype=np.intp)
    predicted = np.concatenate([numbers for numbers, _ in answers])
    confusion = np.zeros((len(place), len(place)), dtype=np.intp)
    np.add.at(confusion, (y, predicted), 1)
    parts = [p for _, p in answers if p is not None]
    p = np.concatenate(parts) if parts else None
    # Classes that the model does not know have no probability.
    truth = np.where(y < len(known), y, -1)
    periods = []
    if order is not None:
        # Rows of the same time are in the same part.
        numbers = periods_of(order, PERIODS)
        for number in np.unique(numbers):
            part = np.flatnonzero(numbers == number)
            period = _figures(*(_some(each, part) for each in (p, truth, predicted, y, weights)))
            periods.append({"rows": len(part), **_without_nan(period)})
    return Evaluation(
        rows=len(y),
        classes=[*classes.tolist(), *new],
        confusion=confusion,
        unknown=int(np.sum(y >= len(known))),
        method=str(metadata.get("method", "")),
        standard_errors=_standard_errors(p, truth, predicted, y, weights, groups),
        periods=periods,
        **_figures(p, truth, predicted, y, weights),
    )


def _some(values: Any, rows: IntArray) -> Any:
    return None if values is None else values[rows]


def _figures(
    p: FloatArray | None, truth: IntArray, predicted: IntArray, y: IntArray, weights: Any
) -> dict[str, float]:
    found = {"error": float(scores.error(predicted, y, weights))}
    if p is None:
        return {**found, "nll": np.nan, "brier": np.nan, "calibration": np.nan}
    return {
        **found,
        "nll": float(scores.nll(p, truth, weights)),
        "brier": float(scores.brier(p, truth, weights)),
        "calibration": float(scores.calibration_error(p, truth, weights=weights)),
    }


def _without_nan(figures: dict[str, float]) -> dict[str, float | None]:
    return {key: None if np.isnan(value) else value for key, value in figures.items()}


def _standard_errors(
    p: FloatArray | None,
    truth: IntArray,
    predicted: IntArray,
    y: IntArray,
    weights: FloatArray | None,
    groups: IntArray | None,
) -> dict[str, float]:
    """Return the standard errors of weighted means over groups of rows.

    A mean ``sum(w l) / sum(w)`` has the variance ``sum_g (sum_{i in g} w_i (l_i - mean))^2 /
    sum(w)^2``, times ``G / (G - 1)`` for G groups.
    """
    losses = {"error": (predicted != y).astype(np.float64)}
    if p is not None:
        losses["nll"] = -np.log(np.maximum(scores.of_truth(p, truth), scores.LEAST_PROBABILITY))
        one = np.zeros_like(p)
        there = np.flatnonzero(truth >= 0)
        one[there, truth[there]] = 1.0
        # A class that the model does not know is one more, with the probability 0.
        losses["brier"] = ((p - one) ** 2).sum(axis=1) + (truth < 0)
    w = np.ones(len(y)) if weights is None else weights
    numbers = np.arange(len(y)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_groups = int(numbers.max()) + 1
    if n_groups < 2:
        return {}
    found = {}
    for name, loss in losses.items():
        mean = np.sum(w * loss) / w.sum()
        sums = np.bincount(numbers, weights=w * (loss - mean))
        found[name] = float(np.sqrt(np.sum(sums**2) * n_groups / (n_groups - 1)) / w.sum())
    return found


def _period_line(period: dict[str, Any]) -> str:
    words = [counted(period["rows"], "row"), f"error {number(period['error'])}"]
    words += [f"nll {number(period['nll'])}"] if period["nll"] is not None else []
    return "  " + ", ".join(words)
