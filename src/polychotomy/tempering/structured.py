"""Structured tempering: slopes for every class and a matrix, each only if the rows ask for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space

from ..core.checks import positive_number
from ..core.empirical_bayes import ClassScores, ShrunkFit, fit_shrunk, penalties
from ..core.registry import register
from ..core.state import Array, Field, Instance, Number
from ..core.types import FloatArray, IntArray
from .tempering import Tempering, centred_logs, checked_rows

# The groups of parameters, in the order in which they are added.
GROUPS = ("slope", "biases", "class_slopes", "matrix")
# The floors that floor="auto" tries, in units of 1 / M.
FLOORS = (1e-5, 1e-3, 1e-2, 1e-1)
# A matrix of more free entries than this is not tried: a step of Newton's method costs their cube.
MOST_MATRIX_ENTRIES = 1000
# Nor one with fewer rows for each free entry than this. Of the matrices that had the largest
# evidence with fewer, 15 of 18 raised the NLL of new rows; with more, 9 of 36.
ROWS_OF_AN_ENTRY = 10


@register("structured")
class StructuredTempering(Tempering):
    """Temper class probabilities with as much structure as the rows support.

    ``p' = softmax(z + d z + diag(u) z + V z + b)``, where z is log p centred over the classes. The
    slope d is shared by all classes; the slopes u of the classes sum to 0, as do the biases b; the
    matrix V has a zero diagonal, and rows and columns that sum to 0. In this form all parameters
    are identified. Every group (d, b, u, V) has a penalty, whose strength is found by empirical
    Bayes. Of the nested models without change, with d, with d and b, with u, and with V, and of the
    biases alone (d = -1), that of the largest evidence is kept. V is tried only with ten rows for
    each of its free entries. Models with a slope ``1 + d`` below 0 are left out.

    Parameters
    ----------
    floor : float or "auto", default="auto"
        Smaller probabilities count as this, because 0 has no logarithm. "auto" tries several
        floors and keeps that of the largest evidence: forests and neighbours, whose zeros mean
        little, want a large one.

    Attributes
    ----------
    groups_ : list of str
        The groups that were kept, of "slope", "biases", "class_slopes" and "matrix".
    slope_ : float
        ``1 + d``; 0 with the biases alone.
    biases_ : ndarray of shape (n_classes,)
        The biases b.
    class_slopes_ : ndarray of shape (n_classes,)
        The slopes u; 0 if they were not kept.
    matrix_ : ndarray of shape (n_classes, n_classes)
        The matrix V; 0 if it was not kept.
    strengths_ : ndarray of shape (n_groups,)
        The strengths of the penalties of the groups that were kept.
    floor_ : float
        The floor.
    log_evidence_ : float
        Laplace's approximation of the log evidence.

    Notes
    -----
    The form is that of structured matrix scaling (Berta, Holzmüller, Jordan and Bach, 2025,
    arXiv 2511.03685). There the strengths are fixed and the slope has no penalty; here the rows
    decide about strengths, groups and floor.

    Note: a slope below 0 fits best where rows that were held out tell their own class, because it
    is missing in what the other rows say: leave-one-out where the inputs say nothing, or groups of
    one class each. New rows do not tell it. Slopes of single classes may be below 0: those of a
    class between two others, for example. To refuse these, too, raised the NLL by up to 0.2.

    Note: strengths alone do not let a group vanish, because their prior keeps them finite; a group
    without signal would cost a little on every data set. Held-out likelihoods could choose the
    groups as well, but they are noisy with few rows and take five times as many fits.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy import StructuredTempering
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1.0, 1.0, 1.0], size=600)
    >>> true = p * [1.0, 1.0, 0.2]  # the third class is predicted too often
    >>> true /= true.sum(axis=1, keepdims=True)
    >>> y = (rng.uniform(size=(600, 1)) > true.cumsum(axis=1)[:, :-1]).sum(axis=1)
    >>> tempering = StructuredTempering().fit(p, y)
    >>> tempering.groups_
    ['slope', 'biases']
    >>> tempering.transform([[0.3, 0.3, 0.4]]).round(1)
    array([[0.4, 0.4, 0.1]])
    """

    trusts_leave_one_out: ClassVar[bool] = False
    fitted_state: ClassVar[dict[str, Field]] = {
        "class_slopes_": Array("M"),
        "matrix_": Array("MM"),
        "groups_": Instance(list),
        "floor_": Number(above=0.0),
        "log_evidence_": Number(),
    }

    def __init__(self, floor: float | str = "auto") -> None:
        self.floor = floor  # type: ignore[assignment]

    def fit(self, p: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Learn from probabilities and the true classes.

        Parameters
        ----------
        p : array-like of shape (n_rows, n_classes)
            Class probabilities, for rows that were not used to fit what predicted them.
        y : array-like of int of shape (n_rows,)
            The true classes, as column numbers of p.
        weights : array-like of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        self : StructuredTempering
        """
        values, classes, row_weights = checked_rows(p, y, weights)
        found = max(
            (
                _fitted(values, classes, row_weights, floor, GROUPS[:3])
                for floor in self._floors(values.shape[1])
            ),
            key=lambda one: one.log_evidence,
        )
        # The floor was chosen with slopes of the classes; now the other models have that floor.
        others = [
            _fitted(values, classes, row_weights, found.floor, GROUPS[:count])
            for count in (4, 2, 1, 0)
        ]
        flat = _flat(values, classes, row_weights, found.floor)
        models = [one for one in (found, *others, flat) if not one.is_reversed]
        best = max(models, key=lambda one: one.log_evidence)
        parameters = best.parameters(values.shape[1])
        self.groups_, self.floor_ = list(best.groups), best.floor
        self.slope_, self.biases_ = 1.0 + float(parameters["slope"][0]), parameters["biases"]
        self.class_slopes_, self.matrix_ = parameters["class_slopes"], parameters["matrix"]
        self.strengths_, self.log_evidence_ = best.fit.strengths, best.log_evidence
        return self

    def _scores(self, p: FloatArray) -> FloatArray:
        z = centred_logs(p, self.floor_)
        scores: FloatArray = z * (self.slope_ + self.class_slopes_) + z @ self.matrix_.T
        return scores + self.biases_

    def _floors(self, n_classes: int) -> list[float]:
        if isinstance(self.floor, str) and self.floor == "auto":
            return [share / n_classes for share in FLOORS]
        return [positive_number(self.floor, "floor")]


