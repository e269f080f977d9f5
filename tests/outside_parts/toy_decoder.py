"""A decoder of somebody's own: the mean of the answers of both sides, one temperature learned."""

import numpy as np

from polychotomy import Decoder
from polychotomy.core.registry import register
from polychotomy.core.state import Array, Number


@register("toy_decoder")
class ToyDecoder(Decoder):
    needs = frozenset({"probabilities"})
    yields = "probabilities"
    fitted_state = {"temperature_": Number(above=0.0), "counts_": Array("ML", at_least=0.0)}

    def __init__(self, power=2.0):
        self.power = power

    def _fit(self, context):
        self.temperature_ = float(self.power)
        self.counts_ = np.abs(context.codebook.matrix).astype(float)

    def _decode(self, margins, codebook, X):
        matrix = codebook.matrix
        r = margins.probability
        sums = r @ (matrix > 0).T + (1 - r) @ (matrix < 0).T
        p = (sums / self.counts_.sum(axis=1)) ** self.temperature_
        return p / p.sum(axis=1, keepdims=True)
