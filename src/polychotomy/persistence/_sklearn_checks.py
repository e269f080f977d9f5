"""Checks of scikit-learn's estimators in a model file.

Most of them predict with NumPy, which checks shapes itself. Their shapes are checked here as well,
so that an invalid file is refused when it is loaded. Trees, LIBSVM, nearest neighbours and one-hot
codes index memory in native code without checks. Their indices are checked here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ._encoder_checks import check_hashing, check_one_hot, check_target_encoder
from ._values import array, indices, instance, integer, is_number, labels, require

MAX_FEATURES = 1 << 31
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
# These have no attributes that show whether they are fitted.
ALWAYS = ("FunctionTransformer", "HashingVectorizer", "_CalibratedClassifier")
METRICS = ("euclidean", "sqeuclidean", "l2", "manhattan", "cityblock", "l1", "minkowski", "cosine")

# Shapes in letters: f inputs, c classes. Any other letter is one number for the whole estimator.
_SCALES = "mean_ var_ scale_ center_ variances_ min_ max_abs_ data_min_ data_max_ data_range_"
_PER_INPUT = dict.fromkeys(_SCALES.split(), "f")
_LINEAR = {"coef_": "kf", "intercept_": "k"}
# Those of RidgeClassifier are only in `_check_linear`: for two classes they may be a vector.
_COUNTS = {"feature_log_prob_": "cf", "class_log_prior_": "c", "class_count_": "c"}
SHAPES: dict[str, dict[str, str]] = {
    "StandardScaler": _PER_INPUT,
    "MinMaxScaler": _PER_INPUT,
    "MaxAbsScaler": _PER_INPUT,
    "RobustScaler": _PER_INPUT,
    "VarianceThreshold": _PER_INPUT,
    "PCA": {"components_": "kf", "mean_": "f", "explained_variance_": "k"},
    "TruncatedSVD": {"components_": "kf", "explained_variance_": "k", "singular_values_": "k"},
    "SimpleImputer": {"statistics_": "f"},
    "LogisticRegression": _LINEAR,
    "LinearSVC": _LINEAR,
    "LinearDiscriminantAnalysis": _LINEAR,
    "GaussianNB": {"theta_": "cf", "var_": "cf", "class_prior_": "c", "class_count_": "c"},
    "MultinomialNB": _COUNTS,
    "ComplementNB": _COUNTS,
    "BernoulliNB": _COUNTS,
    "DummyClassifier": {"class_prior_": "c"},
    "IsotonicRegression": {"X_thresholds_": "t", "y_thresholds_": "t"},
}


def check_sklearn(owner: Any) -> None:
    """Check an estimator, or another object, of scikit-learn."""
    name, attributes = type(owner).__name__, vars(owner)
    shadowing = [key for key in attributes if hasattr(type(owner), key)]
    require(not shadowing, owner, f"has the attribute {shadowing[:1]!r:.60}, the name of a method")
    if "n_features_in_" in attributes:
        integer(owner, "n_features_in_", 1, MAX_FEATURES)
    if "classes_" in attributes:
        labels(owner, at_least=1)
    _check_shapes(owner, SHAPES.get(name, {}))
    if name in ALWAYS or (name in CHECKS and _is_fitted(owner)):
        CHECKS[name](owner)


def _check_shapes(owner: Any, shapes: dict[str, str]) -> None:
    sizes: dict[str, int] = {}
    if "n_features_in_" in vars(owner):
        sizes["f"] = owner.n_features_in_
    if "classes_" in vars(owner) or hasattr(owner, "_label_binarizer"):
        sizes["c"] = len(owner.classes_)
    for name, letters in shapes.items():
        value = vars(owner).get(name)
        if value is None or (letters == "k" and is_number(value)):
            continue  # not fitted, not wanted, or no intercept
        require(type(value) is np.ndarray, owner, f"has no valid {name}")
        kinds = "fiuO" if name == "statistics_" else "fiu"
        fits = value.dtype.kind in kinds and value.ndim == len(letters)
        if fits:
            fits = all(
                sizes.setdefault(letter, length) == length
                for letter, length in zip(letters, value.shape, strict=True)
            )
        require(fits, owner, f"has {name} of a shape or type that does not fit")


def _is_fitted(owner: Any) -> bool:
    return any(name.endswith("_") for name in vars(owner))


def _check_linear(owner: Any) -> None:
    require(type(owner.coef_) is np.ndarray, owner, "has no valid coef_")
    n_classes = len(owner.classes_)
    wanted = (1 if n_classes == 2 else n_classes, owner.n_features_in_)
    fits = np.atleast_2d(owner.coef_).shape == wanted
    fits = fits and np.size(owner.intercept_) in (1, wanted[0])
    require(fits, owner, "has coefficients of other classes or inputs")


def _check_svc(svc: Any) -> None:
    """Check everything that LIBSVM does not check itself; see ``sklearn/svm``."""
    require(svc.kernel in KERNELS, svc, "has no valid kernel")
    sparse = instance(svc, "_sparse", bool)
    n_classes = len(labels(svc))
    n_features = integer(svc, "n_features_in_", 1, MAX_FEATURES)
    n_pairs = n_classes * (n_classes - 1) // 2
    counts = array(svc, "_n_support", (n_classes,), "i")
    support = indices(svc, "support_", None, None)
    n_support = len(support)
    require((counts >= 0).all() and counts.sum() == n_support, svc, "has support_ of other length")
    require(counts.dtype == np.int32 and support.dtype == np.int32, svc, "has no valid support_")
    vectors, precomputed = svc.support_vectors_, svc.kernel == "precomputed"
    shape = (n_support, 0 if precomputed and not sparse else n_features)
    require(issparse(vectors) == sparse, svc, "has support vectors of another type")
    if sparse:
        require(vectors.format == "csr" and vectors.shape == shape, svc, "has no support vectors")
    else:
        fine = type(vectors) is np.ndarray and vectors.dtype == np.float64
        fine = fine and (vectors.shape == shape or (precomputed and vectors.size == 0))
        require(fine, svc, "has support vectors of another shape")
    entries = vectors.data if sparse else vectors
    require(np.isfinite(entries).all(), svc, "has a NaN or infinite value in its support vectors")
    if precomputed:
        indices(svc, "support_", n_support, n_features)
        shape_fit = svc.shape_fit_
        fine = type(shape_fit) is tuple and shape_fit[:1] == (n_features,)
        require(fine, svc, "has no valid shape_fit_")
    for name in ("_dual_coef_", "dual_coef_"):
        _check_dual(svc, name, (n_classes - 1, n_support), sparse)
    for name in ("_intercept_", "intercept_"):
        array(svc, name, (n_pairs,), "f")
    sizes = {len(array(svc, name, (None,), "f")) for name in ("_probA", "_probB")}
    require(sizes in ({0}, {n_pairs}), svc, "has sigmoids of other classes")
    # LIBSVM reads the sigmoids if it is told that there are any. Before scikit-learn 1.9 it is told
    # by the parameter itself.
    told = vars(svc).get("_effective_probability", svc.probability)
    require(type(told) is bool, svc, "has no valid probability")
    require(not told or sizes == {n_pairs}, svc, "has no sigmoids for its probability")
    if "class_weight_" in vars(svc):
        array(svc, "class_weight_", (n_classes,), "f")
    for name in ("_gamma", "coef0", "cache_size"):
        require(is_number(vars(svc).get(name)), svc, f"has a {name} that is not a finite number")
    integer(svc, "degree", 0, 1 << 20)


def _check_dual(svc: Any, name: str, shape: tuple[int, int], sparse: bool) -> None:
    value = vars(svc).get(name)
    if not sparse:
        array(svc, name, shape, "f")
        return
    fine = issparse(value) and value.format == "csr" and value.shape == shape
    # LIBSVM reads the entries as a full matrix.
    fine = fine and value.dtype == np.float64 and len(value.data) == shape[0] * shape[1]
    require(fine, svc, f"has no valid {name}")


def _check_tree(tree: Any) -> None:
    """Check that every path down a tree ends in a leaf, and reads only inputs that exist."""
    from sklearn.tree._tree import Tree

    inner = instance(tree, "tree_", Tree)
    n_classes, n_features = len(labels(tree, 1)), integer(tree, "n_features_in_", 1, MAX_FEATURES)
    count = inner.node_count
    whole = count >= 1 and inner.capacity == count
    require(whole, tree, "does not have as many nodes as it declares")
    sizes = (inner.n_features, inner.n_outputs, inner.max_n_classes, inner.value.shape)
    wanted = (n_features, 1, n_classes, (count, 1, n_classes))
    require(sizes == wanted, tree, "has nodes of other classes or inputs")
    for name, value in (("n_outputs_", 1), ("n_classes_", n_classes)):
        require(vars(tree).get(name) == value, tree, f"has no valid {name}")
    left, right, own = inner.children_left, inner.children_right, np.arange(count)
    leaf = left == -1
    require((right[leaf] == -1).all(), tree, "has a node with one child")
    inside = ~leaf
    # scikit-learn numbers children after their parents, so there are no cycles.
    for child in (left[inside], right[inside]):
        fine = ((child > own[inside]) & (child < count)).all()
        require(fine, tree, "has nodes out of range")
    once = np.bincount(np.concatenate([left[inside], right[inside]]), minlength=count)
    require(once[0] == 0 and (once[1:] == 1).all(), tree, "has nodes out of range")
    asked = inner.feature[inside]
    require(((asked >= 0) & (asked < n_features)).all(), tree, "reads inputs out of range")
    depth, level = -1, np.zeros(1, dtype=int)
    while len(level):
        depth, level = depth + 1, level[inside[level]]
        level = np.concatenate([left[level], right[level]])
    require(inner.max_depth == depth, tree, "does not have the depth that it declares")
    require(np.isfinite(inner.value).all(), tree, "has a NaN or infinite value")


def _check_forest(forest: Any) -> None:
    from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

    trees = instance(forest, "estimators_", list)
    n_classes = len(labels(forest, 1))
    n_features = integer(forest, "n_features_in_", 1, MAX_FEATURES)
    require(len(trees) > 0, forest, "has no trees")
    require(
        forest.n_outputs_ == 1 and forest.n_classes_ == n_classes, forest, "is of other classes"
    )
    for tree in trees:
        known = type(tree) in (DecisionTreeClassifier, ExtraTreeClassifier)
        require(known and "tree_" in vars(tree), forest, "has a tree of another type")
        same = len(tree.classes_) == n_classes and tree.n_features_in_ == n_features
        require(same, forest, "has a tree of other classes or inputs")


def _check_neighbors(knn: Any) -> None:
    brute = vars(knn).get("_fit_method") == "brute" and vars(knn).get("_tree") is None
    require(brute, knn, "has a search tree, which cannot be checked; use algorithm='brute'")
    n_classes, n_features = len(labels(knn)), integer(knn, "n_features_in_", 1, MAX_FEATURES)
    inputs = knn._fit_X
    plain = type(inputs) is np.ndarray or (issparse(inputs) and inputs.format == "csr")
    fine = plain and inputs.dtype.kind == "f" and inputs.ndim == 2
    require(fine and inputs.shape[1] == n_features, knn, "has rows of other inputs")
    entries = inputs.data if issparse(inputs) else inputs
    require(np.isfinite(entries).all(), knn, "has a NaN or infinite value in its rows")
    n_rows = inputs.shape[0]
    indices(knn, "_y", n_rows, n_classes)
    integer(knn, "n_samples_fit_", n_rows, n_rows)
    integer(knn, "n_neighbors", 1, n_rows)
    require(knn.weights in ("uniform", "distance", None), knn, "has no valid weights")
    require(knn.outputs_2d_ is False, knn, "has several outputs")
    for name in ("metric", "effective_metric_"):
        require(vars(knn).get(name) in METRICS, knn, f"has a {name} that is not on the list")
    require(is_number(knn.p) and knn.p >= 1, knn, "has no valid p")
    for name in ("metric_params", "effective_metric_params_"):
        params = vars(knn).get(name) or {}
        fine = type(params) is dict and set(params) <= {"p"}
        fine = fine and all(is_number(p) and p >= 1 for p in params.values())
        require(fine, knn, f"has {name} that are not on the list")


def _check_calibrated_cv(owner: Any) -> None:
    pieces = instance(owner, "calibrated_classifiers_", list)
    require(len(pieces) > 0, owner, "has no classifiers")
    classes = labels(owner)
    for piece in pieces:
        known = type(piece).__name__ == "_CalibratedClassifier"
        require(known, owner, "has a classifier of another type")
        same = np.array_equal(piece.classes, classes)
        same = same and piece.estimator.n_features_in_ == owner.n_features_in_
        require(same, owner, "has a classifier of other classes or inputs")


def _check_calibrated(piece: Any) -> None:
    """Check that a classifier has a calibrator for every column of its scores."""
    classes = vars(piece).get("classes")
    plain = type(classes) is np.ndarray and classes.ndim == 1 and len(classes) > 1
    require(plain, piece, "has no valid classes")
    own: Any = getattr(vars(piece).get("estimator"), "classes_", None)
    require(type(own) is np.ndarray and np.isin(own, classes).all(), piece, "has other classes")
    calibrators = instance(piece, "calibrators", list)
    known = ("_SigmoidCalibration", "IsotonicRegression")
    fine = all(type(one).__name__ in known and _is_fitted(one) for one in calibrators)
    require(fine, piece, "has calibrators that are not on the list")
    wanted = 1 if len(classes) == 2 else len(own)
    require(len(calibrators) == wanted, piece, "has calibrators of other classes")
    require(piece.method in ("sigmoid", "isotonic"), piece, "has no valid method")


def _check_sigmoid(sigmoid: Any) -> None:
    fine = is_number(vars(sigmoid).get("a_")) and is_number(vars(sigmoid).get("b_"))
    require(fine, sigmoid, "has parameters that are not finite numbers")


def _check_isotonic(regression: Any) -> None:
    from scipy.interpolate import interp1d

    # scikit-learn makes it from the thresholds; it is never read from the file.
    instance(regression, "f_", interp1d)
    x, y = (array(regression, name, (None,), "f") for name in ("X_thresholds_", "y_thresholds_"))
    fine = len(x) > 0 and (np.diff(x) >= 0).all() and (y >= 0).all() and (y <= 1).all()
    require(fine, regression, "has thresholds out of order")


def _check_function(transformer: Any) -> None:
    fine = transformer.func is None and transformer.inverse_func is None
    require(fine, transformer, "has a function, which cannot be stored")


CHECKS: dict[str, Callable[[Any], None]] = {
    "LogisticRegression": _check_linear,
    "LinearSVC": _check_linear,
    "RidgeClassifier": _check_linear,
    "LinearDiscriminantAnalysis": _check_linear,
    "SVC": _check_svc,
    "DecisionTreeClassifier": _check_tree,
    "ExtraTreeClassifier": _check_tree,
    "RandomForestClassifier": _check_forest,
    "ExtraTreesClassifier": _check_forest,
    "KNeighborsClassifier": _check_neighbors,
    "OneHotEncoder": check_one_hot,
    "OrdinalEncoder": check_one_hot,
    "TargetEncoder": check_target_encoder,
    "HashingVectorizer": check_hashing,
    "IsotonicRegression": _check_isotonic,
    "CalibratedClassifierCV": _check_calibrated_cv,
    "_CalibratedClassifier": _check_calibrated,
    "_SigmoidCalibration": _check_sigmoid,
    "FunctionTransformer": _check_function,
}
