"""The drop-in for scikit-learn's ``SVC(probability=True)``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .calibration import Platt
from .codes import OneVsOne
from .core.checks import one_of
from .core.diagram import Diagram
from .core.registry import stored
from .core.state import INPUTS, Array, Field, Holds, Indices, Labels, Plain, Sizes, require
from .core.types import FloatArray
from .decoding import PairwiseCoupling
from .machines import SVM
from .pipe.classifier import PolychotomyClassifier


@stored("estimator.probabilistic_svc")
class ProbabilisticSVC(ClassifierMixin, BaseEstimator):
    """Support vector classification with probabilities, in place of ``SVC(probability=True)``.

    One-vs-one machines on one shared Gram matrix, Platt's sigmoid for each, fitted on out-of-fold
    scores, and the coupling of Wu, Lin and Weng: what LIBSVM does, with four differences. Its
    `predict` agrees with its `predict_proba`. The folds are stratified and not random, so that the
    result is repeatable. The linear system of the coupling is solved exactly. The probabilities
    are tempered, which makes them likelier on new rows of most data sets.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the errors.
    kernel : {"rbf", "laplacian", "linear", "poly", "precomputed"} or callable, default="rbf"
        The kernel.
    degree : float, default=3
        The degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        The width of "rbf", ``exp(-gamma |x - z|^2)``, and of "laplacian",
        ``exp(-gamma sum_j |x_j - z_j|)``, and the scale of "poly".
    coef0 : float, default=0.0
        The constant of "poly".
    tol : float, default=1e-3
        How far the optimality conditions may be violated.
    memory_limit : float, default=None
        How many bytes the kernel may take; half of what is free by default. Over it kernel rows
        are computed when they are needed, and as many as the limit allows are kept: it takes the
        place of `cache_size`.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    max_iter : int, default=-1
        The largest number of iterations for a binary problem; -1 for a generous one.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        What `decision_function` returns: a column for every class, or the score of every pair.
    break_ties : bool, default=False
        Taken for compatibility. Classes are predicted by probability, which leaves no ties.
    random_state : int, RandomState or None, default=None
        Taken for compatibility: nothing is random.
    cv : int, splitter or iterable, default=5
        The folds for the sigmoids.
    tempering : "auto", bool, Tempering or None, default="auto"
        The last stage, from class probabilities to better ones; see `Tempering`. None or False
        leaves it out, as in LIBSVM.
    n_jobs : int, default=None
        How many binary problems are trained at once.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_ : ndarray of shape (n_support,)
        The support vectors' row numbers, class by class.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Their inputs.
    n_support_ : ndarray of shape (n_classes,)
        How many each class has.
    dual_coef_ : ndarray of shape (n_classes - 1, n_support)
        Their weights, laid out as by LIBSVM: for a vector of class i, its weight against every
        other class in class order.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        The biases of the pairs.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        How many iterations the pairs took.
    n_features_in_ : int
        The number of inputs.
    classifier_ : PolychotomyClassifier
        The pipe, for `explain`, `binary_scores` and the like.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy import ProbabilisticSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = ProbabilisticSVC(C=10).fit(X, y)
    >>> clf.predict_proba(X[[0, 70]]).round(2)
    array([[1.  , 0.  , 0.  ],
           [0.  , 0.51, 0.49]])
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "classifier_": Holds(PolychotomyClassifier, share="Md"),
        "support_": Indices("s"),
        "support_vectors_": Plain(),
        "n_support_": Indices("M"),
        "dual_coef_": Array("ks"),
        "intercept_": Array("p"),
        "n_iter_": Array("p", "iu"),
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: float = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        memory_limit: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        cv: Any = 5,
        tempering: Any = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.memory_limit = memory_limit
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.cv = cv
        self.tempering = tempering
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the machines and fit the sigmoids.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs; for ``kernel="precomputed"`` the Gram matrix.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        self : ProbabilisticSVC
        """
        one_of(self.decision_function_shape, "decision_function_shape", ("ovr", "ovo"))
        pipe = self._pipe().fit(X, y, sample_weight)
        self.classifier_ = pipe
        self.classes_ = pipe.classes_
        self.n_features_in_ = pipe.n_features_in_
        if hasattr(pipe, "feature_names_in_"):
            self.feature_names_in_ = pipe.feature_names_in_
        self._lay_out(np.searchsorted(self.classes_, np.asarray(y).ravel()))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of largest probability.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "classifier_")
        return self.classifier_.predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes_`.
        """
        check_is_fitted(self, "classifier_")
        p: FloatArray = self.classifier_.predict_proba(X)
        return p

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of every class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        log_p : ndarray of shape (n_rows, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> FloatArray:
        """Return a score of every class, or of every pair of classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        scores : ndarray of shape (n_rows, n_classes), (n_rows, n_pairs) or (n_rows,)
            With ``decision_function_shape="ovr"`` the probabilities of the classes, whose largest
            is the prediction; with "ovo" the scores of the pairs, positive for the first class.
            For two classes one column, positive for the second class.
        """
        check_is_fitted(self, "classifier_")
        if self.decision_function_shape == "ovr":
            scores: FloatArray = self.classifier_.decision_function(X)
            return scores
        pairs = self.classifier_.binary_scores(X)
        return -pairs[:, 0] if len(self.classes_) == 2 else pairs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def check_state(self, sizes: Sizes) -> None:
        """Check that the solution is laid out for all pairs of classes."""
        n_classes = sizes["M"]
        require("decoder_" in vars(self.classifier_), self, "is not fitted")
        same = np.array_equal(self.classifier_.classes_, self.classes_)
        require(same, self, "has a classifier of other classes or inputs")
        whole = self.n_support_.sum() == sizes["s"] and sizes["k"] == n_classes - 1
        require(whole, self, "has other support vectors than it says")
        pairs = sizes["p"] == n_classes * (n_classes - 1) // 2
        require(pairs, self, "has an intercept_ of other classes")
        vectors = getattr(self.support_vectors_, "shape", None) is not None
        require(vectors, self, "has no support vectors")

    def _sk_visual_block_(self) -> Diagram:
        return self._pipe()._sk_visual_block_()

    def _pipe(self) -> PolychotomyClassifier:
        machine = SVM(
            self.C,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            tol=self.tol,
            max_iter=self.max_iter,
            memory_limit=self.memory_limit,
        )
        return PolychotomyClassifier(
            machine,
            OneVsOne(),
            Platt(),
            PairwiseCoupling("wu_lin_weng"),
            tempering=self.tempering,
            cv=self.cv,
            class_weight=self.class_weight,
            n_jobs=self.n_jobs,
        )

    def _lay_out(self, y: NDArray[np.intp]) -> None:
        """Lay out the solution as LIBSVM does: support vectors class by class."""
        fitted = self.classifier_.machines_.fitted
        n_classes = len(self.classes_)
        order = np.lexsort((fitted.support, y[fitted.support]))
        self.support_ = fitted.support[order]
        inputs = fitted.support_inputs
        self.support_vectors_ = np.empty((0, 0)) if inputs is None else inputs[order]
        label = y[self.support_]
        self.n_support_ = np.bincount(label, minlength=n_classes)
        # Two classes: LIBSVM's first class is positive, scikit-learn's second.
        sign = -1.0 if n_classes == 2 else 1.0
        self.intercept_ = sign * fitted.biases
        self.n_iter_ = fitted.iterations
        coefficients = np.zeros((n_classes - 1, len(order)))
        for column, (i, j) in enumerate(zip(*np.triu_indices(n_classes, 1), strict=True)):
            values = sign * fitted.coefficients[order, column]
            coefficients[j - 1, label == i] = values[label == i]
            coefficients[i, label == j] = values[label == j]
        self.dual_coef_ = coefficients
