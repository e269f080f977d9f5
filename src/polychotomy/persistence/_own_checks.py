"""What has to hold of our own fitted objects before any of them is used.

Every class that may be in a model file has an entry here: the attributes that fitting gives it, and
a function that checks them. An attribute that is not named is refused. An object is checked after
the objects inside it, so that a check may rely on theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from .._parts import Parts, check_together
from .._training import BinaryMachines, NestedScorer
from .._types import Codebook
from .._views import VIEWS, View
from ..calibration import CALIBRATORS, Isotonic, Platt, PooledPlatt
from ..classifier import PolychotomyClassifier
from ..codes import CODES, CustomCode
from ..decoding import (
    DECODERS,
    BayesianDecoding,
    BinaryTree,
    CodeCoupling,
    DecisionGraph,
    Decoder,
    DynamicallyOrdered,
    LossDecoding,
    Nesting,
    PairwiseCoupling,
    ShrunkSoftMax,
    SoftMax,
    ValuedPreference,
)
from ..decoding.nesting import Level
from ..decoding.tree import Node
from ..kernels import KERNELS, Kernel
from ..machines import LSSVM, SVM, AnyLearner, KernelLogisticRegression
from ..machines._lssvm_centring import Centring
from ..machines._lssvm_evidence import Hyperparameters
from ..machines._lssvm_solve import Fit
from ..machines._lssvm_tridiagonal import Tridiagonal
from ..machines.any_learner import FittedColumns
from ..machines.kernel_columns import FittedKernels, KernelColumns
from ..machines.klr_columns import LogisticColumns
from ..machines.lssvm_columns import FittedLSSVM, LSSVMColumns, Piece
from ..metric import LearnedMetric
from ..metric_classifier import MetricClassifier
from ..pool import PolychotomyPool
from ..probabilistic_svc import ProbabilisticSVC
from ..search import TwoStepSearchCV
from ..tempering import Tempering
from ._errors import RefusedError
from ._values import (
    BOOL,
    FLOAT,
    INT,
    SIGNS,
    array,
    indices,
    instance,
    integer,
    is_number,
    labels,
    matrix_width,
    number,
    require,
)

MAX_FEATURES = 1 << 31


class Check(NamedTuple):
    """What is known of a class: the attributes of fitted objects, and what must hold of them."""

    fitted: frozenset[str]
    function: Callable[[Any], None]


CHECKS: dict[type, Check] = {}


def checks(
    *classes: type, fitted: str = ""
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Register the check of some classes; `fitted` names what fitting adds to their parameters."""

    def register(function: Callable[[Any], None]) -> Callable[[Any], None]:
        for cls in classes:
            CHECKS[cls] = Check(frozenset(fitted.split()), function)
        return function

    return register


def check_own(owner: Any) -> None:
    """Check an object of one of our own classes."""
    cls, known = type(owner), CHECKS[type(owner)]
    if is_dataclass(cls):
        names = {field.name for field in fields(cls)}
        require(set(vars(owner)) == names, owner, "has not the attributes that it should have")
    elif issubclass(cls, BaseEstimator):
        # By the signature: `get_params` would read attributes, which may be missing.
        parameters = set(signature(cls).parameters)
        require(parameters <= set(vars(owner)), owner, "lacks a parameter")
        unknown = set(vars(owner)) - parameters - known.fitted
        require(not unknown, owner, f"has the unknown attribute {min(unknown, default='')!r:.60}")
        if known.fitted and not known.fitted & set(vars(owner)):
            return  # as its user made it, not fitted
    else:
        unknown = set(vars(owner)) ^ known.fitted
        require(not unknown, owner, "has not the attributes that it should have")
    known.function(owner)


# --- parts that are not fitted ------------------------------------------------------------------


@checks(*CODES.values(), CustomCode)
def _code(code: Any) -> None:
    pass


@checks(Codebook)
def _codebook(codebook: Codebook) -> None:
    """Its constructor has checked the matrix."""


@checks(AnyLearner, fitted="estimator")
def _any_learner(machine: AnyLearner) -> None:
    require(isinstance(machine.estimator, BaseEstimator), machine, "has no valid estimator")


@checks(KernelColumns, LogisticColumns, fitted="solver has_probability")
def _kernel_columns(machine: KernelColumns) -> None:
    instance(machine, "solver", (SVM, KernelLogisticRegression))
    instance(machine, "has_probability", bool)


@checks(LSSVMColumns, fitted="settings")
def _lssvm_columns(machine: LSSVMColumns) -> None:
    instance(machine, "settings", LSSVM)


