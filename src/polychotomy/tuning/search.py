"""Choosing machine parameters by cross-validating the multi-class result, in two steps."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..blocks.as_blocks import labels_given
from ..core.checks import whole_number
from ..core.diagram import Diagram, side_by_side
from ..core.registry import stored
from ..core.state import INPUTS, Field, Holds, Labels, Plain
from ..core.types import FloatArray
from ..pipe.classifier import PolychotomyClassifier
from .callbacks import TakesCallbacks, shown, with_callbacks
from .grid import FACTORS
from .steps import TakesExecutor
from .tune import Plan, results_table, tune


def _best_has(name: str) -> Any:
    """Return a check that the best classifier, or the one to be tuned, has a method."""

    def check(search: TwoStepSearchCV) -> bool:
        if hasattr(search, "best_params_") and not hasattr(search, "best_estimator_"):
            raise AttributeError(
                f"This search was made with refit=False; {name} needs a classifier fitted on all "
                "rows. Use refit=True, or fit a classifier with best_params_."
            )
        return hasattr(getattr(search, "best_estimator_", search._estimator()), name)

    return available_if(check)


def _has_folds(search: TwoStepSearchCV) -> bool:
    return bool(search.refit) and hasattr(search._estimator(), "fit_out_of_fold")


@stored("estimator.two_step_search")
class TwoStepSearchCV(TakesCallbacks, ClassifierMixin, MetaEstimatorMixin, TakesExecutor):
    """Search for machine parameters on a coarse and then a fine grid (DUAN03, DUAN05).

    All binary machines share one setting, which is judged by the cross-validated error and
    likelihood of the multi-class result. For every kernel width, all folds, values of C and binary
    problems of a kernel machine read one Gram matrix. No row is scored by a machine, calibrator or
    decoder that has seen it.

    A kernel machine with ``landmarks="auto"`` is searched on a sample of 5,000 rows (or
    `max_rows`), if there are more, and then fitted on all rows. `cv` must be a number for that, or
    a list of folds, of which the rows of the sample remain.

    Parameters
    ----------
    estimator : PolychotomyClassifier, default=None
        The classifier to tune; by default one with default parts.
    coarse : dict, default=None
        The values to try for parameters of the machine, such as
        ``{"machine__C": [0.1, 1, 10]}``. By default ``10^-3, ..., 10^3`` for C and, for a Gaussian
        kernel, for sigma2; nothing for machines that choose their own parameters (``LSSVM()``).
        With an empty dict, the machine keeps its parameters.
    fine : sequence of float, dict or None, default=(.2, .4, .6, .8, 1, 2, 4, 6, 8)
        Factors by which the best coarse values are multiplied in the second step, for all
        parameters or for each by its name; None for no second step.
    cv : int, splitter or iterable, default=None
        The folds; by default those of the estimator. Every row must be tested exactly once. A
        number means stratified folds by content, as in `PolychotomyClassifier`.
    ties : {"duan2003", "duan2005", "nll"}, default="duan2003"
        The rules that decide between cells, in order. "duan2003": least error; least NLL, if
        there are probabilities; a cell is dropped if another has no larger C and no smaller
        sigma2; least mean error, then least mean NLL of the 8 surrounding cells; smallest C.
        "duan2005": least error; least NLL; largest sigma2; smallest C. "nll": least NLL, then as
        "duan2005".
    refit : bool, default=True
        Whether to fit a classifier on all rows with the best parameters. Its calibrator and decoder
        are fitted on the out-of-fold scores that the search has already computed.
    n_jobs : int, default=None
        How many binary problems are trained at once; by default that of the estimator.
    executor : distributed.Client, str or Executor, default=None
        Where the cells are judged: None is this process, with `n_jobs` threads. On a Dask cluster,
        given by a client or the address of its scheduler such as ``"tcp://10.0.0.1:8786"``, or by
        an executor of `polychotomy.execution`, each worker has one kernel width at a time, in one
        thread. The result does not depend on it, to the last bit. The last fit is here.
    max_rows : int, default=None
        The size of the sample for machines with ``landmarks="auto"``; 5,000 by default. Every
        class has at least 20 rows in it, if there are as many.
    show_progress : bool, default=True
        Whether to show progress bars on a terminal.

    Attributes
    ----------
    best_estimator_ : PolychotomyClassifier
        The classifier with the best parameters, fitted on all rows (if `refit`).
    best_params_ : dict
        The best parameters.
    best_score_ : float
        The cross-validated accuracy of the best parameters.
    best_index_ : int
        The position of the best parameters in `cv_results_`.
    cv_results_ : dict of arrays
        All cells, in the form of scikit-learn's searches: the parameters ("param_machine__C",
        ...; "params"), the "step", accuracies ("mean_test_score" over all rows,
        "split0_test_score", ..., "std_test_score", "rank_test_score"), "cv_error", "cv_nll" (NaN
        without probabilities), and "status": "ok", or the reason for the failure. It can be turned
        into a ``pandas.DataFrame``.
    n_splits_ : int
        The number of folds.
    refit_time_ : float
        The seconds that the last fit took.
    seconds_ : dict
        The seconds spent in each stage, added over all workers, and in total.
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    Notes
    -----
    Cells in which the solver does not converge, or training fails, are skipped, with one warning
    for all. The fine step is solved along C in runs that start at coarse values, so that the
    figures of a cell do not depend on which coarse cell was best.

    The search does not scale the inputs. To scale them, put it behind a scaler,
    ``make_pipeline(StandardScaler(), TwoStepSearchCV())``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from polychotomy import TwoStepSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = TwoStepSearchCV()
    >>> clf = make_pipeline(StandardScaler(), search).fit(X[::2], y[::2])
    >>> search.best_params_
    {'machine__C': 20.0, 'machine__sigma2': 1.0}
    >>> round(clf.score(X[1::2], y[1::2]), 2)
    0.93
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "cv_results_": Plain(),
        "best_params_": Plain(),
        "best_index_": Plain(),
        "best_score_": Plain(),
        "best_estimator_": Holds(PolychotomyClassifier, share="Md", optional=True),
        "n_splits_": Plain(),
        "seconds_": Plain(),
        "refit_time_": Plain(),
    }

    later_parameters: ClassVar[dict[str, Any]] = {"executor": None, "max_rows": None}

    def __init__(
        self,
        estimator: PolychotomyClassifier | None = None,
        coarse: Mapping[str, Any] | None = None,
        fine: Any = FACTORS,
        *,
        cv: Any = None,
        ties: str = "duan2003",
        refit: bool = True,
        n_jobs: int | None = None,
        executor: Any = None,
        max_rows: int | None = None,
        show_progress: bool = True,
    ) -> None:
        self.estimator = estimator
        self.coarse = coarse
        self.fine = fine
        self.cv = cv
        self.ties = ties
        self.refit = refit
        self.n_jobs = n_jobs
        self.executor = executor
        self.max_rows = max_rows
        self.show_progress = show_progress

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Search, and fit a classifier with the best parameters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows, in training and in the figures.
        **fit_params : dict
            As for `PolychotomyClassifier.fit`.

        Returns
        -------
        self : TwoStepSearchCV
        """
        y = labels_given(self, X, y)
        self._search(X, y, sample_weight, fit_params)
        return self

    @available_if(_has_folds)
    def fit_out_of_fold(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> FloatArray | None:
        """Search and fit as `fit` does, without tempering; return out-of-fold probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.
        **fit_params : dict
            As in `fit`.

        Returns
        -------
        p : ndarray of shape (n_used_rows, n_classes)
            As `PolychotomyClassifier.fit_out_of_fold`, with the best parameters.
        """
        return self._search(X, y, sample_weight, fit_params, keep_out_of_fold=True)

    def _search(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        fit_params: dict[str, Any],
        keep_out_of_fold: bool = False,
    ) -> FloatArray | None:
        start = perf_counter()
        most = None if self.max_rows is None else whole_number(self.max_rows, "max_rows", 2)
        with shown(self, self.show_progress, X, y) as tick:
            plan = Plan(
                self.coarse,
                self.fine,
                self.cv,
                self.n_jobs,
                self.refit,
                tick,
                keep_out_of_fold=keep_out_of_fold,
                executor=self.executor,
                max_rows=most,
            )
            classifiers = {"the estimator": (self._estimator(), self.ties)}
            (tuned,) = tune(classifiers, X, y, sample_weight, fit_params, plan).values()
        self.cv_results_ = results_table(tuned)
        self.best_params_ = tuned.best_params
        self.best_index_ = self.cv_results_["params"].index(self.best_params_)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.n_splits_ = len(tuned.sweep.splits)
        self.seconds_ = {
            **tuned.sweep.seconds,
            "decoder": tuned.method.seconds,
            "total": perf_counter() - start,
        }
        self.refit_time_ = tuned.sweep.seconds.get("last fit", 0.0)
        found = tuned.method.classifier
        self.classes_ = tuned.method.session.classes
        self.n_features_in_ = found.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(found, "feature_names_in_"):
            self.feature_names_in_ = found.feature_names_in_
        self.__dict__.pop("best_estimator_", None)
        if tuned.classifier is not None:
            self.best_estimator_ = tuned.classifier
        return tuned.out_of_fold

    @_best_has("predict")
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row with the best parameters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        return self._best().predict(X)

    @_best_has("predict_proba")
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class with the best parameters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
        """
        p: FloatArray = self._best().predict_proba(X)
        return p

    @_best_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of every class with the best parameters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        log_p : ndarray of shape (n_rows, n_classes)
        """
        log_p: FloatArray = self._best().predict_log_proba(X)
        return log_p

    @_best_has("decision_function")
    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of every class with the best parameters; the largest wins.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        scores : ndarray of shape (n_rows, n_classes) or (n_rows,)
        """
        scores: FloatArray = self._best().decision_function(X)
        return scores

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata goes where.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(
            estimator=self._estimator(),
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = get_tags(self._estimator()).input_tags
        tags.input_tags.sparse = own.sparse
        tags.input_tags.pairwise = own.pairwise
        tags.input_tags.allow_nan = own.allow_nan
        return tags

    def expected_seconds(self, n_rows: int) -> float:
        """Estimate how long fitting takes on one core; see `PolychotomyClassifier`."""
        return self._estimator().expected_seconds(n_rows)

    def _sk_visual_block_(self) -> Diagram:
        if hasattr(self, "best_estimator_"):
            return side_by_side([("best_estimator_", self.best_estimator_)])
        return side_by_side([("estimator", self._estimator())])

    def _estimator(self) -> PolychotomyClassifier:
        return PolychotomyClassifier() if self.estimator is None else self.estimator

    def _best(self) -> PolychotomyClassifier:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_
