"""A fitted model judged on labelled rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import scores
from ..core.types import FloatArray, IntArray
from ..core.words import printable
from ._words import number


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
        }

    def __str__(self) -> str:
        lines = [f"method       {printable(self.method)}", f"rows         {self.rows}"]
        figures = {key: getattr(self, key) for key in ("error", "nll", "brier", "calibration")}
        lines += [f"{key:<13}{number(each)}" for key, each in figures.items() if each == each]
        if self.unknown:
            lines.append(f"{self.unknown} rows are of classes that the model does not know.")
        return "\n".join([*lines, "", *self._confusion_lines()])

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
    figures = {"nll": np.nan, "brier": np.nan, "calibration": np.nan}
    if parts:
        # Classes that the model does not know have no probability.
        figures = _of_probabilities(np.concatenate(parts), np.where(y < len(known), y, -1))
    return Evaluation(
        rows=len(y),
        error=float(scores.error(predicted, y)),
        classes=[*classes.tolist(), *new],
        confusion=confusion,
        unknown=int(np.sum(y >= len(known))),
        method=str(metadata.get("method", "")),
        **figures,
    )


def _of_probabilities(p: FloatArray, y: IntArray) -> dict[str, float]:
    return {
        "nll": float(scores.nll(p, y)),
        "brier": float(scores.brier(p, y)),
        "calibration": scores.calibration_error(p, y),
    }
