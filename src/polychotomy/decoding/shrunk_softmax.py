"""Soft-max of class scores, shrunk to one temperature for all classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ..core.checks import one_of
from ..core.codebook import Codebook
from ..core.empirical_bayes import ClassScores, ShrunkFit, fit_shrunk, typical_size
from ..core.margins import Margins
from ..core.math import pair_columns
from ..core.registry import register
from ..core.slope_and_biases import OneSlope, SlopeAndBiases
from ..core.state import Array, Field, Sizes, require
from ..core.types import FloatArray
from .base import Context, Decoder, canonical
from .softmax import class_probabilities

# Larger scores count as this, so that their sums and differences stay finite.
LARGEST_SCORE = 1e300
# The penalty on w, for scores of size 1. Hundreds of rows outweigh it, but it prevents extreme
# confidence from a few rows that no machine confuses. With 0.001 the NLL of two LS-SVMs on such
# sets (wine, iris, zoo, new-thyroid) was 7 to 27 % higher; on larger sets nothing changed.
COMMON_STRENGTH = 0.1


@register("shrunk_soft_max")
class ShrunkSoftMax(Decoder):
    """Soft-max of one-vs-rest or one-vs-one scores, shrunk to one temperature.

    For one-vs-rest scores f, centred over the classes, class k has probability proportional to
    ``exp((w + d_k) f_k + b_k)``. For one-vs-one there are two scores of a class: the sum, and the
    smallest, of its scores against the others, ``exp((w + d_k) sum_t r_kt + (w' + d'_k) min_t
    r_kt + b_k)``; both are centred. w and w' are almost free; d and b are shrunk to 0, with
    strengths found by empirical Bayes. So it shrinks to one temperature for all classes, whereas
    `SoftMax` shrinks to equal probabilities. A class whose slope (for one-vs-one, the sum of both
    for scores of size 1) would be below 0 has the slope 0. It is fitted on scores of machines that
    did not see the row.

    Parameters
    ----------
    slopes : {"own", "shared", "alone"}, default="own"
        Whether every class has a slope of its own, shrunk to the common one, or all share the
        common one; then only the biases differ between classes. "shared" is for one-vs-rest with
        hundreds of classes: a step takes a quarter of the time, and there are fewer of them.
        "alone" is a common slope without biases, which takes a few passes over the scores.

    Attributes
    ----------
    weights_ : ndarray of shape (n_classes, 2) or (n_classes, 3)
        For every class ``w + d`` (for one-vs-one also ``w' + d'``) and b.
    strengths_ : ndarray of shape (2,), (1,) or (0,)
        The strengths of the penalties on d and b; on b alone for shared slopes; none for a slope
        alone.

    Notes
    -----
    This is our own method. Slopes below 0 would be wrong for new rows: where the inputs say
    nothing, leave-one-out scores tell a row's own class, because it is missing in their mean. Sums
    work if many classes are confused with each other, the smallest score works if a class has few
    rivals. Out of sample, both together were better than either alone, and better than a shrunk
    weight for every pair.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy import Context, Margins, OneVsRest, ShrunkSoftMax
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 50)
    >>> scores = 2.0 * np.eye(3)[y] - 1.0 + rng.normal(size=(150, 3))
    >>> context = Context(OneVsRest().build(3), y, held_out=Margins(mean=scores))
    >>> ShrunkSoftMax().fit(context).decode([[1.0, -1.0, -1.0]]).round(2)
    array([[0.96, 0.02, 0.02]])
    """

    fitted_state: ClassVar[Mapping[str, Field]] = {
        "weights_": Array("Mw"),
        "strengths_": Array("g"),
    }
    # Files of earlier versions do not have it.
    later_parameters: ClassVar[Mapping[str, Any]] = {"slopes": "own"}
    codes = frozenset({"one_vs_one", "one_vs_rest"})
    needs = frozenset({"scores", "held_out_scores"})
    yields = "probabilities"
    _bare = "mean"

    def __init__(self, slopes: str = "own") -> None:
        self.slopes = slopes

    def fits(self, codebook: Codebook) -> bool:
        """Return whether the decoder is for this code; shared slopes are for one-vs-rest."""
        shared = isinstance(self.slopes, str) and self.slopes in ("shared", "alone")
        return super().fits(codebook) and (not shared or codebook.rest is not None)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return example configurations."""
        return [cls(), cls("shared"), cls("alone")]

    def check_state(self, sizes: Sizes) -> None:
        """Check what the declared state cannot express."""
        super().check_state(sizes)
        width = 2 if self.codebook_.rest is not None else 3
        require(sizes["w"] == width, self, "has weights_ of another code")

    def _fit(self, context: Context) -> None:
        if context.held_out is None or context.held_out.mean is None:
            raise ValueError("ShrunkSoftMax needs held-out scores in its context.")
        one_of(self.slopes, "slopes", ("own", "shared", "alone"))
        if self.slopes != "own":
            self._fit_shared(context, context.held_out.mean)
            return
        features = class_scores(context.held_out.mean, context.codebook)
        scale = np.ones(features.shape[2])
        for j in range(len(scale) - 1):
            scale[j] = typical_size(features[:, :, j], context.weights)
        design, groups = shrunk_design(*features.shape[1:])
        features = features / scale
        while True:
            model = ClassScores(features, context.y, context.weights, design)
            fit = fit_shrunk(model, groups, free=COMMON_STRENGTH)
            weights = (design @ fit.theta).reshape(features.shape[1:])
            used = features[:, :, :-1].any(axis=(0, 2))
            reversed_ = used & (weights[:, :-1].sum(axis=1) < 0.0)
            if not reversed_.any():
                break
            # Once more without their scores: they may have pulled other slopes along.
            features[:, reversed_, :-1] = 0.0
        weights[~used, :-1] = 0.0
        self.weights_, self.strengths_ = weights / scale, fit.strengths

    def _fit_shared(self, context: Context, scores: FloatArray) -> None:
        z = _centred(_clipped(scores)[:, context.codebook.rest])
        scale = typical_size(z, context.weights)
        n_classes = context.codebook.n_classes
        fit = self._shared_fit(z / scale, context)
        if fit.theta[0] < 0.0:
            fit = self._shared_fit(np.zeros(z.shape), context)
        slope = max(fit.theta[0], 0.0) / scale
        biases = np.zeros(n_classes) if self.slopes == "alone" else fit.theta[1:]
        self.weights_ = np.stack([np.full(n_classes, slope), biases], axis=1)
        self.strengths_ = fit.strengths

    def _shared_fit(self, z: FloatArray, context: Context) -> ShrunkFit:
        if self.slopes == "alone":
            one = OneSlope(z, context.y, context.weights, start=0.0)
            return fit_shrunk(one, [], free=COMMON_STRENGTH)
        model = SlopeAndBiases(z, context.y, context.weights, start=0.0)
        biases = np.arange(1, model.n_parameters)
        return fit_shrunk(model, [biases], free=COMMON_STRENGTH)

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        if not hasattr(self, "weights_"):
            raise ValueError("ShrunkSoftMax must be fitted before it can decode.")
        assert margins.mean is not None
        return class_probabilities(class_scores(margins.mean, codebook), self.weights_)


