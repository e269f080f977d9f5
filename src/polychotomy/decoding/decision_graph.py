"""The decision directed acyclic graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..core.checks import listed
from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.registry import register
from ..core.state import Field, Indices, Sizes, require
from ..core.types import FloatArray, IntArray
from .base import Context, Decoder, pairwise_preferences


@register("decision_graph")
class DecisionGraph(Decoder):
    """Decision directed acyclic graph (DDAG) of one-vs-one machines.

    The classes form a list. The machine of the first and the last class decides which of the two
    leaves the list, until one class remains (GALAR section 2.4; Platt, Cristianini and Shawe-Taylor
    2000). A row is seen by M - 1 machines. The result depends on the order of the list. An answer
    exactly on the boundary goes to the first of the two.

    Parameters
    ----------
    order : array-like of shape (n_classes,), default=None
        The class labels in the order of the list (class numbers, to decode bare arrays); by default
        the class order.

    Notes
    -----
    The scores of `decode` are the round in which a class left the list. Only the largest, that of
    the class that remained, is meaningful.

    Examples
    --------
    >>> from polychotomy import DecisionGraph
    >>> cycle = [[0.9, 0.3, 0.6]]  # 0 beats 1, 1 beats 2, 2 beats 0
    >>> DecisionGraph().decode(cycle).argmax(axis=1)
    array([1])
    >>> DecisionGraph(order=[1, 2, 0]).decode(cycle).argmax(axis=1)
    array([2])
    """

    fitted_state: ClassVar[Mapping[str, Field]] = {
        "order_": Indices("M", below="M"),
    }
    codes = frozenset({"one_vs_one"})
    yields = "decisions"

    def __init__(self, order: ArrayLike | None = None) -> None:
        self.order = order

    def check_state(self, sizes: Sizes) -> None:
        """Check what the declared state cannot express."""
        super().check_state(sizes)
        once = len(np.unique(self.order_)) == sizes["M"]
        require(once, self, "has an order_ with a class twice")

    def _fit(self, context: Context) -> None:
        self.order_ = self._numbers(context.class_labels)

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        pairs = pairwise_preferences(margins, codebook)
        n_classes = codebook.n_classes
        fitted = hasattr(self, "order_")
        order = self.order_ if fitted else self._numbers(np.arange(n_classes))
        answers = _square_preferences(pairs, n_classes)
        rows = np.arange(len(pairs))
        first, last = np.zeros(len(pairs), int), np.full(len(pairs), n_classes - 1)
        scores = np.full((len(pairs), n_classes), float(n_classes - 1))
        for step in range(n_classes - 1):
            left, right = order[first], order[last]
            first_stays = answers[rows, left, right] >= 0.0
            scores[rows, np.where(first_stays, right, left)] = step
            first, last = first + ~first_stays, last - first_stays
        return scores

    def _numbers(self, labels: Any) -> IntArray:
        if self.order is None:
            return np.arange(len(labels))
        wanted = np.asarray(self.order).tolist()
        known = labels.tolist()
        if len(wanted) != len(known) or set(wanted) != set(known):
            raise ValueError(
                f"order must name every class once: {listed(known, 'and')}; got {wanted!r}."
            )
        return np.array([known.index(label) for label in wanted])


def _square_preferences(pairs: FloatArray, n_classes: int) -> FloatArray:
    first, second = np.triu_indices(n_classes, 1)
    square = np.zeros((len(pairs), n_classes, n_classes))
    square[:, first, second] = pairs
    square[:, second, first] = -pairs
    return square