@checks(Parts)
def _parts(parts: Parts) -> None:
    instance(parts, "machine", tuple(FITTED_BY))
    instance(parts, "machine_name", str)
    instance(parts, "code", (*CODES.values(), CustomCode))
    instance(parts, "calibrator", tuple(CALIBRATORS.values()))
    instance(parts, "decoder", tuple(DECODERS.values()))
    instance(parts, "tempering", (Tempering, type(None)))


# --- trained machines ---------------------------------------------------------------------------


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
    require(
        instance(piece, "basis", Tridiagonal).n_rows == n_rows, piece, "has a basis of other rows"
    )
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


# --- calibrators --------------------------------------------------------------------------------


@checks(*CALIBRATORS.values())
def _calibrator(calibrator: Any) -> None:
    pass


@checks(Platt, fitted="slopes_ intercepts_")
def _platt(calibrator: Platt) -> None:
    (n_columns,) = array(calibrator, "slopes_", (None,), FLOAT).shape
    array(calibrator, "intercepts_", (n_columns,), FLOAT)


@checks(PooledPlatt, fitted="slope_ slopes_ intercepts_ strengths_")
def _pooled_platt(calibrator: PooledPlatt) -> None:
    (n_columns,) = array(calibrator, "slopes_", (None,), FLOAT).shape
    array(calibrator, "intercepts_", (n_columns,), FLOAT)
    array(calibrator, "strengths_", (2,), FLOAT)
    number(calibrator, "slope_")


@checks(Isotonic, fitted="regressions_")
def _isotonic(calibrator: Isotonic) -> None:
    from sklearn.isotonic import IsotonicRegression

    regressions = instance(calibrator, "regressions_", list)
    known = all(
        type(each) is IsotonicRegression and hasattr(each, "X_thresholds_") for each in regressions
    )
    require(known, calibrator, "has no valid regressions_")


def n_calibrated(calibrator: Any) -> int | None:
    """Return for how many columns a calibrator was fitted; None if it learns nothing."""
    if isinstance(calibrator, Platt | PooledPlatt):
        return len(calibrator.slopes_)
    return len(calibrator.regressions_) if isinstance(calibrator, Isotonic) else None


# --- decoders -----------------------------------------------------------------------------------

_DECODER = "codebook_ class_sizes_"


def _check_decoder(decoder: Decoder) -> Codebook:
    book: Codebook = instance(decoder, "codebook_", Codebook)
    require(decoder.fits(book), decoder, f"is not for the code {book.name!r:.60}")
    sizes = array(decoder, "class_sizes_", (book.n_classes,), FLOAT)
    require((sizes >= 0.0).all() and sizes.any(), decoder, "has negative class sizes")
    return book


@checks(*DECODERS.values(), fitted=_DECODER)
def _decoder(decoder: Decoder) -> None:
    _check_decoder(decoder)


@checks(CodeCoupling, fitted=_DECODER)
def _code_coupling(decoder: CodeCoupling) -> None:
    _check_decoder(decoder)
    require(number(decoder, "pull") >= 0.0, decoder, "has a negative pull")


@checks(PairwiseCoupling, LossDecoding, ValuedPreference, fitted=_DECODER)
def _with_options(decoder: Any) -> None:
    _check_decoder(decoder)


@checks(BayesianDecoding, fitted=f"{_DECODER} side_log_odds_ priors_")
def _bayesian(decoder: BayesianDecoding) -> None:
    book = _check_decoder(decoder)
    array(decoder, "side_log_odds_", (book.n_columns,), FLOAT)
    priors = array(decoder, "priors_", (book.n_classes,), FLOAT)
    require((priors >= 0.0).all() and priors.any(), decoder, "has negative priors")


@checks(DecisionGraph, fitted=f"{_DECODER} order_")
def _decision_graph(decoder: DecisionGraph) -> None:
    n_classes = _check_decoder(decoder).n_classes
    order = indices(decoder, "order_", n_classes, n_classes)
    require(len(np.unique(order)) == n_classes, decoder, "has an order_ with a class twice")


@checks(DynamicallyOrdered, fitted=f"{_DECODER} orderer_")
def _dynamically_ordered(decoder: DynamicallyOrdered) -> None:
    n_classes = _check_decoder(decoder).n_classes
    orderer = decoder.orderer_
    classes = np.asarray(getattr(orderer, "classes_", None)).tolist()
    known = isinstance(orderer, BaseEstimator) and classes == list(range(n_classes))
    require(known, decoder, "has no valid orderer_")


