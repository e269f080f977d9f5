"""From the parameters of an estimator to a kernel."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..core.checks import one_of, positive_number
from ..core.registry import find_part, parts
from ..core.types import FloatArray
from .base import Kernel
from .function import Function


def kernel_class(kernel: Any) -> type[Kernel]:
    """Return the class behind a `kernel` parameter: a name, or a function."""
    if callable(kernel):
        return Function
    if not isinstance(kernel, str):
        one_of(kernel, "kernel", parts("kernel"))
    found: type[Kernel] = find_part("kernel", kernel)
    return found


def settle_kernel(
    kernel: Any,
    X: Any,
    sigma2: Any,
    gamma: Any,
    degree: Any,
    coef0: Any,
    counts: FloatArray | None = None,
) -> Kernel:
    """Turn the parameters of an estimator into a kernel, as scikit-learn does.

    `sigma2` is the width of ``exp(-|x - z|^2 / (2 sigma2))`` and takes precedence over `gamma`.
    `gamma` may be "scale" (1 / (n_features * variance of X), with rows weighted by `counts` and the
    variance raised to the kernel's `scale_power`), "auto" (1 / n_features) or a number.
    """
    kind = kernel_class(kernel)
    if kind is Function:
        return Function(kernel)
    names = {field.name for field in fields(kind)}
    given: dict[str, float] = {}
    if "gamma" in names:
        if sigma2 is not None and not kind.takes_sigma2:
            raise ValueError(
                f"sigma2 is the width of the Gaussian kernel; for kernel={kernel!r} set gamma, and "
                f"sigma2=None (got {sigma2!r})."
            )
        given["gamma"] = _settle_gamma(X, sigma2, gamma, counts, kind.scale_power)
    if "degree" in names:
        given["degree"] = float(degree)
    if "coef0" in names:
        given["coef0"] = float(coef0)
    return kind(**given)


def _settle_gamma(
    X: Any, sigma2: Any, gamma: Any, counts: FloatArray | None, power: float
) -> float:
    if sigma2 is not None:
        return 1.0 / (2.0 * positive_number(sigma2, "sigma2"))
    if isinstance(gamma, str):
        one_of(gamma, "gamma", ("scale", "auto"))
        if gamma == "auto":
            return 1.0 / float(X.shape[1])
        variance = _variance(X, counts)
        return float(1.0 / (X.shape[1] * variance**power)) if variance > 0.0 else 1.0
    return positive_number(gamma, "gamma")


def _variance(X: Any, counts: FloatArray | None) -> float:
    """Return the variance of all entries of X, with rows weighted by their counts."""
    if counts is None and not issparse(X):
        return float(X.var())
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if counts is None else counts / counts.sum()
    mean = (share @ X).mean()
    squares = X.multiply(X) if issparse(X) else (X - mean) ** 2
    return float((share @ squares).mean() - (mean**2 if issparse(X) else 0.0))
