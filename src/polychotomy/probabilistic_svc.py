"""The drop-in for scikit-learn's ``SVC(probability=True)``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from .blocks.as_blocks import labels_given
from .calibration import Platt
from .codes import OneVsOne
from .core.answers import ProbabilityAnswers
from .core.checks import check_sparse, one_of
from .core.diagram import Diagram
from .core.registry import stored
from .core.state import (
    INPUTS,
    Array,
    Field,
    Holds,
    Indices,
    Inputs,
    Labels,
    Plain,
    Sizes,
    Whole,
    require,
)
from .core.types import FloatArray
from .core.weights import refuse_mixed_labels, row_weights
from .decoding import PairwiseCoupling
from .kernels import dense, kernel_class
from .machines import SVM
from .machines.auto import MOST_EXACT_ROWS
from .machines.kernel_machine import KERNEL_PARAMETERS, LANDMARK_PARAMETERS
from .machines.parameters import (
    FLAG,
    NOTHING,
    Rule,
    check_parameters,
    instance_of,
    number,
    one_of_these,
    whole,
)
from .pipe.classifier import PolychotomyClassifier
from .pipe.fitted_attributes import pipe_of

_RULES: Mapping[str, Rule] = {
    **{name: rule for name, rule in KERNEL_PARAMETERS.items() if name != "sigma2"},
    **{n: rule for n, rule in SVM.own_parameters.items() if n not in LANDMARK_PARAMETERS},
    "class_weight": one_of_these("balanced")
    | Rule("an instance of 'dict'", lambda value: isinstance(value, Mapping))
    | NOTHING,
    "break_ties": FLAG,
    "random_state": whole(0) | instance_of(np.random.RandomState) | NOTHING,
    "n_jobs": instance_of(int, np.integer) | NOTHING,
    "shrinking": FLAG,
    "cache_size": number(0.0),
    "verbose": FLAG | whole(0),
    "landmarks": LANDMARK_PARAMETERS["landmarks"],
}
# The coefficients of this many pairs are laid out at once.
PAIRS_AT_ONCE = 4096
# Parameters that the first version did not have, and files of it do not name.
_LATER: Mapping[str, Any] = {
    "shrinking": True,
    "probability": True,
    "cache_size": 200,
    "verbose": False,
    "landmarks": None,
}


@stored("estimator.probabilistic_svc")
class ProbabilisticSVC(ProbabilityAnswers, ClassifierMixin, BaseEstimator):
    """Support vector classification with probabilities, in place of ``SVC(probability=True)``.

    One-vs-one machines on one shared Gram matrix, Platt's sigmoid for each, fitted on out-of-fold
    scores, and the coupling of Wu, Lin and Weng: what LIBSVM does, with four differences. Its
    `predict` agrees with its `predict_proba`. The folds are stratified and not random, so that the
    result is repeatable. The linear system of the coupling is solved exactly. The probabilities
    are tempered, which makes them likelier on new rows of most data sets.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the errors; infinity is the hard margin, for problems that have one.
    kernel : str or callable, default="rbf"
        The kernel: "rbf", "laplacian", "linear", "poly", "sigmoid", "precomputed", or a function,
        called with two matrices. If the rows given to `fit` are no vectors of numbers (strings,
        say), it is called with these rows as they are, and all of them are kept.
    degree : float, default=3
        The degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        The width of "rbf", ``exp(-gamma |x - z|^2)``, and of "laplacian",
        ``exp(-gamma sum_j |x_j - z_j|)``, and the scale of "poly" and "sigmoid".
    coef0 : float, default=0.0
        The constant of "poly" and "sigmoid".
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
        The folds for the sigmoids. A number means stratified folds by what the rows hold, so
        that the order of the rows does not matter.
    tempering : "auto", bool, Tempering or None, default="auto"
        The last stage, from class probabilities to better ones; see `Tempering`. None or False
        leaves it out, as in LIBSVM.
    n_jobs : int, default=None
        How many binary problems are trained at once.
    shrinking : bool, default=True
        Taken for compatibility. The solution is the same with and without.
    probability : True, default=True
        Taken for compatibility: there are always probabilities. ("deprecated", scikit-learn's
        default since 1.9, is True here.)
    cache_size : float, default=200
        Taken for compatibility; see `memory_limit`.
    verbose : bool or int, default=False
        Taken for compatibility: nothing is printed.
    landmarks : int, "auto" or None, default="auto"
        The number of landmarks, in whose features the machines are trained; None is SVC's exact
        solution. "auto" is exact up to 100,000 rows. Beyond, where the exact solution takes hours,
        it chooses a number on a sample, except for kernels that have no landmarks ("precomputed",
        "sigmoid") or need none ("linear"). With landmarks, the support vectors are the landmarks,
        and `dual_coef_` has a row for every pair of classes.

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
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_support)
        Their weights, laid out as by LIBSVM: for a vector of class i, its weight against every
        other class in class order. Sparse if X was.
    coef_ : ndarray or sparse matrix of shape (n_pairs, n_features)
        The weights of the inputs, for a linear kernel only.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        The biases of the pairs.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        How many iterations the pairs took.
    fit_status_ : int
        0, or 1 if a pair took as many iterations as `max_iter` allows.
    class_weight_ : ndarray of shape (n_classes,)
        The factor of C for every class.
    probA_, probB_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Platt's sigmoids, as LIBSVM has them: the probability of the first class of a pair is
        ``1 / (1 + exp(probA_ f + probB_))``, where f is the score of the pair that is positive for
        the first class, for two classes too.
    shape_fit_ : tuple
        The shape of the X of `fit`.
    n_features_in_ : int
        The number of inputs; not there if rows are no vectors of numbers.
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
           [0.  , 0.53, 0.47]])
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "classifier_": Holds(PolychotomyClassifier, share="Md"),
        "support_": Indices("s"),
        "support_vectors_": Plain(),
        "n_support_": Indices("M"),
        "dual_coef_": Inputs("ks"),
        "intercept_": Array("p"),
        "n_iter_": Array("p", "iu"),
        "fit_status_": Whole(0, 1, optional=True),
        "class_weight_": Array("M", above=0.0, optional=True),
        "shape_fit_": Plain(optional=True),
        # Rows that are no vectors of numbers, for a kernel that is a function.
        "_rows": Plain(optional=True),
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
        shrinking: bool = True,
        probability: bool | str = True,
        cache_size: float = 200,
        verbose: bool | int = False,
        landmarks: int | str | None = "auto",
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
        self.shrinking = shrinking
        self.probability = probability
        self.cache_size = cache_size
        self.verbose = verbose
        self.landmarks = landmarks

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Train the machines and fit the sigmoids.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs; for ``kernel="precomputed"`` the Gram matrix.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.
        **fit_params : dict
            `groups`, for a splitter `cv` that takes them; with scikit-learn's metadata routing
            enabled, whatever the splitter requests.

        Returns
        -------
        self : ProbabilisticSVC
        """
        y = labels_given(self, X, y)
        before = dict(self.__dict__)
        try:
            self._check_parameters()
            self._check_fit_params(sample_weight, fit_params)
            self._fit(X, y, sample_weight, fit_params)
        except BaseException:
            # An error or Ctrl-C in the middle must not leave half of a new fit in an old one.
            self.__dict__ = before
            raise
        return self

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
        return self._class_scores(X)

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
        if self.decision_function_shape == "ovr":
            scores = self._class_scores(X)
            return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores
        pipe = self._fitted_pipe()
        pairs: FloatArray = pipe.machines_.margins(self._checked(X), False, pipe.n_jobs).mean
        return -pairs[:, 0] if len(self.classes_) == 2 else pairs

    @property
    def coef_(self) -> Any:
        """The weights of the inputs for every pair of classes, for a linear kernel only."""
        if not isinstance(self.kernel, str) or self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        fitted = self._fitted_machines("coef_")
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        # The attributes cannot be set, so that nobody expects other predictions of other values.
        if issparse(fitted.support_inputs):
            weights = type(fitted.support_inputs)(sign * fitted.coefficients.T)
            sparse = weights @ fitted.support_inputs
            sparse.data.flags.writeable = False
            return sparse
        coef = sign * (fitted.coefficients.T @ fitted.support_inputs)
        coef.flags.writeable = False
        return coef

    @property
    def probA_(self) -> FloatArray:
        """The slopes of Platt's sigmoids, with LIBSVM's sign."""
        self._fitted_machines("probA_")
        slopes: FloatArray = self.classifier_.calibrator_.slopes_
        return slopes

    @property
    def probB_(self) -> FloatArray:
        """The intercepts of Platt's sigmoids, with LIBSVM's sign."""
        self._fitted_machines("probB_")
        intercepts: FloatArray = self.classifier_.calibrator_.intercepts_
        return intercepts

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata goes where: weights here, groups to a splitter `cv`.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        if hasattr(self.cv, "get_metadata_routing"):
            router.add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        return router

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({**_LATER, **state})

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
        n_pairs = n_classes * (n_classes - 1) // 2
        whole = self.n_support_.sum() == sizes["s"] and sizes["k"] in (n_classes - 1, n_pairs)
        require(whole, self, "has other support vectors than it says")
        pairs = sizes["p"] == n_pairs
        require(pairs, self, "has an intercept_ of other classes")
        vectors = getattr(self.support_vectors_, "shape", None) is not None
        require(vectors, self, "has no support vectors")

    def _sk_visual_block_(self) -> Diagram:
        return self._pipe(self.kernel)._sk_visual_block_()

    def _check_parameters(self) -> None:
        one_of(self.decision_function_shape, "decision_function_shape", ("ovr", "ovo"))
        kernel_class(self.kernel)
        if isinstance(self.gamma, str):
            one_of(self.gamma, "gamma", ("scale", "auto"))
        check_parameters(self, _RULES)
        named = isinstance(self.probability, str) and self.probability == "deprecated"
        if not named and not (isinstance(self.probability, bool | np.bool_) and self.probability):
            raise ValueError(
                "The 'probability' parameter of ProbabilisticSVC must be True: probabilities are "
                f"what it is for. Got {self.probability!r} instead. For the machines and their "
                "votes alone use PolychotomyClassifier(SVM(), decoder='max_wins')."
            )

    def _check_fit_params(self, sample_weight: Any, fit_params: dict[str, Any]) -> None:
        if get_config()["enable_metadata_routing"]:
            given = {} if sample_weight is None else {"sample_weight": sample_weight}
            if given or fit_params:
                # The pipe routes them again; here they are refused in the name of this class.
                process_routing(self, "fit", **given, **fit_params)
            return
        unknown = sorted(set(fit_params) - {"groups"})
        if unknown:
            raise TypeError(
                f"ProbabilisticSVC.fit() got an unexpected keyword argument {unknown[0]!r}"
            )

    def _fit(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> None:
        refuse_mixed_labels(y)
        for name in ("_rows", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if callable(self.kernel) and not _is_table(X):
            check_consistent_length(X, y)
            self._rows = X
            X = self._kernel_with_rows(X)
            pipe = self._pipe("precomputed")
            self.shape_fit_ = getattr(self._rows, "shape", (len(self._rows),))
        else:
            check_sparse(X)
            checked, y = validate_data(self, X, y, accept_sparse="csr")
            pipe = self._pipe(self.kernel, self._landmarks(checked.shape[0]))
            self.shape_fit_ = checked.shape
        self.classifier_ = pipe.fit(X, y, sample_weight, **fit_params)
        self.classes_ = pipe.classes_
        labels = np.searchsorted(self.classes_, np.asarray(y).ravel())
        self._lay_out(labels, issparse(X))
        limit = self.max_iter
        if limit == -1:
            limit = max(10_000_000, 100 * len(labels))
        self.fit_status_ = int((self.n_iter_ >= limit).any())
        self.class_weight_ = self._class_weight(sample_weight, labels)

    def _class_weight(self, sample_weight: Any, y: NDArray[np.intp]) -> FloatArray:
        """Return the factors of the classes that reached the machines."""
        rows = np.empty((len(y), 0))
        own = row_weights(sample_weight, None, rows, y, self.classes_)
        both = row_weights(sample_weight, self.class_weight, rows, y, self.classes_)
        factors = np.ones(len(self.classes_))
        if both is not None and self.class_weight is not None:
            own = np.ones(len(y)) if own is None else own
            used = np.flatnonzero(own)
            factors[y[used]] = both[used] / own[used]
        return factors

    def _fitted_pipe(self) -> PolychotomyClassifier:
        check_is_fitted(self, "classifier_")
        return self.classifier_

    def _class_scores(self, X: Any) -> FloatArray:
        pipe = self._fitted_pipe()
        X = self._checked(X)
        if not pipe.is_ready:
            raise NotFittedError(
                "With cv='prefit' only the machines are trained in fit; call "
                "classifier_.calibrate(X, y) with rows that they did not see."
            )
        # Past the checks of `pipe`, which would speak, and warn once more, in another name.
        return pipe_of(pipe).class_scores(X, pipe.n_jobs)

    def _checked(self, X: Any) -> Any:
        """Return new rows in the form that the machines take."""
        if getattr(self, "_rows", None) is not None:
            return self._kernel_with_rows(X)
        check_sparse(X)
        return validate_data(self, X, reset=False, accept_sparse="csr")

    def _kernel_with_rows(self, X: Any) -> FloatArray:
        kernel = dense(self.kernel(X, self._rows))
        n_rows = len(self._rows)
        if kernel.ndim != 2 or kernel.shape[1] != n_rows:
            raise ValueError(
                f"The kernel must return a matrix with a column for each of the {n_rows} training "
                f"rows; it has returned an array of shape {kernel.shape}."
            )
        return kernel

    def _fitted_machines(self, name: str) -> Any:
        if "classifier_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before fit.")
        return self.classifier_.machines_.fitted

    def _landmarks(self, n_rows: int) -> Any:
        """Return the parameter of the machine; None where "auto" is exact."""
        if not isinstance(self.landmarks, str):
            return self.landmarks
        kind = kernel_class(self.kernel)
        without = kind.is_precomputed or kind.is_indefinite or kind.is_linear
        return None if n_rows <= MOST_EXACT_ROWS or without else "auto"

    def _pipe(self, kernel: Any, landmarks: Any = None) -> PolychotomyClassifier:
        machine = SVM(
            self.C,
            kernel=kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            tol=self.tol,
            max_iter=self.max_iter,
            memory_limit=self.memory_limit,
            landmarks=landmarks,
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

    def _lay_out(self, y: NDArray[np.intp], sparse: bool) -> None:
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
        if self.classifier_.machine.landmarks is not None:
            # A landmark has a weight for every pair, not only for those of its class.
            self.dual_coef_: Any = sign * fitted.coefficients.T[:, order]
            return
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        classes = np.triu_indices(n_classes, 1)
        coefficients = np.zeros((n_classes - 1, len(order)))
        every = csc_array(fitted.coefficients)
        # Some pairs at a time: the indices take more memory than the entries.
        for start in range(0, every.shape[1], PAIRS_AT_ONCE):
            entries = every[:, start : start + PAIRS_AT_ONCE].tocoo()
            column = place[entries.row]
            first, second = (each[start + entries.col] for each in classes)
            # A row of class k has its coefficient against class l in row l, or l - 1 if l > k.
            line = np.where(label[column] == first, second - 1, first)
            coefficients[line, column] = sign * entries.data
        self.dual_coef_ = coefficients
        if sparse and inputs is not None:
            self.dual_coef_ = type(inputs)(coefficients)


def _is_table(X: Any) -> bool:
    """Say whether rows are vectors of numbers."""
    if issparse(X):
        return True
    try:
        values = np.asarray(X)
    except ValueError:  # rows of several lengths
        return False
    if values.ndim != 2:
        return False
    if values.dtype.kind in "biuf":
        return True
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return values.dtype.kind == "O"
