"""Metrics and pools."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from ..._views import VIEWS, View
from ...classifier import PolychotomyClassifier
from ...metric import LearnedMetric
from ...metric_classifier import MetricClassifier
from ...pool import PolychotomyPool
from ...search import TwoStepSearchCV
from ...tempering import Tempering
from .._values import FLOAT, array, indices, instance, integer, is_number, number, require
from .estimators import INPUTS, check_estimator
from .registry import checks


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


@checks(LearnedMetric, fitted=f"{_METRIC} {INPUTS}")
def _learned_metric(metric: LearnedMetric) -> None:
    _, n_features = check_estimator(metric)
    view = instance(metric, "_view", View)
    require(len(view.means) == n_features, metric, "has a view of other inputs")
    require(metric.view_ in VIEWS, metric, "has no valid view_")
    array(metric, "feature_weights_", (n_features,), FLOAT)
    for name in ("scale_", "C_", "nll_"):
        number(metric, name)
    require(metric.C_ > 0.0, metric, "has a C_ that is not positive")
    integer(metric, "_n_features_out", n_features, n_features)
    instance(metric, "history_", list)


@checks(MetricClassifier, fitted=f"metric_ estimator_ classes_ {INPUTS}")
def _metric_classifier(classifier: MetricClassifier) -> None:
    classes, n_features = check_estimator(classifier)
    metric = instance(classifier, "metric_", LearnedMetric)
    inner = instance(classifier, "estimator_", (PolychotomyClassifier, TwoStepSearchCV))
    for part in (metric, inner):
        there = vars(part)
        require("classes_" in there, classifier, "has a part that is not fitted")
        same = np.array_equal(there["classes_"], classes)
        same = same and there.get("n_features_in_") == n_features
        require(same, classifier, "has a part of other classes or inputs")


_POOL = (
    f"members_ weights_ temperings_ tempering_ member_nll_ nll_ seconds_ dropped_ classes_ {INPUTS}"
)


@checks(PolychotomyPool, fitted=_POOL)
def _pool(pool: PolychotomyPool) -> None:
    classes, n_features = check_estimator(pool)
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
