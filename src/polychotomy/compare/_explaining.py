"""One prediction explained: by the binary machines of a model, or of all members of a pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ..pipe.classifier import PolychotomyClassifier
from ..pipe.explanation import Explanation


@dataclass(frozen=True)
class RowExplanation:
    """The prediction of a model for a row, and those of its parts; it prints as tables.

    Attributes
    ----------
    classes : list of dict
        "class" and "probability" (None without probabilities), the best first.
    parts : list of dict
        "name", "weight" (of a member of a pool, else None) and "explanation": an `Explanation` if
        the part consists of binary machines, else None.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import ProbabilisticSVC
    >>> from polychotomy.compare import explain_row
    >>> X, y = load_iris(return_X_y=True)
    >>> found = explain_row(ProbabilisticSVC().fit(X, y), X[:1])
    >>> len(found.parts), len(found.parts[0]["explanation"].answers), found.classes[0]["class"]
    (1, 3, 0)
    """

    classes: list[dict[str, Any]]
    parts: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as values that JSON can hold."""
        parts = [
            {**part, "explanation": part["explanation"] and asdict(part["explanation"])}
            for part in self.parts
        ]
        return {"prediction": self.classes[0]["class"], "classes": self.classes, "parts": parts}

    def __str__(self) -> str:
        if len(self.parts) == 1 and self.parts[0]["explanation"] is not None:
            return str(self.parts[0]["explanation"])
        blocks = []
        for part in self.parts:
            weight = "" if part["weight"] is None else f", weight {part['weight']:.2f}"
            words = part["explanation"] or "does not consist of binary machines"
            blocks.append(f"{part['name']}{weight}\n\n{words}\n")
        answers = ", ".join(
            f"{one['class']!r}"
            + ("" if one["probability"] is None else f" {one['probability']:.3f}")
            for one in self.classes
        )
        return "\n".join([*blocks, f"together: {answers}"])


def explain_row(model: Any, row: Any) -> RowExplanation:
    """Show the answer of each binary machine of a model for a row, and how it was decoded.

    Parameters
    ----------
    model : classifier
        A fitted classifier of this library, or a pipeline, search or pool with some in it.
    row : array-like or DataFrame of shape (1, n_features)
        The row.

    Returns
    -------
    explanation : RowExplanation

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy.compare import explain_row, tuned_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> model = tuned_pipeline("MWV_SVM", y).fit(X[::3], y[::3])
    >>> explain_row(model, X[:1]).parts[0]["explanation"].decoder
    'MaxWins()'
    """
    parts = [
        {
            "name": name,
            "weight": weight,
            "explanation": _explanation(found, inputs),
        }
        for name, weight, found, inputs in _parts(model, row)
    ]
    return RowExplanation(_classes(model, row), parts)


def _explanation(found: Any, inputs: Any) -> Explanation | None:
    return found.explain(inputs) if isinstance(found, PolychotomyClassifier) else None


def _classes(model: Any, row: Any) -> list[dict[str, Any]]:
    if not hasattr(model, "predict_proba"):
        return [{"class": model.predict(row).tolist()[0], "probability": None}]
    p = model.predict_proba(row)[0]
    labels = model.classes_.tolist()
    order = (-p).argsort(kind="stable").tolist()
    return [{"class": labels[k], "probability": float(p[k])} for k in order]


def _parts(
    model: Any, row: Any, name: str | None = None, weight: float | None = None
) -> Iterator[tuple[str, float | None, Any, Any]]:
    """Find the classifiers inside a model, each with the row as it sees it."""
    if hasattr(model, "steps"):
        for _, step in model.steps[:-1]:
            row = row if step in (None, "passthrough") else step.transform(row)
        yield from _parts(model.steps[-1][1], row, name, weight)
    elif hasattr(model, "members_"):
        for each, member in model.members_.items():
            yield from _parts(member, row, each, model.weights_[each])
    elif hasattr(model, "metric_"):
        yield from _parts(model.estimator_, model.metric_.transform(row), name, weight)
    else:
        inner = getattr(model, "best_estimator_", getattr(model, "classifier_", None))
        if inner is None or isinstance(model, PolychotomyClassifier):
            yield name or type(model).__name__, weight, model, row
        else:
            yield from _parts(inner, row, name, weight)
