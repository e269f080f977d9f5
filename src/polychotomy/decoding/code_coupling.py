"""Coupling for any code, so that every code has class probabilities."""

from __future__ import annotations

from typing import Any

from .. import native
from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.registry import register
from ..core.state import Sizes, is_number, require
from ..core.types import FloatArray
from .base import Decoder
from .coupling import warn_unconverged


@register("code_coupling")
class CodeCoupling(Decoder):
    """Couple the binary probabilities of any code into class probabilities.

    The class probabilities p of least Kullback-Leibler distance between the binary
    probabilities ``r_l`` and those that p induces, ``p(plus_l) / (p(plus_l) + p(minus_l))``:
    the criterion of Hastie and Tibshirani for codes other than one-vs-one (Huang, Weng and
    Lin 2006). Where a code does not determine p, as the minimal code does not, the solution of
    largest entropy is taken, by a vanishing pull to the uniform distribution.

    Parameters
    ----------
    pull : float, default=1e-8
        The strength of that pull.

    Notes
    -----
    Without don't-cares the problem is convex in p. With don't-cares on sides of several
    classes it may have more than one minimum; the one reached from the uniform distribution is
    returned.

    Examples
    --------
    Two bits of a minimal code for four classes; nothing but the bits is known, so the classes
    get their products:

    >>> from polychotomy import CodeCoupling, MinimalCode
    >>> codebook = MinimalCode().build(4)
    >>> CodeCoupling().decode([[0.3, 0.4]], codebook).round(3)
    array([[0.42, 0.28, 0.18, 0.12]])
    """

    needs = frozenset({"probabilities"})
    yields = "probabilities"

    def __init__(self, pull: float = 1e-8) -> None:
        self.pull = pull

    def check_state(self, sizes: Sizes) -> None:
        """Check what the declared state cannot say."""
        super().check_state(sizes)
        require(is_number(self.pull) and self.pull >= 0.0, self, "has no valid pull")

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        assert margins.probability is not None
        p, n_unconverged = native.couple_code(margins.probability, codebook.matrix, pull=self.pull)
        warn_unconverged(n_unconverged, type(self).__name__)
        return p
