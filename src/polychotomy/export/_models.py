"""Estimators as graphs: pipes, pools, metrics, searches and pipelines."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from functools import reduce, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline

from ..core.extras import needed
from ..core.math import SMALLEST_PROBABILITY
from ..core.types import FloatArray
from ..ensemble.boosted_trees import BoostedTrees
from ..ensemble.fold_mean import FoldMean
from ..ensemble.metric import LearnedMetric
from ..ensemble.metric_classifier import MetricClassifier
from ..ensemble.nested import NestedDichotomies
from ..ensemble.pool import PolychotomyPool, share_of_log_linear
from ..ensemble.tempered_classifier import TemperedClassifier
from ..multinomial import KernelMultinomialRegression
from ..pipe.classifier import PolychotomyClassifier
from ..pipe.fitted_attributes import pipe_of
from ..probabilistic_svc import ProbabilisticSVC
from ..tempering import StructuredTempering, Tempering
from ._decoders import decoded
from ._errors import ExportError
from ._forests import boosted, forest, mean
from ._graph import OPSET, Tensor
from ._machines import between, calibrated, dense_inputs, margins, taken


@singledispatch
def probabilities(model: Any, X: Tensor) -> Tensor:
    """Return the class probabilities of a fitted classifier."""
    if hasattr(model, "best_estimator_"):  # a search, ours or scikit-learn's
        return probabilities(model.best_estimator_, X)
    raise ExportError(f"{type(model).__name__} cannot be exported.")


@probabilities.register
def _(model: ProbabilisticSVC, X: Tensor) -> Tensor:
    return probabilities(model.classifier_, X)


@probabilities.register
def _(model: KernelMultinomialRegression, X: Tensor) -> Tensor:
    landmarks = model.landmarks_
    columns = between(landmarks.kernel, X, dense_inputs(landmarks.inputs))
    return (columns @ model.dual_coef_ + model.intercept_).softmax()


@probabilities.register
def _(model: PolychotomyClassifier, X: Tensor) -> Tensor:
    if not hasattr(model, "predict_proba"):
        raise ExportError("This classifier has no probabilities; choose a decoder that has.")
    pipe = pipe_of(model)
    if pipe.calibrator is None or pipe.decoder is None:
        raise ExportError("This classifier is not calibrated yet; call calibrate first.")
    own = pipe.parts.uses_probabilities and not pipe.parts.calibrator.learns
    found = margins(pipe.machines.fitted, X, own)
    found = taken(found, pipe.machines.source, pipe.machines.sign, X.graph)
    p = decoded(pipe.decoder, calibrated(pipe.calibrator, found), pipe.codebook)
    base = getattr(pipe.decoder, "priors_", pipe.class_sizes)
    if pipe.tempering is not None:
        p, base = tempered(pipe.tempering, p), pipe.class_sizes
    if pipe.priors is None:
        return p
    ratio = np.divide(pipe.priors, base, out=np.zeros(len(base)), where=np.asarray(base) > 0)
    return (p * ratio).normalised(len(base))


@probabilities.register(ExtraTreesClassifier)
@probabilities.register(RandomForestClassifier)
def _(model: Any, X: Tensor) -> Tensor:
    return forest(model, X)


@probabilities.register
def _(model: BoostedTrees, X: Tensor) -> Tensor:
    return boosted(model, X)


@probabilities.register
def _(model: FoldMean, X: Tensor) -> Tensor:
    return mean([_for_all_classes(one, model.classes_, X) for one in model.models_])


def _for_all_classes(model: Any, classes: NDArray[Any], X: Tensor) -> Tensor:
    """Return a model's probabilities, with a column of zeros for every class that it lacks."""
    p: Tensor = probabilities(model, X)
    if not np.array_equal(model.classes_, classes):
        # A product with zeros and ones rounds nothing.
        p = p @ (model.classes_[:, None] == classes).astype(np.float64)
    return p


@singledispatch
def tempered(tempering: Any, p: Tensor) -> Tensor:
    """Return tempered probabilities."""
    raise ExportError(f"The tempering {type(tempering).__name__} cannot be exported.")


@tempered.register
def _(tempering: Tempering, p: Tensor) -> Tensor:
    z = _centred_logs(p, float(tempering.floor), len(tempering.biases_))
    return (z * float(tempering.slope_) + tempering.biases_).softmax()


