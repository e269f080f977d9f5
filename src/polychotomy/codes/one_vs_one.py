"""One-vs-one: a binary problem for every two classes."""

from __future__ import annotations

import numpy as np

from ..core.registry import register
from ..core.types import SignArray
from .base import Code

# 447 classes: the codebook has 45 million entries. A machine for each pair then takes minutes.
MOST_PAIRS = 100_000


@register("one_vs_one")
class OneVsOne(Code):
    """Every two classes against each other (1vs1, all pairs, round robin).

    The M(M-1)/2 columns are the pairs (0, 1), (0, 2), ..., (M-2, M-1), with +1 for the first
    class of the pair; the other classes take no part. More than 447 classes, which are 100,000
    pairs, are refused: use "one_vs_rest" or "nested".

    References
    ----------
    T. Hastie and R. Tibshirani, "Classification by pairwise coupling", Annals of Statistics
    26(2), 1998.

    Examples
    --------
    >>> from polychotomy.codes import OneVsOne
    >>> OneVsOne().build(4)
    Codebook(one_vs_one, 4 classes, 6 columns)
       0  1  2  3  4  5
    0  +  +  +  .  .  .
    1  -  .  .  +  +  .
    2  .  -  .  -  .  +
    3  .  .  -  .  -  -
    """

    def default_decoder(self, probabilities: bool) -> str:
        """Return the name of the decoder that goes with the code."""
        return "pairwise_coupling" if probabilities else "max_wins"

    def _build(self, n_classes: int, rng: np.random.Generator) -> SignArray:
        n_pairs = n_classes * (n_classes - 1) // 2
        if n_pairs > MOST_PAIRS:
            raise ValueError(
                f"One-vs-one of {n_classes} classes has {n_pairs} binary problems, more than the "
                f"{MOST_PAIRS} that are allowed. Use PolychotomyClassifier with "
                "code='one_vs_rest' or code='nested', or NestedDichotomies."
            )
        first, second = np.triu_indices(n_classes, k=1)
        matrix = np.zeros((n_classes, len(first)), dtype=np.int8)
        matrix[first, np.arange(len(first))] = 1
        matrix[second, np.arange(len(first))] = -1
        # So that the codebook need not copy it: with 300 classes it takes 13 MB.
        matrix.setflags(write=False)
        return matrix
