"""Multi-class classification from binary classifiers, with trustworthy probabilities.

A code splits the classes into binary problems, binary machines are trained for them,
calibrators turn their scores into probabilities, and decoders turn those into classes and class
probabilities. `PolychotomyClassifier` wires the four together as a scikit-learn estimator.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._types import Codebook, Margins
from .calibration import Calibrator, Isotonic, NoCalibration, Platt, PooledPlatt
from .classifier import PolychotomyClassifier
from .codes import (
    Code,
    CustomCode,
    DenseRandomCode,
    ErrorCorrectingCode,
    ExhaustiveCode,
    MinimalCode,
    OneVsOne,
    OneVsRest,
    OrdinalCode,
    SparseRandomCode,
)
from .decoding import (
    BayesianDecoding,
    BinaryTree,
    CodeCoupling,
    Context,
    DecisionGraph,
    Decoder,
    DynamicallyOrdered,
    HammingDecoding,
    LossDecoding,
    MaxWins,
    Nesting,
    NonDominance,
    PairwiseCoupling,
    ShrunkSoftMax,
    SoftMax,
    ValuedPreference,
    WeightedVoting,
    WinnerTakesAll,
)
from .explanation import Explanation
from .machines import LSSVM, SVM, KernelLogisticRegression
from .recipes import Recipe, RecipeTable, recipe, recipes
from .tempering import Tempering

if TYPE_CHECKING:
    from .comparison import DecoderComparison, compare_decoders
    from .method_sweep import MethodSweep
    from .metric import LearnedMetric
    from .metric_classifier import MetricClassifier
    from .persistence import load, save
    from .pool import PolychotomyPool
    from .probabilistic_svc import ProbabilisticSVC
    from .search import TwoStepSearchCV

__version__ = "0.1.0"

__all__ = [
    "LSSVM",
    "SVM",
    "BayesianDecoding",
    "BinaryTree",
    "Calibrator",
    "Code",
    "CodeCoupling",
    "Codebook",
    "Context",
    "CustomCode",
    "DecisionGraph",
    "Decoder",
    "DecoderComparison",
    "DenseRandomCode",
    "DynamicallyOrdered",
    "ErrorCorrectingCode",
    "ExhaustiveCode",
    "Explanation",
    "HammingDecoding",
    "Isotonic",
    "KernelLogisticRegression",
    "LearnedMetric",
    "LossDecoding",
    "Margins",
    "MaxWins",
    "MethodSweep",
    "MetricClassifier",
    "MinimalCode",
    "Nesting",
    "NoCalibration",
    "NonDominance",
    "OneVsOne",
    "OneVsRest",
    "OrdinalCode",
    "PairwiseCoupling",
    "Platt",
    "PolychotomyClassifier",
    "PolychotomyPool",
    "PooledPlatt",
    "ProbabilisticSVC",
    "Recipe",
    "RecipeTable",
    "ShrunkSoftMax",
    "SoftMax",
    "SparseRandomCode",
    "Tempering",
    "TwoStepSearchCV",
    "ValuedPreference",
    "WeightedVoting",
    "WinnerTakesAll",
    "compare_decoders",
    "load",
    "recipe",
    "recipes",
    "save",
]

# What is built upon the estimator is imported when it is first asked for.
_LATER = {
    "DecoderComparison": "comparison",
    "LearnedMetric": "metric",
    "MethodSweep": "method_sweep",
    "MetricClassifier": "metric_classifier",
    "PolychotomyPool": "pool",
    "ProbabilisticSVC": "probabilistic_svc",
    "TwoStepSearchCV": "search",
    "compare_decoders": "comparison",
    "load": "persistence",
    "save": "persistence",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        globals()[name] = found = getattr(import_module(f".{_LATER[name]}", __name__), name)
        return found
    if name in _LATER.values():
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
