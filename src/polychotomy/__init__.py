"""Multi-class classification from binary classifiers, with trustworthy probabilities.

A code splits the classes into binary problems, binary machines are trained for them,
calibrators turn their scores into probabilities, and decoders turn those into classes and class
probabilities. `PolychotomyClassifier` wires the four together as a scikit-learn estimator.
"""

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
from .comparison import DecoderComparison, compare_decoders
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
from .method_sweep import MethodSweep
from .metric import LearnedMetric
from .metric_classifier import MetricClassifier
from .persistence import load, save
from .pool import PolychotomyPool
from .probabilistic_svc import ProbabilisticSVC
from .recipes import Recipe, RecipeTable, recipe, recipes
from .search import TwoStepSearchCV
from .tempering import Tempering

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
