"""A code of somebody's own: the first class against each other, and the rest in order."""

import numpy as np

from polychotomy import Code
from polychotomy.core.registry import register


@register("toy_code")
class ToyCode(Code):
    def _build(self, n_classes, rng):
        first = np.vstack([np.ones(n_classes - 1), -np.eye(n_classes - 1)])
        steps = np.where(np.arange(n_classes)[:, None] > np.arange(n_classes - 1), 1, -1)
        return np.hstack([first, steps])
