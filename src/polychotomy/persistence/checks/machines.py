"""Trained machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..._training import BinaryMachines, NestedScorer
from ...kernels import KERNELS, Kernel
from ...machines import AnyLearner
from ...machines._lssvm_centring import Centring
from ...machines._lssvm_evidence import Hyperparameters
from ...machines._lssvm_solve import Factor, Fit
from ...machines._lssvm_tridiagonal import Tridiagonal
from ...machines.any_learner import FittedColumns
from ...machines.kernel_columns import FittedKernels, KernelColumns
from ...machines.klr_columns import LogisticColumns
from ...machines.lssvm_columns import FittedLSSVM, LSSVMColumns, Piece
from .._errors import RefusedError
from .._values import (
    BOOL,
    FLOAT,
    INT,
    SIGNS,
    array,
    indices,
    instance,
    integer,
    matrix_width,
    number,
    require,
)
from .registry import checks


@checks(Kernel)
def _kernel(kernel: Kernel) -> None:
    require(isinstance(kernel.name, str) and kernel.name in KERNELS, kernel, "has no valid name")
    for name in ("gamma", "degree", "coef0"):
        number(kernel, name)


@checks(FittedKernels)
def _fitted_kernels(fitted: FittedKernels) -> None:
    kernel = instance(fitted, "kernel", Kernel)
    n_support, n_columns = array(fitted, "coefficients", (None, None), FLOAT).shape
    indices(fitted, "support", n_support, None)
    array(fitted, "biases", (n_columns,), FLOAT)
    array(fitted, "trained", (n_columns,), BOOL)
    array(fitted, "iterations", (n_columns,), INT)
    if kernel.name == "precomputed":
        require(fitted.support_inputs is None, fitted, "has inputs of a precomputed kernel")
    else:
        matrix_width(fitted, "support_inputs", n_support)


@checks(Fit)
def _fit(fit: Fit) -> None:
    _, n_columns = array(fit, "coefficients", (None, None), FLOAT).shape
    array(fit, "biases", (n_columns,), FLOAT)


@checks(Hyperparameters)
def _hyperparameters(found: Hyperparameters) -> None:
    (n_columns,) = array(found, "gamma", (None,), FLOAT).shape
    for name in ("mu", "zeta"):
        array(found, name, (n_columns,), FLOAT)
    for name in ("gamma", "mu", "zeta"):
        require((getattr(found, name) > 0.0).all(), found, f"has a {name} that is not positive")
    for name in ("at_bound", "flat"):
        array(found, name, (n_columns,), BOOL)


@checks(Centring)
def _centring(centring: Centring) -> None:
    (n_rows,) = array(centring, "mirror", (None,), FLOAT).shape
    array(centring, "root_weights", (n_rows,), FLOAT)
    require((centring.root_weights > 0.0).all(), centring, "has weights that are not positive")
    array(centring, "border", (n_rows - 1,), FLOAT)
    number(centring, "corner")
    for name in ("gram_exponent", "weight_exponent"):
        integer(centring, name, -5000, 5000)


@checks(Tridiagonal)
def _tridiagonal(basis: Tridiagonal) -> None:
    n_rows = instance(basis, "centring", Centring).n_rows
    require(n_rows >= 2, basis, "has fewer than two rows")
    array(basis, "diagonal", (n_rows - 1,), FLOAT)
    array(basis, "off_diagonal", (n_rows - 2,), FLOAT)
    array(basis, "eigenvalues", (n_rows - 1,), FLOAT)
    order = max(n_rows - 2, 0)
    array(basis, "reflectors", (order, order), FLOAT)
    array(basis, "factors", (order,), FLOAT)
    require(number(basis, "floor") >= 0.0, basis, "has a negative floor")


@checks(Factor)
def _factor(basis: Factor) -> None:
    n_rows = instance(basis, "centring", Centring).n_rows
    require(n_rows >= 2, basis, "has fewer than two rows")
    triangle = array(basis, "triangle", (n_rows - 1, n_rows - 1), FLOAT)
    require((triangle.diagonal() > 0.0).all(), basis, "has a diagonal that is not positive")
    require(not np.triu(triangle, 1).any(), basis, "has no triangle")
    require(number(basis, "ridge") > 0.0, basis, "has a ridge that is not positive")


@checks(Piece)
def _piece(piece: Piece) -> None:
    n_rows = len(indices(piece, "rows", None, None))
    n_columns = len(indices(piece, "columns", None, None))
    kernel = instance(piece, "kernel", Kernel)
    require(kernel.name != "precomputed", piece, "has a precomputed kernel")
    matrix_width(piece, "inputs", n_rows)
    array(piece, "targets", (n_rows, n_columns), FLOAT)
    fit = instance(piece, "solution", Fit)
    require(fit.coefficients.shape == (n_rows, n_columns), piece, "has a solution of other rows")
    basis = instance(piece, "basis", (Tridiagonal, Factor))
    require(basis.n_rows == n_rows, piece, "has a basis of other rows")
    found = instance(piece, "hyperparameters", Hyperparameters)
    require(len(found.gamma) == n_columns, piece, "has hyperparameters of other columns")
    prior = array(piece, "prior", (n_columns,), FLOAT)
    require(((prior > 0.0) & (prior < 1.0)).all(), piece, "has a prior outside (0, 1)")


@checks(FittedLSSVM)
def _fitted_lssvm(fitted: FittedLSSVM) -> None:
    trained = array(fitted, "trained", (None,), BOOL)
    pieces = instance(fitted, "pieces", list)
    require(all(type(piece) is Piece for piece in pieces), fitted, "has pieces of another type")
    columns = np.concatenate([piece.columns for piece in pieces] or [np.zeros(0, int)])
    require(np.array_equal(np.sort(columns), np.flatnonzero(trained)), fitted, "lacks a column")


@checks(FittedColumns)
def _fitted_columns(fitted: FittedColumns) -> None:
    estimators = instance(fitted, "estimators", list)
    for estimator in estimators:
        if estimator is not None:
            classes = np.asarray(getattr(estimator, "classes_", None))
            known = classes.dtype.kind in INT and classes.tolist() == [0, 1]
            require(isinstance(estimator, BaseEstimator) and known, fitted, "is of other classes")
    rows = fitted.rows
    if rows is not None:
        fine = type(rows) is list and len(rows) == len(estimators)
        require(fine, fitted, "has rows of another type")
        for each in rows:
            whole = type(each) is np.ndarray and each.ndim == 1 and each.dtype.kind in INT
            require(whole and (each >= 0).all(), fitted, "has rows out of range")


FITTED_BY: dict[Any, Any] = {
    KernelColumns: FittedKernels,
    LogisticColumns: FittedKernels,
    LSSVMColumns: FittedLSSVM,
    AnyLearner: FittedColumns,
}


def check_machines(machine: Any, fitted: Any, n_columns: int, n_features: int) -> None:
    """Check that a machine and what it fitted belong together, to a code and to the inputs."""
    wanted = FITTED_BY.get(type(machine))
    if wanted is None or type(fitted) is not wanted:
        raise RefusedError("The machines in the model", "do not belong to their solutions")
    if type(fitted) is FittedColumns:
        there = len(fitted.estimators)
        _check_wrapped(fitted, n_features)
    else:
        there = len(fitted.trained)
        _check_inputs(fitted, n_features)
    require(there == n_columns, fitted, f"has {there} columns in place of {n_columns}")


def _check_wrapped(fitted: FittedColumns, n_features: int) -> None:
    for number_, estimator in enumerate(fitted.estimators):
        if estimator is None:
            continue
        wanted = n_features if fitted.rows is None else len(fitted.rows[number_])
        there = getattr(estimator, "n_features_in_", None)
        require(there == wanted, fitted, "has a classifier of another number of inputs")
    for rows in fitted.rows or ():
        require(not len(rows) or rows.max() < n_features, fitted, "has rows out of range")


def _check_inputs(fitted: FittedKernels | FittedLSSVM, n_features: int) -> None:
    if isinstance(fitted, FittedLSSVM):
        for piece in fitted.pieces:
            fine = piece.inputs.shape[1] == n_features
            require(fine, fitted, "has inputs of another number of features")
    elif fitted.kernel.name == "precomputed":
        indices(fitted, "support", len(fitted.support), n_features)
    else:
        fine = fitted.support_inputs.shape[1] == n_features
        require(fine, fitted, "has inputs of another number of features")


@checks(NestedScorer)
def _nested_scorer(scorer: NestedScorer) -> None:
    instance(scorer, "machine", tuple(FITTED_BY))


@checks(BinaryMachines)
def _binary_machines(machines: BinaryMachines) -> None:
    instance(machines, "machine", tuple(FITTED_BY))
    indices(machines, "source", None, None)
    sign = array(machines, "sign", (len(machines.source),), SIGNS)
    require(np.isin(sign, (-1, 1)).all(), machines, "has signs other than -1 and +1")