@checks(SoftMax, fitted=f"{_DECODER} C_ weights_")
def _soft_max(decoder: SoftMax) -> None:
    book = _check_decoder(decoder)
    width = 2 if book.rest is not None else book.n_classes
    array(decoder, "weights_", (book.n_classes, width), FLOAT)


@checks(ShrunkSoftMax, fitted=f"{_DECODER} weights_ strengths_")
def _shrunk_soft_max(decoder: ShrunkSoftMax) -> None:
    book = _check_decoder(decoder)
    width = 2 if book.rest is not None else 3
    array(decoder, "weights_", (book.n_classes, width), FLOAT)
    array(decoder, "strengths_", (None,), FLOAT)


@checks(Node)
def _node(node: Node) -> None:
    def class_numbers(values: Any) -> bool:
        return type(values) is tuple and all(type(value) is int for value in values)

    require(class_numbers(node.classes) and len(node.classes) > 0, node, "has no classes")
    require(len(set(node.classes)) == len(node.classes), node, "has a class twice")
    if node.pair is None and node.children is None:
        return
    pair = class_numbers(node.pair) and len(node.pair or ()) == 2
    children = type(node.children) is tuple and [type(c) for c in node.children] == [Node, Node]
    require(pair and children, node, "has no valid pair and children")
    assert node.pair is not None
    assert node.children is not None
    require(set(node.pair) <= set(node.classes), node, "asks about other classes than its own")
    # A node is checked after its children; fewer classes below mean that descending ends.
    for child in node.children:
        smaller = set(child.classes) < set(node.classes)
        require(smaller, node, "has a child with classes of its own")


@checks(BinaryTree, fitted=f"{_DECODER} root_")
def _binary_tree(decoder: BinaryTree) -> None:
    n_classes = _check_decoder(decoder).n_classes
    root = instance(decoder, "root_", Node)
    require(sorted(root.classes) == list(range(n_classes)), decoder, "is for other classes")
    stack = [root]
    while stack:
        node = stack.pop()
        if node.pair is not None:
            require(node.pair[0] < node.pair[1], decoder, "has a pair in the wrong order")
            stack.extend(node.children)
        require(list(node.classes) == sorted(node.classes), decoder, "has classes out of order")


@checks(Level)
def _level(level: Level) -> None:
    indices(level, "classes", None, None)
    indices(level, "columns", None, None)
    require(level.scorer is None or type(level.scorer) is NestedScorer, level, "has no scorer")


@checks(Nesting, fitted=f"{_DECODER} levels_")
def _nesting(decoder: Nesting) -> None:
    book = _check_decoder(decoder)
    levels = instance(decoder, "levels_", list)
    for number_, level in enumerate(levels):
        require(type(level) is Level, decoder, "has levels of another type")
        last = number_ == len(levels) - 1
        require(level.scorer is not None or last, decoder, "has a level without machines")
        classes = indices(level, "classes", None, book.n_classes)
        in_order = len(classes) > 0 and np.array_equal(classes, np.unique(classes))
        require(in_order, decoder, "has a level whose classes are not in order")
        inside = np.isin(np.arange(book.n_classes), classes)
        wanted = np.flatnonzero(~(book.matrix[~inside] != 0).any(axis=0))
        columns = indices(level, "columns", None, book.n_columns)
        require(np.array_equal(columns, wanted), decoder, "has a level of other pairs")


# --- estimators ---------------------------------------------------------------------------------

_INPUTS = "n_features_in_ feature_names_in_"


def _check_estimator(estimator: Any) -> tuple[Any, int]:
    classes = labels(estimator)
    n_features = integer(estimator, "n_features_in_", 1, MAX_FEATURES)
    names = vars(estimator).get("feature_names_in_")
    if names is not None:
        fine = type(names) is np.ndarray and names.shape == (n_features,)
        fine = fine and all(isinstance(name, str) for name in names.tolist())
        require(fine, estimator, "has no valid feature_names_in_")
    return classes, n_features


@checks(SVM, KernelLogisticRegression, LSSVM, fitted=f"classes_ _fitted {_INPUTS}")
def _kernel_machine(machine: Any) -> None:
    classes, n_features = _check_estimator(machine)
    require(len(classes) == 2, machine, "has not two classes")
    fitted = instance(machine, "_fitted", tuple(FITTED_BY.values()))
    check_machines(machine.as_columns(), fitted, 1, n_features)
    require(fitted.trained.all(), machine, "is not trained")


@checks(Tempering, fitted="slope_ biases_ strengths_")
def _tempering(tempering: Tempering) -> None:
    number(tempering, "slope_")
    array(tempering, "biases_", (None,), FLOAT)
    array(tempering, "strengths_", (2,), FLOAT)


