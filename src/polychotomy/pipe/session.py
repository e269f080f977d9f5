"""Everything about a fit that is decided before the first machine is trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import has_fit_parameter

from ..codes import CodeContext
from ..core.checks import class_distribution, listed, one_of
from ..core.codebook import Codebook
from ..core.types import FloatArray
from ..core.weights import class_numbers, refuse_mixed_labels, row_weights
from ..machines import LeavesOneOut, TrainingOptions
from .folds import FoldRows, Splits, split_rows
from .inputs import checked_rows
from .parts import Parts, check_together, resolve
from .training import Prepared, TrainingSet


@dataclass(frozen=True)
class Session:
    """A checked pipe with its training rows and folds."""

    parts: Parts
    data: TrainingSet
    classes: NDArray[Any]
    priors: FloatArray | None
    decoder_seed: int | None
    cv: Any
    split_params: dict[str, Any]

    @property
    def prefit(self) -> bool:
        """Whether calibrators and decoders will be fitted later, on other rows."""
        return isinstance(self.cv, str) and self.cv == "prefit"

    @property
    def leave_one_out(self) -> bool:
        """Whether held-out scores come from the leave-one-out formula of the machine."""
        return isinstance(self.cv, str) and self.cv == "leave_one_out"

    @property
    def learns(self) -> bool:
        """Whether the calibrator, the decoder or tempering learns from held-out rows."""
        parts = self.parts
        return (
            parts.calibrator.learns
            or "held_out_scores" in parts.decoder.needs
            or parts.tempering is not None
        )

    @property
    def class_sizes(self) -> FloatArray:
        """The total weight of the training rows of each class."""
        y, weights = self.data.y[self.data.rows], self.data.weights_of(self.data.rows)
        return np.bincount(y, weights, len(self.classes)).astype(float)

    def split(self) -> Splits:
        """Split the training rows into folds; no folds if `cv` is a string."""
        if isinstance(self.cv, str):
            one_of(self.cv, "cv", ("prefit", "leave_one_out"))
            if self.leave_one_out and not isinstance(self.data.machine, LeavesOneOut):
                raise ValueError(
                    "cv='leave_one_out' is for machines with a formula for it, LSSVM and "
                    f"KernelLogisticRegression; {self.parts.machine_name} has none. Choose a "
                    "number of folds."
                )
            tempering = self.parts.tempering
            if self.leave_one_out and tempering is not None and not tempering.trusts_leave_one_out:
                raise ValueError(
                    f"{type(tempering).__name__} cannot be fitted with cv='leave_one_out', whose "
                    "scores tell a row's own class where the inputs say little. Choose a number of "
                    "folds, or tempering='auto'."
                )
            return []
        return split_rows(self.cv, self.data.fold_rows, self.classes, self.split_params)


def _column_name(codebook: Codebook, classes: NDArray[Any], column: int) -> str:
    """Return the name of a trained column. A function, because it is sent to other processes."""
    return codebook.describe(codebook.trained[0][column], classes)


@dataclass(frozen=True)
class _Routed:
    """Which metadata goes where."""

    fit: dict[str, Any]
    split: dict[str, Any]
    machine_weight: Any


def start(
    classifier: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    fit_params: dict[str, Any],
    in_blocks: bool = False,
) -> Session:
    """Check inputs, labels, weights, code, parts and priors against each other.

    Note: parts and rows are checked here, before anything is trained. Checking each part when it
    is first used would waste the time spent on the machines if, say, the priors are invalid.

    Parameters
    ----------
    classifier : estimator
        Has the parameters of `PolychotomyClassifier`. This sets its `n_features_in_` and the
        names of its inputs, and changes nothing else.
    X, y, sample_weight, fit_params
        As for its `fit`.
    in_blocks : bool, default=False
        Whether the rows are a sample of many, so that their number says nothing.
    """
    parts = resolve(
        classifier.machine,
        classifier.code,
        classifier.calibrator,
        classifier.decoder,
        classifier.tempering,
    )
    refuse_mixed_labels(y)
    X, labels = checked_rows(classifier, parts, X, y)
    check_classification_targets(labels)
    classes, numbers = class_numbers(labels)
    routed = _route(classifier, sample_weight, fit_params)
    _check_accepted(parts, routed.fit)
    weights = row_weights(sample_weight, classifier.class_weight, X, numbers, classes)
    code_seed, machine_seed, decoder_seed = _seeds(classifier.random_state)
    codebook = parts.code.build(len(classes), code_seed, CodeContext(classes, X, numbers, weights))
    check_together(parts, codebook)
    rows = np.arange(len(numbers)) if weights is None else np.flatnonzero(weights)
    if hasattr(parts.machine, "for_rows") and not in_blocks:
        parts = replace(parts, machine=parts.machine.for_rows(len(rows)))
    pairwise = get_tags(classifier).input_tags.pairwise
    return Session(
        parts=parts,
        data=TrainingSet(
            machine=parts.machine,
            codebook=codebook,
            X=X,
            y=numbers,
            rows=rows,
            weights=weights,
            machine_weights=_machine_weights(classifier, parts, routed, X, numbers, classes),
            options=TrainingOptions(
                n_jobs=classifier.n_jobs,
                random_state=machine_seed,
                fit_params=routed.fit,
                describe=partial(_column_name, codebook, classes),
                counts=row_weights(routed.machine_weight, None, X, numbers, classes),
            ),
            prepared=Prepared(parts.machine, codebook, X, numbers),
            fold_rows=FoldRows(X, numbers, rows, weights, pairwise),
        ),
        classes=classes,
        priors=_priors(classifier.priors, parts, classes),
        decoder_seed=decoder_seed,
        cv=classifier.cv,
        split_params=routed.split,
    )


def restart(
    classifier: Any,
    parts: Parts,
    codebook: Codebook,
    classes: NDArray[Any],
    decoder_seed: int | None,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
) -> Session:
    """Check more rows for a pipe whose machines are trained, and drop rows of weight 0."""
    X, labels = checked_rows(classifier, parts, X, y, reset=False)
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        raise ValueError(
            f"y has the class {unknown.tolist()[0]!r}, which was not in the y of fit; the classes "
            f"are {listed(classes.tolist(), 'and')}."
        )
    numbers = np.searchsorted(classes, labels)
    weights = row_weights(
        sample_weight, classifier.class_weight, X, numbers, classes, all_classes=False
    )
    if weights is not None:
        used = weights > 0
        X, numbers, weights = X[used], numbers[used], weights[used]
    rows = np.arange(len(numbers))
    return Session(
        parts=parts,
        data=TrainingSet(
            machine=parts.machine,
            codebook=codebook,
            X=X,
            y=numbers,
            rows=rows,
            weights=weights,
            machine_weights=None,
            options=TrainingOptions(n_jobs=classifier.n_jobs),
            prepared=Prepared(parts.machine, codebook, X, numbers),
            fold_rows=FoldRows(X, numbers, rows, weights),
        ),
        classes=classes,
        priors=None,
        decoder_seed=decoder_seed,
        cv=None,
        split_params={},
    )


def _seeds(random_state: Any) -> list[Any]:
    """Return separate seeds for codes, machines and decoders.

    Note: with one random stream for all, a code that draws more numbers would change what the
    machines and decoders draw.
    """
    if random_state is None:
        return [None, None, None]
    seeds: list[Any] = check_random_state(random_state).randint(2**31 - 1, size=3).tolist()
    return seeds


def _route(classifier: Any, sample_weight: Any, fit_params: dict[str, Any]) -> _Routed:
    if not get_config()["enable_metadata_routing"]:
        fit = dict(fit_params)
        groups = fit.pop("groups", None)
        return _Routed(fit, {} if groups is None else {"groups": groups}, sample_weight)
    given = dict(fit_params)
    if sample_weight is not None:
        given["sample_weight"] = sample_weight
    if not given:
        # Without metadata, scikit-learn returns an object that has every attribute, and on which
        # `in` never ends.
        return _Routed({}, {}, None)
    routed = process_routing(classifier, "fit", **given)
    fit = dict(routed.machine.fit)
    has_splitter = hasattr(classifier.cv, "get_metadata_routing")
    split = dict(routed.splitter.split) if has_splitter else {}
    return _Routed(fit, split, fit.pop("sample_weight", None))


def _check_accepted(parts: Parts, params: dict[str, Any]) -> None:
    """Refuse parameters that the machine's `fit` does not have."""
    accepted = signature(parts.machine.template.fit).parameters
    if any(each.kind is each.VAR_KEYWORD for each in accepted.values()):
        return
    unknown = [name for name in params if name not in accepted]
    if unknown:
        raise TypeError(
            f"fit got {listed(unknown, 'and')}, which {parts.machine_name} does not take in its "
            "fit. Omit it, or choose a machine that does."
        )


def _machine_weights(
    classifier: Any, parts: Parts, routed: _Routed, X: Any, y: Any, classes: NDArray[Any]
) -> FloatArray | None:
    if routed.machine_weight is None and classifier.class_weight is None:
        return None
    takes_weights = has_fit_parameter(parts.machine.template, "sample_weight")
    if not takes_weights and not get_config()["enable_metadata_routing"]:
        raise ValueError(
            f"{parts.machine_name} does not take sample_weight in fit, so neither sample_weight "
            "nor class_weight can reach it. Choose another machine, or omit the weights."
        )
    return row_weights(routed.machine_weight, classifier.class_weight, X, y, classes)


def _priors(priors: Any, parts: Parts, classes: NDArray[Any]) -> FloatArray | None:
    if priors is None:
        return None
    if not parts.yields_probabilities:
        raise ValueError(
            f"priors reweight class probabilities, which {type(parts.decoder).__name__} does not "
            "yield here. Choose a decoder that does, or priors=None."
        )
    return class_distribution(priors, classes, "priors")
