"""Nesting one-vs-one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.math import pair_columns
from ..core.registry import register, stored
from ..core.state import Field, Holds, Indices, ListOf, Sizes, require
from ..core.types import FloatArray, IntArray
from .base import Context, Decoder, Scorer, pairwise_preferences, pairwise_sums, prior_of


@stored("fitted.nesting_level")
@dataclass(frozen=True)
class Level:
    """A nested one-vs-one system for the rows that are still tied at the level above."""

    classes: IntArray
    columns: IntArray
    scorer: Scorer | None

    fitted_state: ClassVar[Mapping[str, Field]] = {
        "classes": Indices("c"),
        "columns": Indices("T"),
        "scorer": Holds(share="T", optional=True),
    }

    def check_state(self, sizes: Sizes) -> None:
        """Check that the classes are in order."""
        in_order = sizes["c"] > 0 and np.array_equal(self.classes, np.unique(self.classes))
        require(in_order, self, "has classes that are not in order")


@register("nesting")
class Nesting(Decoder):
    """Nesting one-vs-one (NEST): new machines for the rows on which the vote is tied.

    The training rows with tied votes train a new one-vs-one system. Its tied rows train another
    one, until no row is tied (GALAR section 2.8; Liu, Hao and Yang 2007). If the tied rows have
    one class, that class is chosen; if they have two, a single machine decides.

    Parameters
    ----------
    max_depth : int, default=20
        The largest number of nested systems.

    Attributes
    ----------
    levels_ : list of Level
        The nested systems, without the outermost.

    Notes
    -----
    If the number of tied training rows does not fall, if they are too few for the learner, or if
    `max_depth` is reached, nesting stops. Rows that are still tied are decided by weighted voting
    among the classes of the last level (the largest sum of confidence), then by class size. Nested
    machines vote with their own outputs, because they have too few rows to calibrate them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from polychotomy import Nesting, PolychotomyClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    >>> clf = PolychotomyClassifier(tree, decoder=Nesting()).fit(X[:900], y[:900])
    >>> len(clf.decoder_.levels_) > 0
    True
    """

    fitted_state: ClassVar[Mapping[str, Field]] = {
        "levels_": ListOf(Holds(Level)),
    }
    codes = frozenset({"one_vs_one"})
    needs = frozenset({"training_scores", "inputs", "refit"})
    yields = "decisions"

    def __init__(self, max_depth: int = 20) -> None:
        self.max_depth = max_depth

    def check_state(self, sizes: Sizes) -> None:
        """Check what the declared state cannot express."""
        super().check_state(sizes)
        book, last = self.codebook_, len(self.levels_) - 1
        for number, level in enumerate(self.levels_):
            require(
                level.scorer is not None or number == last, self, "has a level without machines"
            )
            known = (level.classes < book.n_classes).all() and (
                level.columns < book.n_columns
            ).all()
            require(known, self, "has a level of other classes")
            same = np.array_equal(level.columns, inner_columns(level.classes, book))
            require(same, self, "has a level of other pairs")

    def check_inputs(self, n_features: int) -> None:
        """Check that the machines of all levels can read rows of this many inputs."""
        for level in self.levels_:
            check = getattr(level.scorer, "check_inputs", None)
            if check is not None:
                check(n_features)

    def _fit(self, context: Context) -> None:
        if context.training is None or context.refit is None or context.X is None:
            raise ValueError(
                "Nesting needs the inputs X, the machines' scores of the training rows, and refit, "
                "in its context."
            )
        self.levels_: list[Level] = []
        pairs = pairwise_preferences(context.training, context.codebook)
        rows = np.flatnonzero(is_tied(count_votes(pairs, context.codebook.n_classes)))
        while len(rows) and len(self.levels_) < self.max_depth:
            try:
                level = self._train(context, rows)
                votes, _ = _level_votes(level, context.X[rows], context.codebook)
            except ValueError:
                # A learner that needs more rows than the region has, such as nearest neighbours:
                # weighted voting decides, as where the region does not shrink.
                return
            self.levels_.append(level)
            if level.scorer is None:
                return
            left = rows[is_tied(votes)]
            if len(left) >= len(rows):
                return
            rows = left

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        if not hasattr(self, "levels_"):
            raise ValueError("Nesting must be fitted before it can decode.")
        pairs = pairwise_preferences(margins, codebook)
        votes = count_votes(pairs, codebook.n_classes)
        confidence = pairwise_sums(pairs, codebook.n_classes)
        rows = np.flatnonzero(is_tied(votes))
        for level in self.levels_:
            if len(rows) == 0:
                break
            if X is None:
                raise ValueError("Nesting needs the inputs X to decide tied rows.")
            votes[rows], confidence[rows] = _level_votes(level, X[rows], codebook)
            rows = rows[is_tied(votes[rows])]
        return _one_winner(votes, confidence, prior_of(self, codebook))

    def _train(self, context: Context, rows: IntArray) -> Level:
        assert context.refit is not None
        classes = np.unique(context.y[rows])
        if len(classes) == 1:
            return Level(classes, np.array([], dtype=np.intp), None)
        columns = inner_columns(classes, context.codebook)
        return Level(classes, columns, context.refit(rows, columns))


def inner_columns(classes: IntArray, codebook: Codebook) -> IntArray:
    """Return the columns in which only these classes take part."""
    inside = np.isin(np.arange(codebook.n_classes), classes)
    return np.flatnonzero(~(codebook.matrix[~inside] != 0).any(axis=0))


def is_tied(votes: FloatArray) -> Any:
    """Return, for every row, whether several classes share the most votes."""
    return (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1


def _level_votes(level: Level, X: Any, codebook: Codebook) -> tuple[FloatArray, FloatArray]:
    n_rows = X.shape[0]
    votes, confidence = (np.full((n_rows, codebook.n_classes), -np.inf) for _ in range(2))
    if level.scorer is None:
        votes[:, level.classes] = 1.0
        confidence[:, level.classes] = 0.0
        return votes, confidence
    nested = Codebook(codebook.matrix[np.ix_(level.classes, level.columns)], "one_vs_one")
    pairs = pairwise_preferences(level.scorer(X), nested)
    votes[:, level.classes] = count_votes(pairs, nested.n_classes)
    confidence[:, level.classes] = pairwise_sums(pairs, nested.n_classes)
    return votes, confidence


def _one_winner(votes: FloatArray, confidence: FloatArray, prior: FloatArray) -> FloatArray:
    # Rows that no level decides go to the class with the largest sum of confidence.
    decisive = np.where(is_tied(votes)[:, None], confidence, votes)
    best = decisive == decisive.max(axis=1, keepdims=True)
    decisions = np.zeros_like(votes)
    winner = np.where(best, prior, -np.inf).argmax(axis=1)
    decisions[np.arange(len(votes)), winner] = 1.0
    return decisions


def count_votes(pairs: FloatArray, n_classes: int) -> FloatArray:
    """Count the pairs each class wins; an answer exactly on the boundary counts for neither."""
    votes = np.zeros((n_classes, len(pairs)))
    columns = np.ascontiguousarray(pairs.T)
    for column, i, j in zip(columns, *pair_columns(n_classes), strict=True):
        votes[i] += column > 0
        votes[j] += column < 0
    return np.ascontiguousarray(votes.T)
