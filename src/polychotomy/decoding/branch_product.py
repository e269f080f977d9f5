"""The product of branch probabilities, for nested codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.registry import register
from ..core.types import FloatArray
from .base import Decoder


@register("branch_product")
class BranchProduct(Decoder):
    """The probability of a class is the product of the branch probabilities on the path to it.

    This is exact: given a class of the node, r is the probability of its positive side, and a class
    is reached by one path (Frank and Kramer, section 2). So the class probabilities sum to 1
    without a further step.

    References
    ----------
    E. Frank and S. Kramer, "Ensembles of nested dichotomies for multi-class problems", ICML 2004.

    Examples
    --------
    >>> from polychotomy import BranchProduct, NestedCode
    >>> codebook = NestedCode([[0, 1], 2]).build(3)
    >>> BranchProduct().decode([[0.8, 0.5]], codebook)
    array([[0.4, 0.4, 0.2]])
    """

    codes = frozenset({"nested"})
    needs = frozenset({"probabilities"})
    yields = "probabilities"

    def _decode(self, margins: Margins, codebook: Codebook, X: Any) -> FloatArray:
        tree, r = codebook.branches, margins.probability
        assert tree is not None
        assert r is not None
        # Columns and classes are rows here, so that a level of the tree is copied by whole rows.
        positive = np.ascontiguousarray(r.T)
        reached, p = np.ones_like(positive), np.empty((codebook.n_classes, len(r)))
        for columns in tree.levels:
            for side, chance in enumerate((positive[columns], 1.0 - positive[columns])):
                chance *= reached[columns]
                child = tree.children[columns, side]
                is_column = child >= 0
                reached[child[is_column]] = chance[is_column]
                p[-1 - child[~is_column]] = chance[~is_column]
        return np.ascontiguousarray(p.T)
