"""The answers of the binary machines for one row, and how they were decoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.types import FloatArray


@dataclass(frozen=True)
class Explanation:
    """The answers of the binary machines for one row, and the classes they were decoded into.

    Attributes
    ----------
    answers : list of dict
        For every binary problem: "column", "positive" and "negative" (the class labels of its
        sides), "score", "probability" (of the positive side, or None), and "says" (the labels of
        the side it prefers).
    classes : list of dict
        For every class, the best first: "class", "score" (the decoder's) and "probability" (or
        None).
    decoder : str
        How the answers were decoded.
    prediction : object
        The predicted class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from polychotomy import PolychotomyClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> y = y.map(dict(enumerate(["setosa", "versicolor", "virginica"])))
    >>> clf = PolychotomyClassifier(LogisticRegression(C=0.1)).fit(X, y)
    >>> print(clf.explain(X.iloc[[77]]))
    problem                        score  probability  says
    'setosa' / 'versicolor'        -3.65         0.03  'versicolor'
    'setosa' / 'virginica'         -2.33         0.09  'virginica'
    'versicolor' / 'virginica'     -0.25         0.44  'virginica'
    <BLANKLINE>
    class           probability
    'virginica'           0.542
    'versicolor'          0.427
    'setosa'              0.031
    decoded by PairwiseCoupling(): 'virginica'
    """

    answers: list[dict[str, Any]]
    classes: list[dict[str, Any]]
    decoder: str
    prediction: Any

    def __str__(self) -> str:
        return "\n".join([*self._answer_lines(), "", *self._class_lines()])

    def _answer_lines(self) -> list[str]:
        names = [f"{_side(a['positive'])} / {_side(a['negative'])}" for a in self.answers]
        width = max(26, *map(len, names)) + 2
        lines = [f"{'problem':<{width}}{'score':>8}{'probability':>13}  says"]
        for name, answer in zip(names, self.answers, strict=True):
            p = answer["probability"]
            probability = "" if p is None else f"{p:.2f}"
            says = _side(answer["says"]) if answer["says"] else "neither"
            lines.append(f"{name:<{width}}{answer['score']:>8.2f}{probability:>13}  {says}")
        return lines

    def _class_lines(self) -> list[str]:
        has_probability = self.classes[0]["probability"] is not None
        names = [repr(entry["class"]) for entry in self.classes]
        width = max(14, *map(len, names)) + 2
        lines = [f"{'class':<{width}}{'probability' if has_probability else 'score':>11}"]
        for name, entry in zip(names, self.classes, strict=True):
            value = entry["probability" if has_probability else "score"]
            lines.append(f"{name:<{width}}{value:>11.3f}")
        return [*lines, f"decoded by {self.decoder}: {self.prediction!r}"]


def _side(labels: list[Any]) -> str:
    if len(labels) > 4:
        return f"{labels[0]!r} and {len(labels) - 1} more"
    return ", ".join(repr(label) for label in labels)


def class_ranking(scores: FloatArray, labels: list[Any], probability: bool) -> list[dict[str, Any]]:
    """List the decoder's scores of the classes, the best first."""
    return [
        {
            "class": labels[k],
            "score": float(scores[k]),
            "probability": float(scores[k]) if probability else None,
        }
        for k in np.argsort(-scores, kind="stable")
    ]


def binary_answers(margins: Margins, codebook: Codebook, labels: list[Any]) -> list[dict[str, Any]]:
    """List the answer of every binary machine for the first row."""
    rows = []
    assert margins.mean is not None
    for column, word in enumerate(codebook.matrix.T):
        sides = {
            sign: [label for label, entry in zip(labels, word, strict=True) if entry == sign]
            for sign in (-1, 1)
        }
        score = float(margins.mean[0, column])
        p = None if margins.probability is None else float(margins.probability[0, column])
        preference = score if p is None else p - 0.5
        rows.append(
            {
                "column": column,
                "positive": sides[1],
                "negative": sides[-1],
                "score": score,
                "probability": p,
                "says": sides[int(np.sign(preference))] if preference else [],
            }
        )
    return rows