def class_scores(scores: FloatArray, codebook: Codebook) -> FloatArray:
    """Return the centred scores of every class, and 1 for its bias, along the last axis."""
    n_classes = codebook.n_classes
    scores = _clipped(scores)
    if codebook.rest is not None:
        parts = [scores[:, codebook.rest]]
    else:
        pairs = canonical(scores, codebook, 0.0) / n_classes
        first, second = pair_columns(n_classes)
        against = np.zeros((len(scores), n_classes, n_classes))
        against[:, first, second] = pairs
        against[:, second, first] = -pairs
        sums = against.sum(axis=2)
        against[:, np.arange(n_classes), np.arange(n_classes)] = np.inf
        parts = [sums, against.min(axis=2)]
    centred = [_centred(part) for part in parts]
    return np.stack([*centred, np.ones_like(centred[0])], axis=2)


def _clipped(scores: FloatArray) -> FloatArray:
    return np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE)


def _centred(scores: FloatArray) -> FloatArray:
    centred: FloatArray = scores - (scores / scores.shape[1]).sum(axis=1, keepdims=True)
    return centred


def shrunk_design(n_classes: int, n_features: int) -> tuple[FloatArray, list[Any]]:
    """Return the map from parameters to the weights of classes, and the groups of parameters.

    The parameters are the common weights of the scores, the deviations of the classes, and biases.
    """
    n_scores = n_features - 1
    own = n_scores + np.arange(n_classes * n_scores)
    biases = n_scores + n_classes * n_scores + np.arange(n_classes)
    design = np.zeros((n_classes, n_features, biases[-1] + 1))
    for k in range(n_classes):
        for j in range(n_scores):
            design[k, j, [j, own[k * n_scores + j]]] = 1.0
        design[k, n_scores, biases[k]] = 1.0
    return design.reshape(n_classes * n_features, -1), [own, biases]
