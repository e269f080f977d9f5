"""A kernel of somebody's own: Cauchy's."""

from dataclasses import dataclass

from polychotomy.core.registry import register
from polychotomy.core.state import Number
from polychotomy.kernels import Kernel, squared_distances


@register("toy_kernel")
@dataclass(frozen=True)
class ToyKernel(Kernel):
    gamma: float = 1.0

    fitted_state = {"gamma": Number(above=0.0)}

    def between(self, X, Z):
        return 1.0 / (1.0 + self.gamma * squared_distances(X, Z))
