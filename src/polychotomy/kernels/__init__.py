"""Kernels, Gram matrices that many problems share, rows on demand, landmarks and features."""

from .anova import Anova
from .base import Kernel, OnDemand
from .distances import (
    city_block_distances,
    dense,
    inner_products,
    squared_distances,
    squared_norms,
)
from .features import FeatureRows, FeatureSums, Summing, feature_sums
from .function import Function
from .gaussian import Gaussian
from .gram import BLOCK_ENTRIES, SMALL_GRAM, SharedRows, check_square, prepare_rows
from .landmarks import FeatureBlock, Landmarks, choose_landmarks, refuse_without_landmarks
from .laplacian import Laplacian
from .linear import Linear
from .memory import settle_memory_limit
from .polynomial import Polynomial
from .precomputed import Precomputed
from .rows import CachedRows, LinearRows, RowSource, StoppedError
from .settle import kernel_class, settle_kernel
from .sigmoid import Sigmoid

__all__ = [
    "BLOCK_ENTRIES",
    "SMALL_GRAM",
    "Anova",
    "CachedRows",
    "FeatureBlock",
    "FeatureRows",
    "FeatureSums",
    "Function",
    "Gaussian",
    "Kernel",
    "Landmarks",
    "Laplacian",
    "Linear",
    "LinearRows",
    "OnDemand",
    "Polynomial",
    "Precomputed",
    "RowSource",
    "SharedRows",
    "Sigmoid",
    "StoppedError",
    "Summing",
    "check_square",
    "choose_landmarks",
    "city_block_distances",
    "dense",
    "feature_sums",
    "inner_products",
    "kernel_class",
    "prepare_rows",
    "refuse_without_landmarks",
    "settle_kernel",
    "settle_memory_limit",
    "squared_distances",
    "squared_norms",
]