@dataclass(frozen=True)
class _Fitted:
    """A model with some groups and a floor, and its evidence."""

    groups: tuple[str, ...]
    floor: float
    fit: ShrunkFit
    log_evidence: float
    is_flat: bool = False

    def parameters(self, n_classes: int) -> dict[str, FloatArray]:
        """Return what every group adds to the scores; zeros for those that are left out."""
        found = {group: np.zeros(n_classes) for group in GROUPS[:3]}
        found["matrix"] = np.zeros((n_classes, n_classes))
        start = 0
        for group in self.groups:
            basis = _basis(group, n_classes)
            found[group] = basis @ self.fit.theta[start : start + basis.shape[-1]]
            start += basis.shape[-1]
        if self.is_flat:
            found["slope"] = np.full(n_classes, -1.0)
        return found

    @property
    def is_reversed(self) -> bool:
        """Whether the slope is below 0."""
        return "slope" in self.groups and 1.0 + self.fit.theta[0] < 0.0


def _fitted(
    p: FloatArray,
    y: IntArray,
    row_weights: FloatArray | None,
    floor: float,
    groups: tuple[str, ...],
) -> _Fitted:
    """Fit the model with these groups; those that `_size` says are not tried are left out."""
    z = centred_logs(p, floor)
    n_classes = z.shape[1]
    count = len(z) if row_weights is None else float(row_weights.sum())
    groups = tuple(group for group in groups if _size(group, n_classes, count))
    model, members = _model(z, y, row_weights, groups)
    if not groups:
        nothing = ShrunkFit(np.empty(0), np.empty(0), True)
        return _Fitted(groups, floor, nothing, -model.value(np.empty(0)))
    fit = fit_shrunk(model, members)
    return _Fitted(groups, floor, fit, log_evidence(model, members, fit))