_CLASSIFIER = (
    "parts_ classes_ codebook_ machines_ calibrator_ decoder_ tempering_ class_sizes_ n_rows_ "
    f"leave_one_out_columns_ _target_priors _decoder_seed {_INPUTS}"
)


@checks(PolychotomyClassifier, fitted=_CLASSIFIER)
def _classifier(classifier: PolychotomyClassifier) -> None:
    classes, n_features = _check_estimator(classifier)
    parts = instance(classifier, "parts_", Parts)
    book = instance(classifier, "codebook_", Codebook)
    require(book.n_classes == len(classes), classifier, "has a code of other classes")
    sizes = array(classifier, "class_sizes_", (len(classes),), FLOAT)
    require((sizes >= 0.0).all(), classifier, "has negative class sizes")
    if "n_rows_" in vars(classifier):
        integer(classifier, "n_rows_", 1, 1 << 62)
    if vars(classifier).get("_target_priors") is not None:
        priors = array(classifier, "_target_priors", (len(classes),), FLOAT)
        require((priors >= 0.0).all() and priors.any(), classifier, "has negative priors")
    if "leave_one_out_columns_" in vars(classifier):
        array(classifier, "leave_one_out_columns_", (book.n_columns,), BOOL)
    seed = vars(classifier).get("_decoder_seed")
    require(seed is None or type(seed) is int, classifier, "has no valid seed")
    machines = instance(classifier, "machines_", BinaryMachines)
    require(machines.machine is parts.machine, classifier, "has machines of other parts")
    columns, source, sign = book.trained
    same = np.array_equal(machines.source, source) and np.array_equal(machines.sign, sign)
    require(same, classifier, "has machines of another code")
    check_machines(machines.machine, machines.fitted, len(columns), n_features)
    _check_after_machines(classifier, parts, book, n_features)


def _check_after_machines(
    classifier: PolychotomyClassifier, parts: Parts, book: Codebook, n_features: int
) -> None:
    try:
        check_together(parts, book)
    except ValueError as error:
        raise RefusedError("The model", f"has parts that do not go together: {error}") from None
    there = {"calibrator_", "decoder_"} & set(vars(classifier))
    if not there:
        return  # cv="prefit", not calibrated yet
    require(len(there) == 2, classifier, "has a decoder or a calibrator, but not both")
    calibrator, decoder = classifier.calibrator_, classifier.decoder_
    own = calibrator is parts.calibrator and decoder is parts.decoder
    require(own, classifier, "has a decoder or a calibrator of other parts")
    if calibrator.learns:
        fitted = "slopes_" in vars(calibrator) or "regressions_" in vars(calibrator)
        fine = fitted and n_calibrated(calibrator) == book.n_columns
        require(fine, classifier, "has a calibrator of another code")
    require("codebook_" in vars(decoder), classifier, "has a decoder that is not fitted")
    tempering = vars(classifier).get("tempering_")
    if tempering is not None:
        fine = type(tempering) is Tempering and "biases_" in vars(tempering)
        require(fine, classifier, "has no valid tempering")
        array(tempering, "biases_", (book.n_classes,), FLOAT)
    require(decoder.codebook_ == book, classifier, "has a decoder of another code")
    if isinstance(decoder, Nesting):
        for level in decoder.levels_:
            if isinstance(level.scorer, NestedScorer):
                scorer = level.scorer
                check_machines(scorer.machine, scorer.fitted, len(level.columns), n_features)
    if isinstance(decoder, DynamicallyOrdered):
        there_ = getattr(decoder.orderer_, "n_features_in_", None)
        require(there_ == n_features, decoder, "has an orderer of other inputs")


_SVC = (
    "classifier_ classes_ support_ support_vectors_ n_support_ dual_coef_ intercept_ n_iter_ "
    f"{_INPUTS}"
)


@checks(ProbabilisticSVC, fitted=_SVC)
def _probabilistic_svc(svc: ProbabilisticSVC) -> None:
    classes, n_features = _check_estimator(svc)
    pipe = instance(svc, "classifier_", PolychotomyClassifier)
    require("decoder_" in vars(pipe), svc, "is not fitted")
    same = np.array_equal(pipe.classes_, classes) and pipe.n_features_in_ == n_features
    require(same, svc, "has a classifier of other classes or inputs")
    n_classes, n_pairs = len(classes), len(classes) * (len(classes) - 1) // 2
    n_support = len(indices(svc, "support_", None, None))
    counts = indices(svc, "n_support_", n_classes, n_support + 1)
    require(counts.sum() == n_support, svc, "has not as many support vectors as it says")
    array(svc, "dual_coef_", (n_classes - 1, n_support), FLOAT)
    array(svc, "intercept_", (n_pairs,), FLOAT)
    array(svc, "n_iter_", (n_pairs,), INT)
    require(is_number(svc.support_vectors_.shape[0]), svc, "has no support vectors")


