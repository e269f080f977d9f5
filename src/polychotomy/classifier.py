"""The estimator: codes, machines, calibrators and decoders wired into one pipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._checks import listed
from ._diagram import Diagram, box, in_turn
from ._math import normalise
from ._out_of_fold import temper, temper_unseen
from ._parts import Parts, resolve
from ._session import Session, start
from ._training import (
    Searched,
    TrainingSet,
    fold_numbers,
    fold_scores,
    held_out_scores,
    leave_one_out_scores,
    left_out_margins,
    train,
    train_nested,
)
from ._types import FloatArray, IntArray, Margins
from ._weights import refuse_mixed_labels, row_weights
from .decoding import Context
from .explanation import Explanation, binary_answers, class_ranking
from .machines import SVM, TrainingOptions


def _parts_of(classifier: PolychotomyClassifier) -> Parts | None:
    """Return the parts of the pipe, or None where a parameter makes no sense."""
    fitted: Parts | None = getattr(classifier, "parts_", None)
    if fitted is not None:
        return fitted
    try:
        return resolve(
            classifier.machine, classifier.code, classifier.calibrator, classifier.decoder
        )
    except (TypeError, ValueError):
        # `fit` says what is wrong.
        return None


def _has_probabilities(classifier: PolychotomyClassifier) -> bool:
    parts = _parts_of(classifier)
    return parts is None or parts.yields_probabilities


def _has_scores(classifier: PolychotomyClassifier) -> bool:
    parts = _parts_of(classifier)
    return parts is None or parts.decoder.yields != "decisions"


class PolychotomyClassifier(ClassifierMixin, BaseEstimator):
    """Multi-class classification from binary classifiers.

    A *code* splits the classes into binary problems, a binary *machine* is trained for each, a
    *calibrator* turns their scores into probabilities, and a *decoder* turns those into classes
    and class probabilities. Every part is an object, or the name of one.

    Parameters
    ----------
    machine : classifier, default=None
        A kernel machine (`SVM`, the default, `KernelLogisticRegression` or `LSSVM`), which trains
        all binary problems together, or any scikit-learn classifier; the binary labels of the
        latter are 0 and 1.
    code : Code, str, array-like or Codebook, default="one_vs_one"
        How the classes are split: "one_vs_one", "one_vs_rest", "minimal", "error_correcting",
        "exhaustive", "dense_random", "sparse_random", "ordinal", a code object, or a matrix of -1,
        0 and +1 with a row for every class.
    calibrator : Calibrator, str or None, default="auto"
        How scores become probabilities: "platt", "isotonic", "none" (None), or an object. "auto"
        is "platt" if the decoder needs probabilities and the machine has no `predict_proba`, and
        "none" otherwise.
    decoder : Decoder or str, default="auto"
        How binary answers become classes: a name (see `polychotomy.decoding`) or an object. "auto"
        couples probabilities: `PairwiseCoupling` for one-vs-one, `CodeCoupling` for any other code.
    tempering : None, "auto", bool or Tempering, default=None
        A last stage that sharpens or flattens the class probabilities: "auto" or True for
        `Tempering()`, None or False for none. It is fitted on out-of-fold class probabilities, for
        which machines, calibrator and decoder are cross-fitted over the folds of `cv`. After
        ``cv="leave_one_out"``, and in `calibrate`, where the machines have not seen the rows,
        calibrator and decoder are, over five stratified folds.
    cv : int, splitter, iterable, "leave_one_out" or "prefit", default=5
        The folds that give the calibrator, and decoders that learn, scores of rows that the
        machines did not see. Every row has to be tested once. "leave_one_out" takes them from the
        one fit of all rows, for machines that have a formula for it: `LSSVM`, and
        `KernelLogisticRegression`, whose formula is approximate; binary problems in which it
        cannot be trusted for more than 5 % of the rows (often those of C above 100) get scores
        of five folds instead. "prefit" trains the machines alone; call `calibrate` with other
        rows afterwards.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which reach every binary problem. "balanced" is computed once,
        from all classes: ``n_rows / (n_classes * n_rows_of_class)``.
    priors : array-like or dict, default=None
        The class frequencies where the classifier will be used, if they differ from those of
        the training rows; class probabilities are reweighted by their ratio.
    n_jobs : int, default=None
        How many binary problems are trained, or asked, at once.
    random_state : int, RandomState or None, default=None
        Seeds random codes, random trees and the machines' own `random_state`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        The number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the inputs, if X had any.
    codebook_ : Codebook
        The code.
    estimators_ : list of classifiers
        The trained binary classifiers, if the machine is a scikit-learn classifier; columns
        that are each other's negative share one.
    calibrator_ : Calibrator
        The fitted calibrator.
    decoder_ : Decoder
        The fitted decoder.
    tempering_ : Tempering or None
        The fitted tempering; also None if no class has two rows, so that there are no folds.
    leave_one_out_columns_ : ndarray of shape (n_columns,)
        Whether the scores of a column are leave-one-out scores, and not of folds; only there with
        ``cv="leave_one_out"``.
    class_sizes_ : ndarray of shape (n_classes,)
        The total weight of the training rows of each class.
    n_rows_ : int
        The number of training rows, those of weight 0 left out.

    Notes
    -----
    Rows of weight 0 are left out altogether. Predictions are the class of largest probability
    wherever there is a `predict_proba`. There is no `decision_function` for decoders that only
    decide (`DecisionGraph`, `BinaryTree`, `Nesting`, `DynamicallyOrdered`).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import LinearSVC
    >>> from polychotomy import PolychotomyClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PolychotomyClassifier(LinearSVC(random_state=0), calibrator="platt").fit(X, y)
    >>> clf.predict_proba(X[[0, 70]]).round(2)
    array([[0.98, 0.01, 0.01],
           [0.02, 0.43, 0.55]])
    """

    def __init__(
        self,
        machine: Any = None,
        code: Any = "one_vs_one",
        calibrator: Any = "auto",
        decoder: Any = "auto",
        *,
        tempering: Any = None,
        cv: Any = 5,
        class_weight: Mapping[Any, float] | str | None = None,
        priors: ArrayLike | Mapping[Any, float] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.machine = machine
        self.code = code
        self.calibrator = calibrator
        self.decoder = decoder
        self.tempering = tempering
        self.cv = cv
        self.class_weight = class_weight
        self.priors = priors
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Train the binary machines, and fit the calibrator and the decoder.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.
        **fit_params : dict
            `groups` goes to the splitter `cv`, everything else to the machine's `fit`; with
            scikit-learn's metadata routing enabled, as requested there.

        Returns
        -------
        self : PolychotomyClassifier
        """
        before = dict(self.__dict__)
        try:
            self._fit_pipe(self._start(X, y, sample_weight, fit_params))
        except BaseException:
            # An error or Ctrl-C in the middle must not leave half of a new fit in an old one.
            self.__dict__ = before
            raise
        return self

    def calibrate(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the calibrator and the decoder anew, on rows that the machines did not see.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Inputs that were not used in `fit`.
        y : array-like of shape (n_rows,)
            Their classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        self : PolychotomyClassifier

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.svm import LinearSVC
        >>> from polychotomy import PolychotomyClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = PolychotomyClassifier(LinearSVC(random_state=0), cv="prefit")
        >>> clf.fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2]).score(X[1::2], y[1::2]) > 0.9
        True
        """
        check_is_fitted(self, "machines_")
        if "refit" in self.parts_.decoder.needs:
            raise ValueError(
                f"{type(self.parts_.decoder).__name__} trains machines of its own, which calibrate "
                "cannot do; choose cv=5 or another decoder."
            )
        X, y_given = validate_data(self, X, y, reset=False, **self._input_checks())
        unknown = np.setdiff1d(y_given, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y has the class {unknown.tolist()[0]!r}, which was not there in fit; the classes "
                f"are {listed(self.classes_.tolist(), 'and')}."
            )
        y_numbers = np.searchsorted(self.classes_, y_given)
        weights = row_weights(
            sample_weight, self.class_weight, X, y_numbers, self.classes_, all_classes=False
        )
        used = slice(None) if weights is None else weights > 0
        X, y_numbers = X[used], y_numbers[used]
        weights = None if weights is None else weights[used]
        margins = self.machines_.margins(X, self.parts_.uses_probabilities, self.n_jobs)
        self._fit_calibrator(margins, y_numbers, weights)
        calibrated = self._calibrated(margins)
        self._fit_decoder(
            Context(
                codebook=self.codebook_,
                y=y_numbers,
                weights=weights,
                classes=self.classes_,
                X=X,
                training=calibrated,
                held_out=margins,
                random_state=self._decoder_seed,
                sizes=self.class_sizes_,
            )
        )
        self.tempering_ = None
        if self.parts_.tempering is not None:
            data = TrainingSet(
                machine=self.parts_.machine,
                codebook=self.codebook_,
                X=X,
                y=y_numbers,
                rows=np.arange(len(y_numbers)),
                weights=weights,
                machine_weights=None,
                options=TrainingOptions(n_jobs=self.n_jobs),
            )
            self.tempering_ = temper_unseen(
                self.parts_, data, self.classes_, self._decoder_seed, self.machines_, margins
            )
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        y : ndarray of shape (n_rows,)
            The class of largest probability, or of largest score where there are no
            probabilities.
        """
        winners = self._class_scores(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[winners]
        return labels

    @available_if(_has_probabilities)
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

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of every class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        log_p : ndarray of shape (n_rows, n_classes)
            The logarithms, in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self._class_scores(X))

    @available_if(_has_scores)
    def decision_function(self, X: Any) -> FloatArray:
        """Return the decoder's score of every class; the largest wins.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        scores : ndarray of shape (n_rows, n_classes) or (n_rows,)
            Votes, minus losses, probabilities, ...: whatever the decoder yields. For two classes
            one column, the score of the second minus that of the first.
        """
        scores = self._class_scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def binary_scores(self, X: Any) -> FloatArray:
        """Return the score of every binary machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        scores : ndarray of shape (n_rows, n_columns)
            In the order of the columns of `codebook_`; 0 is the boundary, and the side of +1 is
            positive.
        """
        check_is_fitted(self, "machines_")
        scores = self.machines_.margins(self._checked(X), False, self.n_jobs).mean
        assert scores is not None
        return scores

    def explain(self, x: Any) -> Explanation:
        """Show what each binary machine said about one row, and how it was decoded.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row.

        Returns
        -------
        explanation : Explanation
            It prints as a small table.
        """
        check_is_fitted(self, "decoder_")
        X = self._checked([x] if np.ndim(x) == 1 else x)
        if X.shape[0] != 1:
            raise ValueError(f"explain takes one row, got {X.shape[0]}.")
        margins = self._margins(X)
        labels = self.classes_.tolist()
        scores = self._decoded(margins, X)[0]
        classes = class_ranking(scores, labels, self.parts_.yields_probabilities)
        return Explanation(
            answers=binary_answers(margins, self.codebook_, labels),
            classes=classes,
            decoder=repr(self.parts_.decoder),
            prediction=classes[0]["class"],
        )

    @property
    def estimators_(self) -> list[Any]:
        """The trained binary classifiers; kernel machines have none for single columns."""
        check_is_fitted(self, "machines_")
        return list(self.machines_.fitted.estimators)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata goes where.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(
            machine=self._machine(),
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )
        if hasattr(self.cv, "get_metadata_routing"):
            router.add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        machine_tags = get_tags(self._machine()).input_tags
        tags.input_tags.sparse = machine_tags.sparse and self._takes_sparse()
        tags.input_tags.pairwise = machine_tags.pairwise
        tags.input_tags.allow_nan = machine_tags.allow_nan and not self._reads_inputs()
        return tags

    def _sk_visual_block_(self) -> Diagram:
        # A parameter that makes no sense is an error, for which scikit-learn draws a plain box.
        parts = resolve(self.machine, self.code, self.calibrator, self.decoder, self.tempering)
        pipe = [
            ("code", parts.code),
            ("machine", parts.machine.template),
            ("calibrator", parts.calibrator),
            ("decoder", parts.decoder),
            ("tempering", parts.tempering),
        ]
        return in_turn([(role, box(role, part)) for role, part in pipe if part is not None])

    def _machine(self) -> Any:
        parts = _parts_of(self)
        # `fit` says what makes no sense; tags, which notebooks ask for, must be there before.
        return SVM() if parts is None else parts.machine.template

    def _takes_sparse(self) -> bool:
        parts = _parts_of(self)
        return parts is None or parts.decoder.takes_sparse

    def _reads_inputs(self) -> bool:
        parts = _parts_of(self)
        return parts is not None and "inputs" in parts.decoder.needs

    def _input_checks(self) -> dict[str, Any]:
        return {
            "accept_sparse": "csr",
            "ensure_all_finite": "allow-nan" if get_tags(self).input_tags.allow_nan else True,
        }

    def _start(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        fit_params: dict[str, Any],
    ) -> Session:
        """Check everything that can be checked before the first machine is trained."""
        parts = resolve(self.machine, self.code, self.calibrator, self.decoder, self.tempering)
        refuse_mixed_labels(y)
        X, labels = validate_data(self, X, y, **self._input_checks())
        check_classification_targets(labels)
        return start(self, parts, X, labels, sample_weight, fit_params)

    def _fit_pipe(self, session: Session, searched: Searched | None = None) -> None:
        """Fit all parts; a search hands on the machines and scores that it has already."""
        data, needs = session.data, session.parts.decoder.needs
        self.parts_ = session.parts
        self.classes_, self.codebook_ = session.classes, data.codebook
        self._target_priors, self._decoder_seed = session.priors, session.decoder_seed
        self.class_sizes_, self.n_rows_ = session.class_sizes, len(session.data.rows)
        learns = session.learns
        folds = None
        if searched is None:
            splits = session.split() if learns else []
            self.machines_, *folds = train(data, [data.rows, *(rows for rows, _ in splits)])
            scores = fold_scores(data, folds, splits)
        else:
            self.machines_, scores, splits = searched.machines, searched.scores, searched.splits
        for name in ("calibrator_", "decoder_", "tempering_", "leave_one_out_columns_"):
            self.__dict__.pop(name, None)
        if learns and session.prefit:
            return
        y, weights = data.y[data.rows], data.weights_of(data.rows)
        held_out = None
        if learns:
            complete = "held_out_scores" in needs
            if session.leave_one_out:
                left_out = leave_one_out_scores(data, self.machines_)
                scores = left_out.scores
                self.leave_one_out_columns_ = left_out.trusted[self.machines_.source]
                held_out = left_out_margins(data, self.machines_, scores, complete)
            else:
                held_out = held_out_scores(data, self.machines_, scores, splits, complete)
        self._fit_calibrator(held_out, y, weights)
        self._fit_decoder(
            Context(
                codebook=self.codebook_,
                y=y,
                weights=weights,
                classes=self.classes_,
                X=data.X[data.rows] if "inputs" in needs else None,
                training=self._training_margins(data) if "training_scores" in needs else None,
                held_out=held_out,
                folds=fold_numbers(splits, data.rows),
                refit=lambda rows, columns: train_nested(data, data.rows[rows], columns),
                random_state=self._decoder_seed,
            )
        )
        self.tempering_ = None
        if session.parts.tempering is not None:
            self.tempering_ = temper(session, self.machines_, splits, folds, scores)

    def _training_margins(self, data: TrainingSet) -> Margins:
        own = self.parts_.uses_probabilities and not self.parts_.calibrator.learns
        return self._calibrated(self.machines_.training_margins(data, data.rows, own))

    def _fit_calibrator(
        self, margins: Margins | None, y: IntArray, weights: FloatArray | None
    ) -> None:
        self.calibrator_ = self.parts_.calibrator
        if self.calibrator_.learns:
            assert margins is not None
            self.calibrator_.fit(margins, self.codebook_.labels(y), weights)

    def _fit_decoder(self, context: Context) -> None:
        self.decoder_ = self.parts_.decoder.fit(context)

    def _checked(self, X: Any) -> Any:
        return validate_data(self, X, reset=False, **self._input_checks())

    def _calibrated(self, margins: Margins) -> Margins:
        if self.calibrator_.learns:
            return margins.with_probability(self.calibrator_.transform(margins))
        return margins

    def _margins(self, X: Any) -> Margins:
        own = self.parts_.uses_probabilities and not self.parts_.calibrator.learns
        return self._calibrated(self.machines_.margins(X, own, self.n_jobs))

    def _class_scores(self, X: Any) -> FloatArray:
        check_is_fitted(self, "machines_")
        if not hasattr(self, "decoder_"):
            raise NotFittedError(
                "With cv='prefit' only the machines are trained in fit; call calibrate(X, y) with "
                "rows that they did not see."
            )
        X = self._checked(X)
        return self._decoded(self._margins(X), X)

    def _decoded(self, margins: Margins, X: Any) -> FloatArray:
        scores = self.decoder_.decode(margins, X=X)
        base = getattr(self.decoder_, "priors_", self.class_sizes_)
        if self.tempering_ is not None:
            scores = self.tempering_.transform(scores)
            # Its biases have learnt how large the classes are.
            base = self.class_sizes_
        if self._target_priors is None:
            return scores
        ratio = np.divide(
            self._target_priors, base, out=np.zeros(len(base)), where=np.asarray(base) > 0
        )
        return normalise(scores * ratio)