def _flat(p: FloatArray, y: IntArray, row_weights: FloatArray | None, floor: float) -> _Fitted:
    """Fit the biases alone, as if p told nothing."""
    equal = np.full(p.shape, 1.0 / p.shape[1])
    return replace(_fitted(equal, y, row_weights, floor, ("biases",)), is_flat=True)


def log_evidence(model: ClassScores, groups: list[IntArray], fit: ShrunkFit) -> float:
    """Return Laplace's approximation of the log evidence at the strengths of a fit.

    ``-NLL - 1/2 sum_g l_g |theta_g|^2 + 1/2 sum_g k_g log l_g - 1/2 log det H``, with H the Hessian
    of the penalised model.
    """
    penalty = penalties(model, groups, fit.strengths)
    _, hessian = model.derivatives(fit.theta)
    matrix = hessian.matrix + np.diag(penalty)  # type: ignore[attr-defined]
    likelihood = -model.value(fit.theta) - 0.5 * float(penalty @ fit.theta**2)
    return likelihood + 0.5 * float(np.log(penalty).sum() - np.linalg.slogdet(matrix)[1])


def _model(
    z: FloatArray, y: IntArray, row_weights: FloatArray | None, groups: tuple[str, ...]
) -> tuple[ClassScores, list[IntArray]]:
    """Return the model of some groups and the parameters of each group.

    Note: without the matrix, a class reads its own z and a constant only, which keeps the Hessian
    small. With it, every class reads all z.
    """
    n_rows, n_classes = z.shape
    own = np.arange(n_classes)
    if "matrix" in groups:
        row = np.concatenate([z, np.ones((n_rows, 1))], axis=1)
        features = np.broadcast_to(row[:, None, :], (n_rows, n_classes, n_classes + 1))
        diagonal = own
    else:
        features = np.stack([z, np.ones(z.shape)], axis=2)
        diagonal = np.zeros(n_classes, dtype=np.intp)
    columns, members, start = [], [], 0
    for group in groups:
        basis = _basis(group, n_classes)
        design = np.zeros((n_classes, features.shape[2], basis.shape[-1]))
        if group == "biases":
            design[:, -1] = basis
        elif group == "matrix":
            design[:, :-1] = basis
        else:
            design[own, diagonal] = basis
        columns.append(design.reshape(-1, basis.shape[-1]))
        members.append(np.arange(start, start + basis.shape[-1]))
        start += basis.shape[-1]
    whole = np.concatenate([np.empty((n_classes * features.shape[2], 0)), *columns], axis=1)
    return ClassScores(features, y, row_weights, whole, offset=z), members


def _size(group: str, n_classes: int, n_rows: float) -> int:
    """Return how many free parameters a group has; 0 where it is not tried."""
    matrix = n_classes**2 - 3 * n_classes + 1
    most = min(MOST_MATRIX_ENTRIES, n_rows / ROWS_OF_AN_ENTRY)
    return {
        "slope": 1,
        "biases": n_classes - 1,
        "class_slopes": n_classes - 1 if n_classes > 2 else 0,
        "matrix": matrix if 0 < matrix <= most else 0,
    }[group]


@cache
def _basis(group: str, n_classes: int) -> FloatArray:
    """Return an orthonormal basis of a group's free parameters, along the last axis.

    Orthonormal, so that the penalty of the parameters is that of what they stand for, and no order
    of the classes is favoured. The slope is the same number for all classes.
    """
    if group == "slope":
        return np.ones((n_classes, 1))
    sums_to_zero = null_space(np.ones((1, n_classes)))
    if group != "matrix":
        return np.asarray(sums_to_zero)
    # B W B' has rows and columns that sum to 0 for any W; its diagonal is linear in W.
    diagonal = np.einsum("ka,kb->kab", sums_to_zero, sums_to_zero).reshape(n_classes, -1)
    free = null_space(diagonal).reshape(n_classes - 1, n_classes - 1, -1)
    basis: FloatArray = np.einsum("ka,lb,abn->kln", sums_to_zero, sums_to_zero, free, optimize=True)
    return basis
