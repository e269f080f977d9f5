"""Kernels, binary machines and calibrators as graphs: one function for each part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from ..calibration import Calibrator, NoCalibration, Platt, PooledPlatt
from ..core.types import FloatArray
from ..kernels import Anova, Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from ..machines.kernel_columns import FittedKernels
from ..machines.lssvm.columns import FittedLSSVM, Piece
from ..machines.lssvm.features import FittedFeatureLSSVM
from ._errors import ExportError
from ._graph import Graph, Tensor


@dataclass(frozen=True)
class GraphMargins:
    """What `Margins` is for arrays: tensors of shape (n_rows, n_columns)."""

    mean: Tensor
    probability: Tensor | None = None
    variance: Tensor | None = None
    noise: FloatArray | None = None


@singledispatch
def between(kernel: Kernel, X: Tensor, Z: FloatArray) -> Tensor:
    """Return the kernel between new rows and given ones."""
    raise ExportError(f"The kernel {type(kernel).__name__} cannot be exported.")


@between.register
def _(kernel: Gaussian, X: Tensor, Z: FloatArray) -> Tensor:
    # Distances from the middle of the rows: far from 0, squares would cancel.
    middle = Z.mean(axis=0)
    near, centred = X - middle, Z - middle
    squares = (near * near).sum(1) + (centred**2).sum(axis=1)[None] - 2.0 * (near @ centred.T)
    return (-kernel.gamma * X.graph.op("Max", squares, 0.0)).exp()


@between.register
def _(kernel: Laplacian, X: Tensor, Z: FloatArray) -> Tensor:
    distances = (X.widened(1) - Z[None]).apply("Abs").sum(2).narrowed(2)
    return (-kernel.gamma * distances).exp()


@between.register
def _(kernel: Anova, X: Tensor, Z: FloatArray) -> Tensor:
    # A product by logarithms: the runtime has no product of doubles along an axis.
    alike = (-kernel.gamma * (X.widened(1) - Z[None]).apply("Abs")).exp()
    return ((1.0 + alike) * 0.5).log().sum(2).narrowed(2).exp()


@between.register
def _(kernel: Linear, X: Tensor, Z: FloatArray) -> Tensor:
    return X @ np.ascontiguousarray(Z.T)


@between.register
def _(kernel: Polynomial, X: Tensor, Z: FloatArray) -> Tensor:
    inner = kernel.gamma * (X @ np.ascontiguousarray(Z.T)) + kernel.coef0
    return X.graph.op("Pow", inner, float(kernel.degree))


@between.register
def _(kernel: Sigmoid, X: Tensor, Z: FloatArray) -> Tensor:
    inner = kernel.gamma * (X @ np.ascontiguousarray(Z.T)) + kernel.coef0
    return inner.apply("Tanh")


def dense_inputs(inputs: Any) -> FloatArray:
    """Return the inputs of support vectors or landmarks as an array."""
    if inputs is None:
        raise ExportError("A precomputed kernel cannot be exported: it reads no inputs.")
    if hasattr(inputs, "toarray"):
        raise ExportError("A model of sparse inputs cannot be exported; fit it to a dense array.")
    return np.asarray(inputs, dtype=np.float64)


@singledispatch
def margins(fitted: Any, X: Tensor, with_own_probability: bool) -> GraphMargins:
    """Return the margins of the trained columns."""
    raise ExportError(
        f"Machines of type {type(fitted).__name__} cannot be exported; SVM, "
        "KernelLogisticRegression and LSSVM can."
    )


@margins.register
def _(fitted: FittedKernels, X: Tensor, with_own_probability: bool) -> GraphMargins:
    # Sparse for many classes, which ONNX has no product for.
    sparse = hasattr(fitted.coefficients, "toarray")
    coefficients = fitted.coefficients.toarray() if sparse else fitted.coefficients
    mean = between(fitted.kernel, X, dense_inputs(fitted.support_inputs)) @ coefficients
    mean = mean + fitted.biases
    return GraphMargins(mean, mean.sigmoid() if with_own_probability else None)


@margins.register
def _(fitted: FittedLSSVM, X: Tensor, with_own_probability: bool) -> GraphMargins:
    if not fitted.trained.all():
        raise ExportError("An LS-SVM with a column that had rows of one class cannot be exported.")
    parts = [_piece(piece, X, with_own_probability) for piece in fitted.pieces]
    order = np.argsort(np.concatenate([piece.columns for piece in fitted.pieces]))
    graph = X.graph

    def joined(tensors: list[Any]) -> Tensor:
        return graph.concatenate(tensors, axis=1).columns(order)

    mean = joined([part.mean for part in parts])
    if not with_own_probability:
        return GraphMargins(mean)
    noise = np.concatenate([1.0 / piece.hyperparameters.zeta for piece in fitted.pieces])[order]
    probability = joined([part.probability for part in parts])
    return GraphMargins(mean, probability, joined([part.variance for part in parts]), noise)


@margins.register
def _(fitted: FittedFeatureLSSVM, X: Tensor, with_own_probability: bool) -> GraphMargins:
    if with_own_probability or not fitted.trained.all():
        raise ExportError(
            "An LSSVM with landmarks can be exported only without probabilities of its own, and if "
            "every column had rows of both classes; choose calibrator='platt', or landmarks=None."
        )
    order = np.argsort(np.concatenate([piece.columns for piece in fitted.pieces]))
    weights = np.concatenate([piece.coefficients for piece in fitted.pieces], axis=1)[:, order]
    biases = np.concatenate([piece.biases for piece in fitted.pieces])[order]
    cross = between(fitted.kernel, X, dense_inputs(fitted.landmarks.inputs))
    return GraphMargins(cross @ np.ascontiguousarray(weights) + biases)


def _piece(piece: Piece, X: Tensor, with_variance: bool) -> GraphMargins:
    """Return the scores of some columns, and VANGESTEL (10)-(12) for rows of equal weight."""
    inputs, kernel = dense_inputs(piece.inputs), piece.kernel
    cross = between(kernel, X, inputs)
    mean = cross @ piece.solution.coefficients + piece.solution.biases
    if not with_variance:
        return GraphMargins(mean)
    n = len(inputs)
    gram = kernel.between(inputs, inputs)
    column_means = gram.mean(axis=0)
    centred_gram = gram - column_means - column_means[:, None] + gram.mean()
    own_mean = cross.sum(1) / float(n)
    centred = cross - own_mean - (column_means - gram.mean())
    own = _diagonal(kernel, X) - 2.0 * own_mean + gram.mean()
    mu, zeta = (np.asarray(getattr(piece.hyperparameters, name)) for name in ("mu", "zeta"))
    variances = []
    for mu_of, zeta_of in zip(mu, zeta, strict=True):
        inverse = np.linalg.inv(centred_gram + np.eye(n) * (mu_of / zeta_of))
        explained = ((centred @ (0.5 * (inverse + inverse.T))) * centred).sum(1)
        left = X.graph.op("Max", own - explained, 0.0)
        variances.append(left / mu_of + 1.0 / (zeta_of * n))
    variance = X.graph.concatenate(variances, axis=1)
    ratio = (2.0 * mean / (variance + 1.0 / zeta)).clip(-800.0, 800.0)
    odds = ratio + (np.log(piece.prior) - np.log1p(-piece.prior))
    return GraphMargins(mean, odds.sigmoid(), variance)


@singledispatch
def _diagonal(kernel: Kernel, X: Tensor) -> Tensor:
    """Return the kernel of every row with itself: 1 where it is a function of the distance."""
    return (X * 0.0).sum(1) + 1.0


@_diagonal.register
def _(kernel: Linear, X: Tensor) -> Tensor:
    return (X * X).sum(1)


@_diagonal.register
def _(kernel: Polynomial, X: Tensor) -> Tensor:
    inner = kernel.gamma * (X * X).sum(1) + kernel.coef0
    return X.graph.op("Pow", inner, float(kernel.degree))


@singledispatch
def calibrated(calibrator: Calibrator, found: GraphMargins) -> GraphMargins:
    """Return margins with the calibrator's probabilities."""
    raise ExportError(f"The calibrator {type(calibrator).__name__} cannot be exported.")


@calibrated.register
def _(calibrator: NoCalibration, found: GraphMargins) -> GraphMargins:
    return found


@calibrated.register
def _(calibrator: Platt, found: GraphMargins) -> GraphMargins:
    scores = found.mean * calibrator.slopes_ + calibrator.intercepts_
    return GraphMargins(found.mean, (-scores).sigmoid())


@calibrated.register
def _(calibrator: PooledPlatt, found: GraphMargins) -> GraphMargins:
    scores = found.mean * calibrator.slopes_ + calibrator.intercepts_
    return GraphMargins(found.mean, scores.sigmoid())


def taken(found: GraphMargins, source: Any, sign: Any, graph: Graph) -> GraphMargins:
    """Return the columns of a code: each has a machine, or the negative of one."""

    def columns(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor.columns(source)

    sign = np.asarray(sign, dtype=np.float64)
    mean, probability = columns(found.mean), columns(found.probability)
    assert mean is not None
    if probability is not None:
        probability = (0.5 - 0.5 * sign) + probability * sign
    noise = None if found.noise is None else found.noise[source]
    return GraphMargins(mean * sign, probability, columns(found.variance), noise)
