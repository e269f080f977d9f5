"""C and sigma2 of every binary machine, chosen for its own problem."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..core.checks import weight_array
from ..core.registry import stored
from ..core.state import INPUTS, Field, Instance, IsA, Labels
from ..core.types import FloatArray
from ..machines import SVM
from ..pipe.classifier import PolychotomyClassifier
from .grid import FACTORS
from .search import TwoStepSearchCV


def _has_probabilities(search: MachineSearchCV) -> bool:
    return hasattr(search.binary_machine(), "predict_proba")


@stored("estimator.machine_search")
class MachineSearchCV(ClassifierMixin, BaseEstimator):
    """A binary machine that searches its own parameters, by the error of its own problem.

    The papers share one C and one sigma2 among all machines of a method, chosen for the
    multi-class result, as `TwoStepSearchCV` does. "An alternative is to choose the C and sigma2 of
    each binary classifier to minimize the generalization error of that binary classification
    problem" (DUAN05, footnote 3): wrap the machine in this class.

    Note: a search inside every machine, not a mode of `TwoStepSearchCV`. The machines do not know
    each other, so that there is no table of cells of the whole method to choose from, and any
    code, calibrator and decoder can be put behind it. It costs more: machines of one kernel width
    no longer share a Gram matrix, and calibrators search again in every fold, because a row must
    not have a say in the parameters of the machine that scores it.

    Parameters
    ----------
    machine : SVM, KernelLogisticRegression or LSSVM, default=None
        The machine; `SVM` by default.
    coarse : dict, default=None
        The parameters of the machine with their values; by default C and, for the Gaussian
        kernel, sigma2, from 0.001 to 1000.
    fine : sequence of float, dict or None, default=(.2, .4, .6, .8, 1, 2, 4, 6, 8)
        As for `TwoStepSearchCV`.
    cv : int or splitter, default=5
        The folds of the search.
    ties : {"duan2003", "duan2005", "nll"}, default="duan2003"
        As for `TwoStepSearchCV`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two classes.
    machine_ : estimator
        The machine with the best parameters, fitted to all rows.
    best_params_ : dict
        Its parameters; empty if no class has two rows, so that nothing can be held out.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from polychotomy import MachineSearchCV, PolychotomyClassifier, SVM
    >>> X, y = load_wine(return_X_y=True)
    >>> machine = MachineSearchCV(SVM(), fine=None)
    >>> clf = PolychotomyClassifier(machine, decoder="max_wins").fit(scale(X), y)
    >>> for each in clf.estimators_:
    ...     print(each.best_params_)
    {'C': 10.0, 'sigma2': 10.0}
    {'C': 10.0, 'sigma2': 1000.0}
    {'C': 100.0, 'sigma2': 1000.0}
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "machine_": IsA(BaseEstimator),
        "best_params_": Instance(dict),
    }

    def __init__(
        self,
        machine: Any = None,
        coarse: Mapping[str, Any] | None = None,
        fine: Any = FACTORS,
        *,
        cv: Any = 5,
        ties: str = "duan2003",
    ) -> None:
        self.machine = machine
        self.coarse = coarse
        self.fine = fine
        self.cv = cv
        self.ties = ties

    def binary_machine(self) -> Any:
        """Return the machine that is tuned."""
        return SVM() if self.machine is None else self.machine

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Search the parameters, and fit the machine with the best ones to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The two classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows, in training and in the figures.

        Returns
        -------
        self : MachineSearchCV
        """
        machine = clone(self.binary_machine())
        self.best_params_ = self._searched(machine, X, y, sample_weight)
        self.machine_ = machine.set_params(**self.best_params_).fit(X, y, sample_weight)
        self.classes_ = self.machine_.classes_
        self.n_features_in_ = self.machine_.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(self.machine_, "feature_names_in_"):
            self.feature_names_in_ = self.machine_.feature_names_in_
        return self

    def _searched(
        self, machine: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> dict[str, Any]:
        labels = np.asarray(y)
        if sample_weight is not None:
            # Rows of weight 0 cannot be held out either.
            labels = labels[weight_array(sample_weight, len(labels)) > 0]
        values, counts = np.unique(labels, return_counts=True)
        if len(values) != 2 or counts.max() < 2:
            return {}  # the machine itself says what is wrong with the classes
        # Probabilities break ties between cells of equal error, where the machine has them.
        decoder = "pairwise_coupling" if hasattr(machine, "predict_proba") else "max_wins"
        coarse = self.coarse
        if coarse is not None:
            coarse = {f"machine__{name}": grid for name, grid in coarse.items()}
        fine = self.fine
        if isinstance(fine, Mapping):
            fine = {f"machine__{name}": factors for name, factors in fine.items()}
        search = TwoStepSearchCV(
            PolychotomyClassifier(machine, calibrator="none", decoder=decoder),
            coarse,
            fine,
            cv=self.cv,
            ties=self.ties,
            refit=False,
            show_progress=False,
        )
        with warnings.catch_warnings():
            # Small classes and single cells; about the final machine it warns itself.
            warnings.simplefilter("ignore", UserWarning)
            search.fit(X, y, sample_weight)
        return {name.removeprefix("machine__"): v for name, v in search.best_params_.items()}

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        return self._fitted().predict(X)  # type: ignore[no-any-return]

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of every row; positive for the second class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
        """
        return self._fitted().decision_function(X)  # type: ignore[no-any-return]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of the two classes, if the machine has probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, 2)
        """
        return self._fitted().predict_proba(X)  # type: ignore[no-any-return]

    def _fitted(self) -> Any:
        check_is_fitted(self, "machine_")
        return self.machine_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = get_tags(self.binary_machine())
        tags.classifier_tags.multi_class = False
        tags.input_tags = own.input_tags
        return tags