@tempered.register
def _(tempering: StructuredTempering, p: Tensor) -> Tensor:
    z = _centred_logs(p, float(tempering.floor_), len(tempering.biases_))
    mixed = z @ np.ascontiguousarray(tempering.matrix_.T)
    slopes = tempering.slope_ + tempering.class_slopes_
    return (z * slopes + mixed + tempering.biases_).softmax()


def _centred_logs(p: Tensor, floor: float, n_classes: int) -> Tensor:
    logs = p.graph.op("Max", p, floor).log()
    return logs - logs.sum(1) * (1.0 / n_classes)


@probabilities.register
def _(model: NestedDichotomies, X: Tensor) -> Tensor:
    total = probabilities(model.trees_[0], X)
    for tree in model.trees_[1:]:
        total = total + probabilities(tree, X)
    p = total / float(len(model.trees_))
    return p if model.tempering_ is None else tempered(model.tempering_, p)


@probabilities.register
def _(model: MetricClassifier, X: Tensor) -> Tensor:
    return probabilities(model.estimator_, transformed(model.metric_, X))


@probabilities.register
def _(model: TemperedClassifier, X: Tensor) -> Tensor:
    p = probabilities(model.estimator_, X)
    return p if model.tempering_ is None else tempered(model.tempering_, p)


@probabilities.register
def _(model: PolychotomyPool, X: Tensor) -> Tensor:
    members = []
    for name, member in model.members_.items():
        if len(member.classes_) != len(model.classes_):
            raise ExportError(f"The member {name!r} of the pool has not seen all classes.")
        members.append(tempered(model.temperings_[name], probabilities(member, X)))
    weights = list(model.weights_.values())
    arithmetic = _weighted_sum(members, weights)
    pool = getattr(model, "log_linear_", None)
    if pool is None:  # a model that was saved by 0.1.0
        logs = [X.graph.op("Max", p, SMALLEST_PROBABILITY).log() for p in members]
        other = tempered(model.tempering_, _weighted_sum(logs, weights).softmax())
    else:
        n_classes = len(model.classes_)
        z = [_centred_logs(p, SMALLEST_PROBABILITY, n_classes) for p in members]
        other = (_weighted_sum(z, pool.slopes) + pool.biases).softmax()
    share = share_of_log_linear(model)
    return arithmetic * (1.0 - share) + other * share


def _weighted_sum(tensors: Sequence[Tensor], weights: Iterable[float]) -> Tensor:
    parts = [tensor * float(weight) for tensor, weight in zip(tensors, weights, strict=True)]
    return reduce(operator.add, parts)


@probabilities.register
def _(model: Pipeline, X: Tensor) -> Tensor:
    for _, step in model.steps[:-1]:
        if step is not None and step != "passthrough":
            X = transformed(step, X)
    return probabilities(model.steps[-1][1], X)


@singledispatch
def transformed(step: Any, X: Tensor) -> Tensor:
    """Return the outputs of a transformer of scikit-learn, as skl2onnx converts it."""
    skl2onnx = needed("skl2onnx", "onnx", "Exporting steps of scikit-learn needs skl2onnx")
    from skl2onnx.common.data_types import DoubleTensorType

    shape = [None, step.n_features_in_]
    try:
        model = skl2onnx.convert_sklearn(
            step, initial_types=[("X", DoubleTensorType(shape))], target_opset=OPSET
        )
    except Exception as error:
        raise ExportError(f"{type(step).__name__} cannot be exported: {error}") from error
    return X.graph.inline(model, X)


@transformed.register
def _(step: LearnedMetric, X: Tensor) -> Tensor:
    view = step._view
    columns = []
    for feature in range(len(view.means)):
        column = X.columns([feature])
        knots = slice(int(view.starts[feature]), int(view.starts[feature + 1]))
        if knots.start < knots.stop:
            column = _interpolated(column, view.values[knots], view.scores[knots])
        columns.append(column)
    Z = (X.graph.concatenate(columns, axis=1) - view.means) / view.deviations
    weighted: Tensor = Z * (step.scale_ * step.feature_weights_)
    return weighted


def _interpolated(x: Tensor, values: FloatArray, scores: FloatArray) -> Tensor:
    """Return ``numpy.interp(x, values, scores)``: the sum of the parts of all steps up to x."""
    done = ((x - values[None, :-1]) / np.diff(values)[None]).clip(0.0, 1.0)
    return (done * np.diff(scores)[None]).sum(1) + float(scores[0])
