"""Coupling for any code: it gives every code class probabilities."""

from __future__ import annotations

from typing import Any

from .. import native
from ..core.checks import positive_number
from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.registry import register
from ..core.state import Sizes, is_number, require
from ..core.types import FloatArray, is_range
from .base import Context, Decoder, canonical
from .coupling import warn_unconverged


@register("code_coupling")
class CodeCoupling(Decoder):
    """Couple the binary probabilities of any code into class probabilities.

    It finds the class probabilities p with the smallest Kullback-Leibler distance between the
    binary probabilities ``r_l`` and those that p implies, ``p(plus_l) / (p(plus_l) +
    p(minus_l))``. This is the criterion of Hastie and Tibshirani for codes other than one-vs-one.
    The idea is that of Zadrozny (2001, 2002) and of Huang, Weng and Lin (2006). If a code does not
    determine p, such as the minimal code, a very small pull towards the uniform distribution
    selects the solution of largest entropy.

    Parameters
    ----------
    pull : float, default=1e-8
        The strength of the pull.

    Notes
    -----
    Without don't-cares the problem is convex in p. With don't-cares and sides of several classes it
    can have more than one minimum; the one reached from the uniform distribution is returned. For
    one-vs-rest codes the problem separates into one scalar equation for each row. For one-vs-one
    codes it is that of Hastie and Tibshirani, convex in log p.

    Note: without the pull, the result for a code that does not determine p would depend on where
    the iteration starts and on rounding. Refusing such codes would leave the minimal code without
    probabilities. The pull moves the solution of other codes by about its own size, 1e-8.

    References
    ----------
    B. Zadrozny, "Reducing multiclass to binary by coupling probability estimates", Advances in
    Neural Information Processing Systems 14, 2001 (published 2002).
    T.-K. Huang, R. C. Weng and C.-J. Lin, "Generalized Bradley-Terry models and multi-class
    probability estimates", Journal of Machine Learning Research 7, 2006.

    Examples
    --------
    Two bits of a minimal code for four classes. Only the bits are known, so the class probabilities
    are their products:

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
        """Check what the declared state cannot express."""
        super().check_state(sizes)
        require(is_number(self.pull) and self.pull > 0.0, self, "has no valid pull")

    def _fit(self, context: Context) -> None:
        positive_number(self.pull, "pull")

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        r, column = margins.probability, codebook.rest
        assert r is not None
        if column is not None:
            # A selection of all columns would be copied twice.
            rest = r if is_range(column) else r[:, column]
            return native.couple_one_vs_rest(rest, self.pull)
        p, n_unconverged = self._couple(r, codebook)
        warn_unconverged(n_unconverged, type(self).__name__)
        return p

    def _couple(self, r: FloatArray, codebook: Codebook) -> tuple[FloatArray, int]:
        if codebook.pairs is None or not 0.0 < self.pull <= native.LARGEST_PULL:
            return native.couple_code(r, codebook.matrix, pull=self.pull)
        pairs = canonical(r, codebook, 1.0)
        return native.couple_hastie_tibshirani(pairs, tolerance=1e-16, pull=self.pull)
