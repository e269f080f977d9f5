"""Plots of classifiers and searches, as scikit-learn Displays.

Each Display has constructors named after their source, for example ``from_estimator``, which draw
immediately, into ``ax`` if it is given; `plot` draws again. The numbers are computed separately
from the drawing, and kept as an attribute. Mean ranks of methods with their critical difference are
drawn by `polychotomy.study.CriticalDifferenceDisplay`.
"""

from .codebook import CodebookDisplay
from .decision_region import DecisionRegionDisplay, DecisionRegions, decision_regions
from .feature_weights import FeatureWeightsDisplay
from .pairwise import PairwiseDisplay
from .reliability import (
    ReliabilityCurve,
    ReliabilityCurves,
    ReliabilityDisplay,
    reliability_curves,
)
from .risk_coverage import RiskCoverageDisplay
from .search_surface import SearchSurface, SearchSurfaceDisplay, search_surface

__all__ = [
    "CodebookDisplay",
    "DecisionRegionDisplay",
    "DecisionRegions",
    "FeatureWeightsDisplay",
    "PairwiseDisplay",
    "ReliabilityCurve",
    "ReliabilityCurves",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "SearchSurface",
    "SearchSurfaceDisplay",
    "decision_regions",
    "reliability_curves",
    "search_surface",
]
