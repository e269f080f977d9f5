"""Bayesian decoding, for any code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..core.checks import class_distribution, finite_array, one_of
from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.math import log_odds, log_sigmoid, softmax
from ..core.registry import register
from ..core.state import Array, Field, Sizes, require
from ..core.types import FloatArray
from .base import Context, Decoder

UPDATES = ("sequential", "parallel", "printed")
# Log likelihood ratios are kept within this bound, so that no probability becomes exactly 0.
LARGEST_RATIO = 700.0


@register("bayesian")
class BayesianDecoding(Decoder):
    """Bayes' rule applied to the binary answers one by one (VANGESTEL section 3).

    Each binary machine provides the likelihood of a row for either side of its problem, and the
    class probabilities are updated column by column, (17) and (20). Machines that estimate their
    variance and noise (LS-SVM) provide it by (11). For others, the binary probability is divided by
    the frequency of its side in the training rows.

    Parameters
    ----------
    priors : None, "training", array-like or dict, default=None
        The class probabilities to start from: equal (None), the frequencies of the training rows,
        or given values, as an array in class order or a dict by class label.
    update : {"sequential", "parallel", "printed"}, default="sequential"
        With don't-cares the result of the paper's rule depends on the order of the columns;
        "sequential" goes from the first to the last. "parallel" is our own: it computes the
        update of every column from `priors`, not from the result of the columns before it, and
        multiplies the updates, so the order does not matter. "printed" is equation (20) as it
        stands, for the record, divided by the sum at the end. Without don't-cares all are (18).

    Notes
    -----
    Equation (20) as printed gives the classes that take part in a column the whole probability,
    and the others keep theirs. With "sequential" they share what they had before the update, so
    that the probabilities always sum to 1.

    A bare array of shape (n_rows, n_columns) contains probabilities of the positive side, for sides
    of equal frequency. One of shape (n_rows, n_columns, 2) contains log likelihoods, of the
    negative side first.

    Examples
    --------
    >>> from polychotomy import BayesianDecoding, OneVsRest
    >>> BayesianDecoding().decode([[0.8, 0.3, 0.4]], OneVsRest().build(3)).round(3)
    array([[0.785, 0.084, 0.131]])
    """

    fitted_state: ClassVar[Mapping[str, Field]] = {
        "side_log_odds_": Array("L"),
        "priors_": Array("M", at_least=0.0),
    }
    needs = frozenset({"likelihoods"})
    yields = "probabilities"

    def __init__(
        self,
        priors: str | ArrayLike | Mapping[Any, float] | None = None,
        update: str = "sequential",
    ) -> None:
        self.priors = priors
        self.update = update

    @classmethod
    def examples(cls) -> list[Self]:
        """Return example configurations."""
        return [cls(update=update) for update in UPDATES]

    def check_state(self, sizes: Sizes) -> None:
        """Check what the declared state cannot express."""
        super().check_state(sizes)
        require(self.priors_.any(), self, "has no priors")

    def _fit(self, context: Context) -> None:
        one_of(self.update, "update", UPDATES)
        matrix, sizes = context.codebook.matrix, context.class_sizes
        self.side_log_odds_ = np.log(sizes @ (matrix > 0)) - np.log(sizes @ (matrix < 0))
        self.priors_ = self._prior_array(context.codebook, context.class_labels)

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        one_of(self.update, "update", UPDATES)
        priors: FloatArray | None = getattr(self, "priors_", None)
        if priors is None:
            priors = self._prior_array(codebook, np.arange(codebook.n_classes))
        with np.errstate(divide="ignore"):
            start = np.broadcast_to(np.log(priors), (margins.n_rows, codebook.n_classes))
        ratio = np.clip(self._log_ratio(margins), -LARGEST_RATIO, LARGEST_RATIO)
        positive, negative = log_sigmoid(ratio), log_sigmoid(-ratio)
        current = start.copy()
        for column, word in enumerate(codebook.matrix.T):
            concerned = np.flatnonzero(word)
            before = start if self.update == "parallel" else current
            likelihood = np.where(word[concerned] > 0, positive[:, [column]], negative[:, [column]])
            old_mass = np.logaddexp.reduce(before[:, concerned], axis=1, keepdims=True)
            new_mass = np.logaddexp.reduce(before[:, concerned] + likelihood, axis=1, keepdims=True)
            if self.update == "printed":
                old_mass = np.zeros_like(old_mass)
            with np.errstate(invalid="ignore"):
                change = likelihood + old_mass - new_mass
            # Classes with prior 0 keep it, even if all classes of a column have prior 0.
            current[:, concerned] += np.where(np.isfinite(change), change, 0.0)
        return softmax(current)

    def _coerce(self, values: ArrayLike | Margins) -> Margins:
        if isinstance(values, Margins):
            self._check_margins(values)
            return values
        array = np.asarray(values, dtype=float)
        if array.ndim != 3:
            return super()._coerce(array)
        array = finite_array(array, "The argument of BayesianDecoding.decode", (3,))
        if array.shape[2] != 2:
            raise ValueError(
                "Log likelihoods have shape (n_rows, n_columns, 2), the negative side first; "
                f"got {array.shape}."
            )
        half_ratio = (array[:, :, 1] - array[:, :, 0]) / 2.0
        return Margins(half_ratio, np.ones_like(half_ratio), np.zeros(array.shape[1]))

    def _check_margins(self, margins: Margins) -> None:
        super()._check_margins(margins)
        if margins.variance is None or margins.noise is None or margins.mean is None:
            return
        variance = finite_array(margins.variance, "Margins.variance", (2,))
        noise = finite_array(margins.noise, "Margins.noise", (1,))
        fitting = variance.shape == margins.mean.shape and noise.shape == variance.shape[1:]
        if not fitting or (variance < 0.0).any() or (noise < 0.0).any():
            raise ValueError(
                "Margins.variance must be nonnegative and have the shape of Margins.mean, "
                "Margins.noise one nonnegative number for each column."
            )

    def _log_ratio(self, margins: Margins) -> FloatArray:
        if margins.variance is not None and margins.noise is not None:
            assert margins.mean is not None
            # (11) at y = +1 over (11) at y = -1; for a variance of 0, the limit
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                ratio: FloatArray = 2.0 * margins.mean / (margins.noise + margins.variance)
            return np.where(margins.mean == 0.0, 0.0, ratio)
        if margins.probability is None:
            raise ValueError(
                "BayesianDecoding needs Margins with probabilities, or with variance and noise."
            )
        return log_odds(margins.probability) - getattr(self, "side_log_odds_", 0.0)

    def _prior_array(self, codebook: Codebook, labels: Any) -> FloatArray:
        given = self.priors
        if given is None:
            return np.full(codebook.n_classes, 1.0 / codebook.n_classes)
        if isinstance(given, str):
            one_of(given, "priors", ("training",))
            sizes: FloatArray | None = getattr(self, "class_sizes_", None)
            if sizes is None:
                raise ValueError("priors='training' needs a fitted decoder.")
            shares: FloatArray = sizes / sizes.sum()
            return shares
        return class_distribution(given, labels, "priors")
