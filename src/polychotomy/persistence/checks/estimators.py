"""Classifiers, machines as classifiers, and searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._parts import Parts, check_together
from ..._training import BinaryMachines, NestedScorer
from ..._types import Codebook
from ...classifier import PolychotomyClassifier
from ...decoding import DynamicallyOrdered, Nesting
from ...machines import LSSVM, SVM, KernelLogisticRegression
from ...probabilistic_svc import ProbabilisticSVC
from ...search import TwoStepSearchCV
from ...tempering import Tempering
from .._errors import RefusedError
from .._values import (
    BOOL,
    FLOAT,
    INT,
    array,
    indices,
    instance,
    integer,
    is_number,
    labels,
    number,
    require,
)
from .calibrators import n_calibrated
from .machines import FITTED_BY, check_machines
from .registry import MAX_FEATURES, checks

INPUTS = "n_features_in_ feature_names_in_"


def check_estimator(estimator: Any) -> tuple[Any, int]:
    """Check what all estimators have; return the classes and the number of inputs."""
    classes = labels(estimator)
    n_features = integer(estimator, "n_features_in_", 1, MAX_FEATURES)
    names = vars(estimator).get("feature_names_in_")
    if names is not None:
        fine = type(names) is np.ndarray and names.shape == (n_features,)
        fine = fine and all(isinstance(name, str) for name in names.tolist())
        require(fine, estimator, "has no valid feature_names_in_")
    return classes, n_features


@checks(SVM, KernelLogisticRegression, LSSVM, fitted=f"classes_ _fitted {INPUTS}")
def _kernel_machine(machine: Any) -> None:
    classes, n_features = check_estimator(machine)
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
    f"leave_one_out_columns_ _target_priors _decoder_seed {INPUTS}"
)


@checks(PolychotomyClassifier, fitted=_CLASSIFIER)
def _classifier(classifier: PolychotomyClassifier) -> None:
    classes, n_features = check_estimator(classifier)
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
    f"{INPUTS}"
)


@checks(ProbabilisticSVC, fitted=_SVC)
def _probabilistic_svc(svc: ProbabilisticSVC) -> None:
    classes, n_features = check_estimator(svc)
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
    f"refit_time_ classes_ {INPUTS}"
)


@checks(TwoStepSearchCV, fitted=_SEARCH)
def _two_step_search(search: TwoStepSearchCV) -> None:
    classes, n_features = check_estimator(search)
    if "best_estimator_" not in vars(search):
        return  # refit=False
    found = instance(search, "best_estimator_", PolychotomyClassifier)
    same = np.array_equal(found.classes_, classes) and found.n_features_in_ == n_features
    require(same, search, "has a classifier of other classes or inputs")
