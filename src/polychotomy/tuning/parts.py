"""What a sweep is cut into, and what comes of each part; both can be sent to other processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..core.types import FloatArray
from ..pipe.classifier import PolychotomyClassifier
from ..pipe.session import Session
from .grid import Cell
from .ties import still_possible


@dataclass(frozen=True)
class CellScore:
    """The figures of one method in one cell; NaN if the cell failed."""

    error: float
    nll: float | None
    fold_errors: FloatArray
    status: str


@dataclass(frozen=True)
class Part:
    """Cells of a sweep that are trained together, and those in which each method is judged."""

    chain: list[Cell]
    wanted: list[set[Cell]]

    @property
    def cells(self) -> list[Cell]:
        """The cells in which some method is judged."""
        return [cell for cell in self.chain if any(cell in cells for cells in self.wanted)]


@dataclass
class Found:
    """What came of a part.

    For each method the figures and seconds of its own; the out-of-fold scores that may still be
    needed; the seconds of each stage; and the warnings, if it was judged elsewhere.
    """

    outcomes: list[dict[Cell, CellScore]]
    seconds_own: list[float]
    kept: dict[Cell, FloatArray] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[Warning] = field(default_factory=list)


@dataclass
class Method:
    """A pipe to be tuned, and its results so far.

    Parameters
    ----------
    name : str
        Its name.
    classifier : PolychotomyClassifier
        The pipe, a copy. It is fitted at the end.
    session : Session
        Its checked parts and training rows.
    ties : str
        The name of the tie rule, which decides between cells.
    """

    name: str
    classifier: PolychotomyClassifier
    session: Session
    ties: str
    outcomes: dict[Cell, CellScore] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def probabilities(self) -> bool:
        """Whether the method has probabilities, and so a likelihood."""
        return self.session.parts.yields_probabilities

    def possible_winners(
        self, cells: Iterable[Cell], outcomes: Mapping[Cell, CellScore] | None = None
    ) -> list[Cell]:
        """Return the cells that may still turn out to be the best, by these or its own outcomes."""
        known = self.outcomes if outcomes is None else outcomes
        judged = [cell for cell in cells if cell in known]
        errors = [known[cell].error for cell in judged]
        losses = [known[cell].nll for cell in judged]
        nll = None if not self.probabilities else [np.nan if x is None else x for x in losses]
        return [judged[number] for number in still_possible(errors, nll, self.ties)]
