"""The names of classes in model files; a file may contain no others.

A file contains "decoder.max_wins" or "sklearn.svm.SVC", never the path of a private module. Our
names come from the registry, those of scikit-learn from the fixed list below: estimators that
predict with NumPy alone, or whose indices `_sklearn_checks` checks.

Note: files of format 1 contained module paths, so that no module could move without breaking
files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from ..core.registry import format_name, stored_classes
from ._errors import ModelFileError

OWN_PACKAGE = __name__.partition(".")[0]
# The packages of classes that a model file may hold; some are imported only when needed.
PACKAGES = (
    *("core", "kernels", "codes", "machines", "calibration", "decoding", "tempering"),
    *("pipe", "tuning", "ensemble", "decisions", "probabilistic_svc", "multinomial", "tables"),
)


def _names(table: Mapping[str, str]) -> frozenset[str]:
    return frozenset(
        f"{module}.{name}" for module, names in table.items() for name in names.split()
    )


SKLEARN = _names(
    {
        "sklearn.calibration": "CalibratedClassifierCV",
        "sklearn.compose": "ColumnTransformer",
        "sklearn.decomposition": "PCA TruncatedSVD",
        "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis",
        "sklearn.dummy": "DummyClassifier",
        "sklearn.ensemble": "ExtraTreesClassifier RandomForestClassifier",
        "sklearn.feature_extraction.text": "HashingVectorizer",
        "sklearn.feature_selection": "VarianceThreshold",
        "sklearn.frozen": "FrozenEstimator",
        "sklearn.impute": "MissingIndicator SimpleImputer",
        "sklearn.isotonic": "IsotonicRegression",
        "sklearn.linear_model": "LogisticRegression RidgeClassifier",
        "sklearn.model_selection": (
            "GridSearchCV RandomizedSearchCV GroupKFold KFold LeaveOneGroupOut LeaveOneOut "
            "StratifiedGroupKFold StratifiedKFold"
        ),
        "sklearn.naive_bayes": "BernoulliNB ComplementNB GaussianNB MultinomialNB",
        "sklearn.neighbors": "KNeighborsClassifier",
        "sklearn.pipeline": "FeatureUnion Pipeline",
        "sklearn.preprocessing": (
            "FunctionTransformer LabelBinarizer LabelEncoder MaxAbsScaler MinMaxScaler Normalizer "
            "OneHotEncoder OrdinalEncoder RobustScaler StandardScaler TargetEncoder"
        ),
        "sklearn.svm": "LinearSVC SVC",
        "sklearn.tree": "DecisionTreeClassifier ExtraTreeClassifier",
    }
)
# These have no public name.
SKLEARN_PRIVATE = _names(
    {
        "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration",
        "sklearn.compose._column_transformer": "_RemainderColsList",
        "sklearn.metrics._scorer": "_PassthroughScorer _Scorer",
        "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
    }
)
CODEBOOK = "value.codebook"
TREE = "sklearn.tree._tree.Tree"
# The scores that a search may use. A file may name no other functions.
FUNCTIONS = _names(
    {
        "sklearn.metrics": (
            "accuracy_score balanced_accuracy_score brier_score_loss f1_score log_loss "
            "matthews_corrcoef precision_score recall_score roc_auc_score"
        ),
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
FIXED = SKLEARN_PRIVATE | TYPES | SPARSE | MASKED | {TREE, "numpy.dtype"}


class Names:
    """The names that one file may contain.

    Parameters
    ----------
    trusted : iterable of type, default=None
        Classes of the user that the file may contain in addition to ours; None for all registered
        classes.
    """

    def __init__(self, trusted: Iterable[type] | None = None) -> None:
        _import_all()
        known = stored_classes()
        if trusted is None:
            self._own = dict(known)
        else:
            self._own = {name: cls for name, cls in known.items() if _is_ours(cls)} | {
                _checked_name(cls): cls for cls in trusted
            }
        self._known = {real_name(cls): name for name, cls in self._own.items()}
        self.used: dict[str, str] = {}

    def public(self, real: str) -> str:
        """Return the name of a class or function in files; its path if it has no other name."""
        if real in self._known:
            return self._known[real]
        return _public_sklearn(real) or real

    def real(self, public: str) -> str | None:
        """Return the path of a class or function; None if files may not contain it."""
        if public in self._own:
            found: Any = self._own[public]
        elif public in SKLEARN or public in FUNCTIONS:
            module, _, name = public.rpartition(".")
            found = getattr(import_module(module), name, None)
            if found is None:
                return None
        else:
            return None
        self.used[public] = real_name(found)
        return self.used[public]

    def knows(self, cls: type) -> bool:
        """Whether a class is one of ours, or trusted."""
        return real_name(cls) in self._known

    def is_trusted(self, public: str, real: str, kinds: str) -> bool:
        """Whether a node of these kinds may have this name, which `real` has looked up."""
        if self.used.get(public) != real:
            return False
        kind = "function" if public in FUNCTIONS else "codebook" if public == CODEBOOK else "class"
        return kind == kinds

    def trusted(self) -> list[str]:
        """Return the names that skops is told to trust; all of them have been checked."""
        return sorted(FIXED | set(self.used.values()))


@cache
def _import_all() -> None:
    """Import all modules whose classes register themselves."""
    for package in PACKAGES:
        module = import_module(f"{OWN_PACKAGE}.{package}")
        for found in walk_packages(getattr(module, "__path__", ()), f"{module.__name__}."):
            import_module(found.name)


def real_name(cls: Any) -> str:
    """Return the path of a class or function."""
    return f"{cls.__module__}.{cls.__name__}"


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == OWN_PACKAGE


def _checked_name(cls: Any) -> str:
    name = format_name(cls) if isinstance(cls, type) else None
    if name is None:
        raise ModelFileError(
            f"trusted must hold registered classes, got {cls!r}; decorate it with @register(name)."
        )
    return name


@cache
def _public_sklearn(real: str) -> str | None:
    module, _, name = real.rpartition(".")
    if not module.startswith("sklearn."):
        return None
    for public in SKLEARN | FUNCTIONS:
        place, _, own = public.rpartition(".")
        if own == name:
            found = getattr(import_module(place), name, None)
            if found is not None and real_name(found) == real:
                return public
    return None
