"""Probabilities for new rows whose classes come in other proportions."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..core.registry import stored
from ..core.state import Array, Field, Holds, Whole
from ..core.types import FloatArray
from ..tempering import Tempering
from .base import DecisionClassifier
from .held_out import HeldOut, Rows, warn_few
from .inputs import class_probabilities, share
from .shift import ShiftEstimate, ShiftReference, estimate_shift, reweighted, shift_reference


@stored("decision.label_shift")
class LabelShift(DecisionClassifier):
    """Adapt the class probabilities to the class frequencies of new, unlabelled rows.

    `fit` learns from labelled rows. `adapt` estimates the class frequencies of unlabelled rows
    (by EM), tests whether they differ from those of the training rows, and if they do, all
    further probabilities are reweighted by the ratio of new to old frequencies.

    Parameters
    ----------
    estimator : classifier
        Any classifier with `predict_proba`. One that is fitted already is given as
        ``FrozenEstimator(classifier)``; the rows given to `fit` are then held-out rows, whose
        class frequencies must be those of the training rows.
    tempering : bool, default=True
        Whether the probabilities are tempered first, on held-out rows. The estimate needs
        calibrated probabilities.
    level : float, default=0.05
        The probabilities are reweighted if the test finds a shift at this level; 1 for always.
    prior_rows : float, default=1
        How many rows for each class, with the training frequencies, are counted with the new
        rows, so that no class vanishes altogether. 0 is plain maximum likelihood.
    cv : int, splitter, iterable or None, default=None
        The folds of held-out rows. None: the out-of-fold probabilities that classifiers of this
        library have anyway, five folds for any other.
    n_jobs : int, default=None
        How many folds are fitted at once.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    tempering_ : Tempering or None
        The fitted tempering.
    training_frequencies_ : ndarray of shape (n_classes,)
        The class frequencies of the training rows.
    frequencies_ : ndarray of shape (n_classes,)
        Those that the probabilities are for: of the training rows, until `adapt` finds others.
    shift_ : ShiftEstimate
        What `adapt` found: both estimates, and the p-value of the test.
    n_features_in_ : int
        The number of inputs, if the classifier has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.

    Notes
    -----
    It holds for *label shift*: the rows of each class look as before, only their shares have
    changed. If the rows themselves look different, the estimate means little. The estimate from
    the confusion matrix, ``shift_.check``, then tends to differ, and `adapt` warns.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori
    probabilities: a simple procedure; Alexandari, Kundaje and Shrikumar (2020), Maximum likelihood
    with bias-corrected calibration is hard-to-beat at label shift adaptation, for tempering first.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from polychotomy.decisions import LabelShift
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LabelShift(LogisticRegression(max_iter=1000)).fit(X[::2], y[::2])
    >>> new = np.concatenate([X[1:20:2], X[51:100:2]])  # classes 0 and 1 only, 2 : 5
    >>> model.adapt(new).frequencies_.round(2)
    array([0.29, 0.68, 0.03])
    >>> model.shift_.p_value < 0.001
    True
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        "tempering_": Holds(Tempering, share="M", optional=True),
        "training_frequencies_": Array("M", above=0.0),
        "frequencies_": Array("M", at_least=0.0),
        "held_out_mean_": Array("M", at_least=0.0),
        "held_out_covariance_": Array("MM"),
        "confusion_": Array("MM", at_least=0.0),
        "n_held_out_": Whole(1),
        "shift_": Holds(ShiftEstimate, share="M", optional=True),
    }

    def __init__(
        self,
        estimator: Any,
        *,
        tempering: bool = True,
        level: float = 0.05,
        prior_rows: float = 1.0,
        cv: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.tempering = tempering
        self.level = level
        self.prior_rows = prior_rows
        self.cv = cv
        self.n_jobs = n_jobs

    def _fit_rows(self, rows: Rows) -> None:
        self._level()
        self.estimator_, held_out = rows.fit_held_out(self.cv, self.n_jobs)
        self._learn(held_out, len(rows.classes))

    def _learn(self, held_out: HeldOut, n_classes: int) -> None:
        self.__dict__.pop("shift_", None)
        p, tempering = held_out.p, None
        if self.tempering:
            tempering = Tempering().fit(p, held_out.y, held_out.weights)
            p = tempering.transform(p)
        sizes = np.bincount(held_out.y, held_out.weights, n_classes).astype(float)
        # A class whose rows all have no weight would have no ratio.
        sizes = np.maximum(sizes, 1e-9)
        reference = shift_reference(p, held_out.y, sizes / sizes.sum())
        self.tempering_ = tempering
        self.training_frequencies_ = reference.frequencies
        self.frequencies_ = reference.frequencies.copy()
        self.held_out_mean_, self.held_out_covariance_ = reference.mean, reference.covariance
        self.confusion_, self.n_held_out_ = reference.confusion, reference.n_rows

    @classmethod
    def of_held_out(cls, held_out: HeldOut, classes: NDArray[Any]) -> Self:
        """Return one for probabilities alone: it has no classifier.

        Parameters
        ----------
        held_out : HeldOut
            The probabilities of held-out rows.
        classes : ndarray of shape (n_classes,)
            The class labels.

        Returns
        -------
        shift : LabelShift
            With `tempered`, `adapt_probabilities` and `adapted`.
        """
        shift = cls(None)
        shift.classes_ = classes
        shift._learn(held_out, len(classes))
        return shift

    def adapt(self, X: Any) -> Self:
        """Estimate the class frequencies of unlabelled rows, and use them from now on.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs of rows from where the classifier will be used.

        Returns
        -------
        self : LabelShift
        """
        return self.adapt_probabilities(self.unadapted_proba(X))

    def adapt_probabilities(self, p: Any) -> Self:
        """Do as `adapt` does, with the probabilities that `unadapted_proba` gave.

        Parameters
        ----------
        p : array-like of shape (n_rows, n_classes)
            The probabilities; an array that is mapped from a file is read in blocks.

        Returns
        -------
        self : LabelShift
        """
        check_is_fitted(self, "training_frequencies_")
        found = estimate_shift(p, self._reference(), self.prior_rows * len(self.classes_))
        shifted = found.p_value < self._level() or self._level() >= 1.0
        self.shift_ = found
        old = self.training_frequencies_
        self.frequencies_ = found.frequencies.copy() if shifted else old.copy()
        if shifted and not found.agrees:
            k = int(np.argmax(np.abs(found.frequencies - found.check) / (found.check_error + 1e-9)))
            warn_few(
                "More than the class frequencies may have changed: the share of class "
                f"{self.classes_.tolist()[k]!r} is {found.frequencies[k]:.3f} by maximum "
                f"likelihood, but {found.check[k]:.3f} by the confusion matrix. Check some new "
                "rows by hand before you rely on the adapted probabilities."
            )
        return self

    def unadapted_proba(self, X: Any) -> FloatArray:
        """Return the class probabilities for the class frequencies of the training rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
        """
        return self.tempered(super().predict_proba(X))

    def tempered(self, p: FloatArray) -> FloatArray:
        """Return the probabilities of the classifier, tempered.

        Parameters
        ----------
        p : ndarray of shape (n_rows, n_classes)
            The probabilities.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
        """
        return p if self.tempering_ is None else self.tempering_.transform(p)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class, for the present class frequencies.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
        """
        return self.adapted(self.unadapted_proba(X))

    def adapted(self, p: Any) -> FloatArray:
        """Return what `unadapted_proba` gave, for the present class frequencies.

        Parameters
        ----------
        p : array-like of shape (n_rows, n_classes)
            The probabilities.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
        """
        if np.array_equal(self.frequencies_, self.training_frequencies_):
            return class_probabilities(p)
        return reweighted(p, self.training_frequencies_, self.frequencies_)

    def _level(self) -> float:
        return 1.0 if self.level == 1 else share(self.level, "level")

    def _reference(self) -> ShiftReference:
        return ShiftReference(
            self.training_frequencies_,
            self.held_out_mean_,
            self.held_out_covariance_,
            self.confusion_,
            self.n_held_out_,
        )
