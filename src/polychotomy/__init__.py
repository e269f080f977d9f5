"""Multi-class classification from binary classifiers, with trustworthy probabilities.

A code splits the classes into binary problems. Binary machines are trained for them. Calibrators
turn their scores into probabilities. Decoders turn these into classes and class probabilities.
`PolychotomyClassifier` combines the four as a scikit-learn estimator.

Note: names that build on the estimator, such as searches and pools, are imported on first use.
Importing all of them at once made importing the package slow.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .calibration import Calibrator, Isotonic, NoCalibration, Platt, PooledPlatt
from .codes import (
    Code,
    CustomCode,
    DenseRandomCode,
    ErrorCorrectingCode,
    ExhaustiveCode,
    MinimalCode,
    NestedCode,
    OneVsOne,
    OneVsRest,
    OrdinalCode,
    SparseRandomCode,
)
from .core.codebook import Codebook
from .core.margins import Margins
from .decoding import (
    BayesianDecoding,
    BinaryTree,
    BranchProduct,
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
from .machines import LSSVM, SVM, KernelLogisticRegression
from .pipe.classifier import PolychotomyClassifier
from .pipe.explanation import Explanation
from .recipes import recipe, recipes
from .tempering import StructuredTempering, Tempering
from .tuning.recipe import Recipe, RecipeTable

if TYPE_CHECKING:
    from .all_together import AllTogetherSVC
    from .core.versions import show_versions
    from .ensemble.metric import LearnedMetric
    from .ensemble.metric_classifier import MetricClassifier
    from .ensemble.nested import NestedDichotomies
    from .ensemble.pool import PolychotomyPool
    from .ensemble.tempered_classifier import TemperedClassifier
    from .export import to_onnx
    from .multinomial import KernelMultinomialRegression
    from .persistence import load, save
    from .probabilistic_svc import ProbabilisticSVC
    from .tuning.compare_decoders import DecoderComparison, compare_decoders
    from .tuning.machine_search import MachineSearchCV
    from .tuning.method_sweep import MethodSweep
    from .tuning.search import TwoStepSearchCV

__version__ = "0.2.0"

__all__ = [
    "LSSVM",
    "SVM",
    "AllTogetherSVC",
    "BayesianDecoding",
    "BinaryTree",
    "BranchProduct",
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
    "KernelMultinomialRegression",
    "LearnedMetric",
    "LossDecoding",
    "MachineSearchCV",
    "Margins",
    "MaxWins",
    "MethodSweep",
    "MetricClassifier",
    "MinimalCode",
    "NestedCode",
    "NestedDichotomies",
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
    "StructuredTempering",
    "TemperedClassifier",
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
    "show_versions",
    "to_onnx",
]

# Names that build on the estimator, with their modules: imported on first use.
_LATER = {
    "AllTogetherSVC": "all_together",
    "DecoderComparison": "tuning.compare_decoders",
    "LearnedMetric": "ensemble.metric",
    "MachineSearchCV": "tuning.machine_search",
    "MethodSweep": "tuning.method_sweep",
    "MetricClassifier": "ensemble.metric_classifier",
    "NestedDichotomies": "ensemble.nested",
    "PolychotomyPool": "ensemble.pool",
    "KernelMultinomialRegression": "multinomial",
    "ProbabilisticSVC": "probabilistic_svc",
    "TemperedClassifier": "ensemble.tempered_classifier",
    "TwoStepSearchCV": "tuning.search",
    "compare_decoders": "tuning.compare_decoders",
    "load": "persistence",
    "save": "persistence",
    "show_versions": "core.versions",
    "to_onnx": "export",
}
_PACKAGES = (
    "compare",
    "comparing",
    "datasets",
    "decisions",
    "export",
    "persistence",
    "plots",
    "statistics",
    "study",
    "tables",
)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        globals()[name] = found = getattr(import_module(f".{_LATER[name]}", __name__), name)
        return found
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