_SEARCH = (
    "cv_results_ best_params_ best_index_ best_score_ best_estimator_ n_splits_ seconds_ "
    f"refit_time_ classes_ {_INPUTS}"
)


@checks(TwoStepSearchCV, fitted=_SEARCH)
def _two_step_search(search: TwoStepSearchCV) -> None:
    classes, n_features = _check_estimator(search)
    if "best_estimator_" not in vars(search):
        return  # refit=False
    found = instance(search, "best_estimator_", PolychotomyClassifier)
    same = np.array_equal(found.classes_, classes) and found.n_features_in_ == n_features
    require(same, search, "has a classifier of other classes or inputs")


# --- metrics and pools --------------------------------------------------------------------------


@checks(View)
def _view(view: View) -> None:
    (n_features,) = array(view, "means", (None,), FLOAT).shape
    deviations = array(view, "deviations", (n_features,), FLOAT)
    require((deviations > 0.0).all(), view, "has a deviation that is not positive")
    (n_points,) = array(view, "values", (None,), FLOAT).shape
    array(view, "scores", (n_points,), FLOAT)
    starts = indices(view, "starts", n_features + 1, n_points + 1)
    ordered = starts[0] == 0 and starts[-1] == n_points and (np.diff(starts) >= 0).all()
    require(ordered, view, "has starts out of order")


_METRIC = "view_ _view feature_weights_ scale_ C_ nll_ history_ classes_ _n_features_out"


@checks(LearnedMetric, fitted=f"{_METRIC} {_INPUTS}")
def _learned_metric(metric: LearnedMetric) -> None:
    _, n_features = _check_estimator(metric)
    view = instance(metric, "_view", View)
    require(len(view.means) == n_features, metric, "has a view of other inputs")
    require(metric.view_ in VIEWS, metric, "has no valid view_")
    array(metric, "feature_weights_", (n_features,), FLOAT)
    for name in ("scale_", "C_", "nll_"):
        number(metric, name)
    require(metric.C_ > 0.0, metric, "has a C_ that is not positive")
    integer(metric, "_n_features_out", n_features, n_features)
    instance(metric, "history_", list)


@checks(MetricClassifier, fitted=f"metric_ estimator_ classes_ {_INPUTS}")
def _metric_classifier(classifier: MetricClassifier) -> None:
    classes, n_features = _check_estimator(classifier)
    metric = instance(classifier, "metric_", LearnedMetric)
    inner = instance(classifier, "estimator_", (PolychotomyClassifier, TwoStepSearchCV))
    for part in (metric, inner):
        there = vars(part)
        require("classes_" in there, classifier, "has a part that is not fitted")
        same = np.array_equal(there["classes_"], classes)
        same = same and there.get("n_features_in_") == n_features
        require(same, classifier, "has a part of other classes or inputs")


_POOL = (
    "members_ weights_ temperings_ tempering_ member_nll_ nll_ seconds_ dropped_ classes_ "
    f"{_INPUTS}"
)


@checks(PolychotomyPool, fitted=_POOL)
def _pool(pool: PolychotomyPool) -> None:
    classes, n_features = _check_estimator(pool)
    members = instance(pool, "members_", dict)
    require(len(members) > 0, pool, "has no members")
    for name in ("weights_", "temperings_", "member_nll_", "seconds_"):
        require(list(instance(pool, name, dict)) == list(members), pool, f"has other {name}")
    for name in ("weights_", "member_nll_", "seconds_"):
        require(all(map(is_number, vars(pool)[name].values())), pool, f"has no valid {name}")
    require(min(pool.weights_.values()) >= 0.0, pool, "has a negative weight")
    number(pool, "nll_")
    instance(pool, "dropped_", list)
    instance(pool, "tempering_", Tempering)
    for tempering in (pool.tempering_, *pool.temperings_.values()):
        fitted = type(tempering) is Tempering and "biases_" in vars(tempering)
        fine = fitted and len(tempering.biases_) == len(classes)
        require(fine, pool, "has a tempering of other classes")
    for member in members.values():
        fine = isinstance(member, BaseEstimator) and hasattr(member, "predict_proba")
        require(fine, pool, "has a member without predict_proba")
        same = np.array_equal(getattr(member, "classes_", []), classes)
        same = same and getattr(member, "n_features_in_", None) == n_features
        require(same, pool, "has a member of other classes or inputs")
