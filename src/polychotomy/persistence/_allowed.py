"""The fixed list of what may be in a model file. Nothing else is ever imported or built."""

from __future__ import annotations

from collections.abc import Mapping


def _names(table: Mapping[str, str]) -> frozenset[str]:
    return frozenset(
        f"{module}.{name}" for module, names in table.items() for name in names.split()
    )


# Our own classes. Each has an entry in `checks` too.
OWN = _names(
    {
        "polychotomy._parts": "Parts",
        "polychotomy._training": "BinaryMachines NestedScorer",
        "polychotomy.calibration.isotonic": "Isotonic",
        "polychotomy.calibration.none": "NoCalibration",
        "polychotomy.calibration.platt": "Platt",
        "polychotomy.calibration.pooled_platt": "PooledPlatt",
        "polychotomy.classifier": "PolychotomyClassifier",
        "polychotomy.codes.custom": "CustomCode",
        "polychotomy.codes.dense_random": "DenseRandomCode",
        "polychotomy.codes.error_correcting": "ErrorCorrectingCode",
        "polychotomy.codes.exhaustive": "ExhaustiveCode",
        "polychotomy.codes.minimal": "MinimalCode",
        "polychotomy.codes.one_vs_one": "OneVsOne",
        "polychotomy.codes.one_vs_rest": "OneVsRest",
        "polychotomy.codes.ordinal": "OrdinalCode",
        "polychotomy.codes.sparse_random": "SparseRandomCode",
        "polychotomy.decoding.bayesian": "BayesianDecoding",
        "polychotomy.decoding.code_coupling": "CodeCoupling",
        "polychotomy.decoding.coupling": "PairwiseCoupling",
        "polychotomy.decoding.decision_graph": "DecisionGraph",
        "polychotomy.decoding.fuzzy": "NonDominance ValuedPreference",
        "polychotomy.decoding.hamming": "HammingDecoding",
        "polychotomy.decoding.loss": "LossDecoding",
        "polychotomy.decoding.nesting": "Level Nesting",
        "polychotomy.decoding.ordered": "DynamicallyOrdered",
        "polychotomy.decoding.shrunk_softmax": "ShrunkSoftMax",
        "polychotomy.decoding.softmax": "SoftMax",
        "polychotomy.decoding.tree": "BinaryTree Node",
        "polychotomy.decoding.voting": "MaxWins WeightedVoting",
        "polychotomy.decoding.winner": "WinnerTakesAll",
        "polychotomy.kernels": "Kernel",
        "polychotomy.machines._lssvm_centring": "Centring",
        "polychotomy.machines._lssvm_evidence": "Hyperparameters",
        "polychotomy.machines._lssvm_solve": "Factor Fit",
        "polychotomy.machines._lssvm_tridiagonal": "Tridiagonal",
        "polychotomy.machines.any_learner": "AnyLearner FittedColumns",
        "polychotomy.machines.kernel_columns": "FittedKernels KernelColumns",
        "polychotomy.machines.klr": "KernelLogisticRegression",
        "polychotomy.machines.klr_columns": "LogisticColumns",
        "polychotomy.machines.lssvm": "LSSVM",
        "polychotomy.machines.lssvm_columns": "FittedLSSVM LSSVMColumns Piece",
        "polychotomy.machines.svm": "SVM",
        "polychotomy._views": "View",
        "polychotomy.metric": "LearnedMetric",
        "polychotomy.metric_classifier": "MetricClassifier",
        "polychotomy.pool": "PolychotomyPool",
        "polychotomy.probabilistic_svc": "ProbabilisticSVC",
        "polychotomy.search": "TwoStepSearchCV",
        "polychotomy.tempering": "Tempering",
    }
)

# Estimators of scikit-learn whose predictions are made by NumPy alone, or whose indices
# `_sklearn_checks` checks.
SKLEARN = _names(
    {
        "sklearn.calibration": ("CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration"),
        "sklearn.compose._column_transformer": "ColumnTransformer",
        "sklearn.decomposition._pca": "PCA",
        "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis",
        "sklearn.dummy": "DummyClassifier",
        "sklearn.ensemble._forest": "ExtraTreesClassifier RandomForestClassifier",
        "sklearn.feature_selection._variance_threshold": "VarianceThreshold",
        "sklearn.impute._base": "MissingIndicator SimpleImputer",
        "sklearn.isotonic": "IsotonicRegression",
        "sklearn.linear_model._logistic": "LogisticRegression",
        "sklearn.linear_model._ridge": "RidgeClassifier",
        "sklearn.metrics._scorer": "_PassthroughScorer _Scorer",
        "sklearn.model_selection._search": "GridSearchCV RandomizedSearchCV",
        "sklearn.model_selection._split": (
            "GroupKFold KFold LeaveOneGroupOut LeaveOneOut StratifiedGroupKFold StratifiedKFold"
        ),
        "sklearn.naive_bayes": "BernoulliNB ComplementNB GaussianNB MultinomialNB",
        "sklearn.neighbors._classification": "KNeighborsClassifier",
        "sklearn.pipeline": "FeatureUnion Pipeline",
        "sklearn.preprocessing._data": (
            "MaxAbsScaler MinMaxScaler Normalizer RobustScaler StandardScaler"
        ),
        "sklearn.preprocessing._encoders": "OneHotEncoder OrdinalEncoder",
        "sklearn.preprocessing._function_transformer": "FunctionTransformer",
        "sklearn.preprocessing._label": "LabelBinarizer LabelEncoder",
        "sklearn.svm._classes": "LinearSVC SVC",
        "sklearn.tree._classes": "DecisionTreeClassifier ExtraTreeClassifier",
        "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
    }
)
# Lists of columns, in some versions of scikit-learn only.
SKLEARN_ONCE = _names({"sklearn.compose._column_transformer": "_RemainderColsList"})

CODEBOOK = "polychotomy._types.Codebook"
TREE = "sklearn.tree._tree.Tree"
# What a search may score by; no other function is ever named in a file.
FUNCTIONS = _names(
    {
        "sklearn.metrics._classification": (
            "accuracy_score balanced_accuracy_score brier_score_loss f1_score log_loss "
            "matthews_corrcoef precision_score recall_score"
        ),
        "sklearn.metrics._ranking": "roc_auc_score",
    }
)
_NUMBERS = (
    "bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 str_"
)
NUMPY_SCALARS = _names({"numpy": _NUMBERS})
KEY_TYPES = NUMPY_SCALARS - {"numpy.bool", "numpy.bool_"} | _names({"builtins": "str int float"})
TYPES = KEY_TYPES | NUMPY_SCALARS | {"builtins.bool"}
SPARSE = _names(
    {
        "scipy.sparse._csr": "csr_array csr_matrix",
        "scipy.sparse._csc": "csc_array csc_matrix",
    }
)
MASKED = frozenset({"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"})


def trusted() -> list[str]:
    """Return the names that skops is told to trust, all of which have been checked before."""
    estimators = OWN | SKLEARN | SKLEARN_ONCE
    return sorted(
        estimators | FUNCTIONS | TYPES | SPARSE | MASKED | {CODEBOOK, TREE, "numpy.dtype"}
    )
