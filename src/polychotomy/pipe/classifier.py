"""The estimator: codes, machines, calibrators and decoders wired into one pipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..blocks import RowBlocks
from ..blocks.as_blocks import as_blocks
from ..calibration import Calibrator
from ..core.checks import listed
from ..core.diagram import Diagram, box, in_turn
from ..core.registry import stored
from ..core.state import (
    INPUTS,
    Array,
    Code,
    Field,
    Flags,
    Holds,
    Labels,
    Sizes,
    Whole,
)
from ..core.types import FloatArray
from ..decoding import Decoder
from ..machines import SVM, guessed_seconds
from ..tempering import Tempering
from .available import has_folds, has_probabilities, has_scores, parts_of
from .explanation import Explanation, binary_answers, class_ranking
from .fitted_attributes import adopt, adopt_parts, check_fitted, pipe_of
from .fitting import calibrate_pipe, fit_pipe
from .inputs import checked_inputs
from .parts import Parts, resolve
from .row_blocks import fit_on_blocks
from .session import restart, start
from .training import BinaryMachines


@stored("estimator.polychotomy_classifier")
class PolychotomyClassifier(ClassifierMixin, BaseEstimator):
    """Multi-class classification from binary classifiers.

    A *code* splits the classes into binary problems. A binary *machine* is trained for each of
    them. A *calibrator* turns their scores into probabilities. A *decoder* turns these into
    classes and class probabilities. Every part is an object, or the name of one.

    Parameters
    ----------
    machine : classifier, default=None
        A kernel machine (`SVM`, the default, `KernelLogisticRegression` or `LSSVM`), which trains
        all binary problems together, or any scikit-learn classifier, which gets the binary
        labels 0 and 1.
    code : Code, str, array-like or Codebook, default="one_vs_one"
        How the classes are split: "one_vs_one", "one_vs_rest", "minimal", "error_correcting",
        "exhaustive", "dense_random", "sparse_random", "ordinal", "nested", a code object, or a
        matrix of -1, 0 and +1 with a row for every class.
    calibrator : Calibrator, str or None, default="auto"
        How scores become probabilities: "platt", "isotonic", "none" (None), or an object. "auto"
        is "platt" if the decoder needs probabilities and the machine has no `predict_proba`, and
        "none" otherwise.
    decoder : Decoder or str, default="auto"
        How binary answers become classes: a name (see `polychotomy.decoding`) or an object. "auto"
        couples probabilities: `PairwiseCoupling` for one-vs-one, `BranchProduct` for nested codes,
        `CodeCoupling` for any other code.
    tempering : None, "auto", bool or Tempering, default=None
        A last stage that sharpens or flattens the class probabilities: "auto" or True for
        `Tempering()`, None or False for none. It is fitted on out-of-fold class probabilities.
        For these, machines, calibrator and decoder are cross-fitted over the folds of `cv`. With
        ``cv="leave_one_out"``, and in `calibrate`, the scores already come from machines that
        have not seen the row; there only calibrator and decoder are cross-fitted, over five
        stratified folds.
    cv : int, splitter, iterable, "leave_one_out" or "prefit", default=5
        The folds. Calibrators, and decoders that learn, are fitted on scores of rows that the
        machines did not see. Every row must be tested exactly once. A number means stratified
        folds by what the rows hold, so that the order of the rows does not matter; for
        scikit-learn's folds pass ``StratifiedKFold(5)``. "leave_one_out" computes
        these scores from the one fit on all rows, for machines that have a formula for it:
        `LSSVM`, and `KernelLogisticRegression`, whose formula is approximate. A binary problem
        in which the formula is unreliable for more than 5 % of the rows (often with C above 100)
        gets scores from five folds instead, as does one whose scores are no larger on its positive
        side: where the inputs say nothing, leave-one-out scores tell a row's own label. "prefit"
        trains only the machines; call `calibrate` with other rows afterwards.
    class_weight : dict or "balanced", default=None
        Weights of the classes, applied in every binary problem. "balanced" is computed once,
        from all classes: ``n_rows / (n_classes * n_rows_of_class)``.
    priors : array-like or dict, default=None
        The class frequencies where the classifier will be used, if they differ from those of
        the training rows. Class probabilities are reweighted by the ratio of the two.
    n_jobs : int, default=None
        How many binary problems are trained, or evaluated, at once.
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
        The trained binary classifiers, if the machine is a scikit-learn classifier. A column and
        its negative share one.
    calibrator_ : Calibrator
        The fitted calibrator.
    decoder_ : Decoder
        The fitted decoder.
    tempering_ : Tempering or None
        The fitted tempering. Also None if no class has two rows, because there are no folds then.
    leave_one_out_columns_ : ndarray of shape (n_columns,)
        Whether the scores of a column are leave-one-out scores, and not scores of folds. Present
        only with ``cv="leave_one_out"``.
    class_sizes_ : ndarray of shape (n_classes,)
        The total weight of the training rows of each class.
    n_rows_ : int
        The number of training rows of positive weight.

    Notes
    -----
    A wrapped classifier gets the inputs that it accepts: texts, if it is a pipeline that begins
    with a vectoriser; data frames with categories; missing values. There is no `partial_fit`,
    because calibrators and decoders need rows that the machines have not seen.

    Rows of weight 0 are ignored. If there is a `predict_proba`, the predicted class is that of
    largest probability. Decoders that only decide (`DecisionGraph`, `BinaryTree`, `Nesting`,
    `DynamicallyOrdered`) have no `decision_function`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import LinearSVC
    >>> from polychotomy import PolychotomyClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PolychotomyClassifier(LinearSVC(random_state=0), calibrator="platt").fit(X, y)
    >>> clf.predict_proba(X[[0, 70]]).round(2)
    array([[0.98, 0.01, 0.01],
           [0.02, 0.45, 0.53]])
    """

    fitted_state: ClassVar[dict[str, Field]] = {
        **INPUTS,
        "classes_": Labels(),
        "parts_": Holds(Parts),
        "codebook_": Code(),
        "machines_": Holds(BinaryMachines, share="LTd"),
        "calibrator_": Holds(Calibrator, share="L", optional=True),
        "decoder_": Holds(Decoder, share="MLd", optional=True),
        "tempering_": Holds(Tempering, share="M", optional=True),
        "class_sizes_": Array("M", at_least=0.0),
        "n_rows_": Whole(1, optional=True),
        "leave_one_out_columns_": Flags("L", optional=True),
        "_target_priors": Array("M", at_least=0.0, optional=True),
        "_decoder_seed": Whole(optional=True),
    }

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
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Train the binary machines, and fit the calibrator and the decoder.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs. With a machine such as ``LSSVM(landmarks=1000)`` also rows that do not fit
            into memory: a `polychotomy.blocks.RowBlocks`, which has the classes and weights with
            it, or a Dask array or data frame.
        y : array-like of shape (n_rows,)
            The classes.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.
        **fit_params : dict
            `groups` goes to the splitter `cv`, everything else to the machine's `fit`. If
            scikit-learn's metadata routing is enabled, its requests decide.

        Returns
        -------
        self : PolychotomyClassifier
        """
        self._fit(X, y, sample_weight, fit_params)
        return self

    @available_if(has_folds)
    def fit_out_of_fold(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> FloatArray | None:
        """Fit as `fit` does, without tempering, and return out-of-fold class probabilities.

        For estimators built on top of this one that learn from probabilities of unseen rows, such
        as `PolychotomyPool`.

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
        p : ndarray of shape (n_used_rows, n_classes) or None
            The class probabilities of the rows of positive weight, by pipes that did not see them.
            None if no class has two rows, because there are no folds then.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from polychotomy import PolychotomyClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> p = PolychotomyClassifier().fit_out_of_fold(X, y)
        >>> round((p.argmax(axis=1) == y).mean(), 2)
        np.float64(0.97)
        """
        return self._fit(X, y, sample_weight, fit_params, keep_out_of_fold=True)

    def calibrate(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Refit the calibrator and the decoder on rows that the machines did not see.

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
                "cannot do. Use cv=5, or another decoder."
            )
        session = restart(
            self,
            self.parts_,
            self.codebook_,
            self.classes_,
            self._decoder_seed,
            X,
            y,
            sample_weight,
        )
        adopt_parts(self, calibrate_pipe(pipe_of(self), session, self.n_jobs))
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
            The class of largest probability, or of largest score if there are no
            probabilities.
        """
        winners = self._class_scores(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[winners]
        return labels

    @available_if(has_probabilities)
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

    @available_if(has_probabilities)
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

    @available_if(has_scores)
    def decision_function(self, X: Any) -> FloatArray:
        """Return the decoder's score of every class; the largest wins.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        scores : ndarray of shape (n_rows, n_classes) or (n_rows,)
            The output of the decoder: votes, negative losses, probabilities, and so on. For two
            classes, one value a row: the score of the second class minus that of the first.
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
            In the order of the columns of `codebook_`. The boundary is at 0; positive scores
            are on the side of the classes marked +1.
        """
        check_is_fitted(self, "machines_")
        scores: FloatArray | None
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
        one_row = isinstance(x, str) or (np.ndim(x) == 1 and not hasattr(x, "columns"))
        X = self._checked([x] if one_row else x)
        if X.shape[0] != 1:
            raise ValueError(f"explain takes one row, got {X.shape[0]}.")
        pipe = pipe_of(self)
        margins = pipe.margins(X, self.n_jobs)
        labels = self.classes_.tolist()
        scores = pipe.decoded(margins, X)[0]
        classes = class_ranking(scores, labels, self.parts_.yields_probabilities)
        return Explanation(
            answers=binary_answers(margins, self.codebook_, labels),
            classes=classes,
            decoder=repr(self.parts_.decoder),
            prediction=classes[0]["class"],
        )

    @property
    def estimators_(self) -> list[Any]:
        """The trained binary classifiers; kernel machines do not have one for each column."""
        check_is_fitted(self, "machines_")
        return list(self.machines_.fitted.estimators)

    def expected_seconds(self, n_rows: int) -> float:
        """Estimate how long tuning and fitting take on one core, for time budgets and scheduling.

        The estimate depends only on the number of rows, so that a budget always selects the same
        members. A measured time would not.
        """
        machine: float = getattr(self._machine(), "expected_seconds", guessed_seconds)(n_rows)
        return machine

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
        # If a parameter is invalid, this raises, and scikit-learn draws a plain box.
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
        parts = parts_of(self)
        # Notebooks ask for tags before `fit`, which is where invalid parameters raise an error.
        return SVM() if parts is None else parts.machine.template

    def _takes_sparse(self) -> bool:
        parts = parts_of(self)
        return parts is None or parts.decoder.takes_sparse

    def _reads_inputs(self) -> bool:
        parts = parts_of(self)
        return parts is not None and parts.reads_inputs

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        fit_params: dict[str, Any],
        keep_out_of_fold: bool = False,
    ) -> FloatArray | None:
        before = dict(self.__dict__)
        try:
            source = as_blocks(X, y, sample_weight)
            if source is not None:
                self._fit_blocks(source, fit_params, keep_out_of_fold)
                return None
            session = start(self, X, y, sample_weight, fit_params)
            if keep_out_of_fold:
                session = replace(session, parts=replace(session.parts, tempering=None))
            pipe = fit_pipe(session, keep_out_of_fold=keep_out_of_fold)
            adopt(self, session, pipe)
        except BaseException:
            # An error or Ctrl-C must not leave a mixture of the old and the new fit.
            self.__dict__ = before
            raise
        return pipe.out_of_fold

    def _fit_blocks(
        self, source: RowBlocks, fit_params: dict[str, Any], keep_out_of_fold: bool
    ) -> None:
        if keep_out_of_fold or fit_params:
            what = "out-of-fold probabilities" if keep_out_of_fold else listed(fit_params, "and")
            raise ValueError(f"Rows that are read in blocks do not go with {what}.")
        session, pipe, n_rows = fit_on_blocks(self, source)
        adopt(self, session, pipe)
        self.n_rows_ = n_rows

    def _checked(self, X: Any) -> Any:
        return checked_inputs(self, self.parts_, X)

    def _class_scores(self, X: Any) -> FloatArray:
        check_is_fitted(self, "machines_")
        if not hasattr(self, "decoder_"):
            raise NotFittedError(
                "With cv='prefit', fit trains only the machines. Call calibrate(X, y) with rows "
                "that they did not see."
            )
        return pipe_of(self).class_scores(self._checked(X), self.n_jobs)

    @property
    def is_ready(self) -> bool:
        """Whether it can predict; with ``cv="prefit"``, only after `calibrate`."""
        return hasattr(self, "decoder_")

    def check_state(self, sizes: Sizes) -> None:
        """Check that the parts are consistent with each other and with the inputs."""
        check_fitted(self, sizes)
