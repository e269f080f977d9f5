"""Fitting the pipe: functions from a checked session to a fitted value.

Note: these are functions, not methods of the estimator, because three callers need them: the
estimator, the searches (which have already trained the machines) and the pool (which needs the
out-of-fold probabilities). When they were methods, the searches called private methods, and the
pool replaced the tempering by a spy to record the probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..calibration import Calibrator
from ..core.codebook import Codebook
from ..core.margins import Margins
from ..core.math import normalise
from ..core.types import FloatArray, IntArray
from ..decoding import Context, Decoder
from ..tempering import Tempering
from .column_blocks import check_memory, fit_in_blocks, is_for_blocks
from .folds import Splits
from .out_of_fold import out_of_fold, out_of_fold_unseen
from .parts import Parts
from .session import Session
from .training import (
    BinaryMachines,
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

# At most this many scores, of some rows in all columns, are computed at once: 16 MB.
ENTRIES_AT_ONCE = 1 << 21
# With more columns than this, rows take long enough that pieces of 2 MB lose no time, but of at
# least so many rows, which share the work of reading the coefficients.
MANY_COLUMNS, ENTRIES_OF_MANY, LEAST_ROWS = 1000, 1 << 18, 16


@dataclass(frozen=True)
class FittedPipe:
    """A fitted pipe: from inputs to class scores or probabilities.

    Parameters
    ----------
    parts : Parts
        Its parts.
    codebook : Codebook
        The code.
    machines : BinaryMachines
        The trained machines.
    class_sizes : ndarray of shape (n_classes,)
        The total weight of the training rows of each class.
    priors : ndarray of shape (n_classes,) or None
        The class frequencies where it will be used, if they differ from the training rows.
    calibrator, decoder : Calibrator, Decoder or None
        None before they are fitted, with ``cv="prefit"``.
    tempering : Tempering or None
        The last stage.
    leave_one_out_columns : ndarray of shape (n_columns,) or None
        Whether a column's held-out scores are leave-one-out scores.
    out_of_fold : ndarray of shape (n_used_rows, n_classes) or None
        Class probabilities, before tempering, by pipes that did not see the row. Present only if
        requested.
    """

    parts: Parts
    codebook: Codebook
    machines: BinaryMachines
    class_sizes: FloatArray
    priors: FloatArray | None
    calibrator: Calibrator | None = None
    decoder: Decoder | None = None
    tempering: Tempering | None = None
    leave_one_out_columns: NDArray[np.bool_] | None = None
    out_of_fold: FloatArray | None = None

    def margins(self, X: Any, n_jobs: int | None = None) -> Margins:
        """Return the calibrated margins of new rows."""
        own = self.parts.uses_probabilities and not self.parts.calibrator.learns
        return self.calibrated(self.machines.margins(X, own, n_jobs))

    def calibrated(self, margins: Margins) -> Margins:
        """Return margins with the probabilities that the decoder reads."""
        assert self.calibrator is not None
        if self.calibrator.learns:
            return margins.with_probability(self.calibrator.transform(margins))
        return margins

    def class_scores(self, X: Any, n_jobs: int | None = None) -> FloatArray:
        """Return class scores or probabilities of new rows, some of them at a time.

        Note: the scores of many rows in many columns do not fit into memory at once, nor into any
        cache. With fewer entries than this limit there is one piece.
        """
        n_rows = X.shape[0]
        step = rows_at_once(self.codebook)
        if n_rows <= step:
            return self.decoded(self.margins(X, n_jobs), X)
        result = np.empty((n_rows, self.codebook.n_classes))
        for start in range(0, n_rows, step):
            some = X[start : start + step]
            result[start : start + step] = self.decoded(self.margins(some, n_jobs), some)
        return result

    def decoded(self, margins: Margins, X: Any) -> FloatArray:
        """Return class scores or probabilities of calibrated margins."""
        assert self.decoder is not None
        scores = self.decoder.decode(margins, X=X)
        base = getattr(self.decoder, "priors_", self.class_sizes)
        if self.tempering is not None:
            scores = self.tempering.transform(scores)
            # The biases of tempering have learnt the sizes of the classes.
            base = self.class_sizes
        if self.priors is None:
            return scores
        ratio = np.divide(self.priors, base, out=np.zeros(len(base)), where=np.asarray(base) > 0)
        return normalise(scores * ratio)


def rows_at_once(codebook: Codebook) -> int:
    """Return how many rows have scores in all columns at once."""
    many = codebook.n_columns > MANY_COLUMNS
    return max(LEAST_ROWS, (ENTRIES_OF_MANY if many else ENTRIES_AT_ONCE) // codebook.n_columns)


def fit_pipe(
    session: Session, searched: Searched | None = None, keep_out_of_fold: bool = False
) -> FittedPipe:
    """Fit all parts of a pipe.

    Parameters
    ----------
    session : Session
        The checked parts and rows.
    searched : Searched, default=None
        The machines and scores that a search has already computed.
    keep_out_of_fold : bool, default=False
        Whether to return out-of-fold class probabilities instead of fitting tempering on them.
    """
    data, needs = session.data, session.parts.decoder.needs
    learns = session.learns or keep_out_of_fold
    if searched is None and is_for_blocks(session):
        return _fit_blocked(session, session.split() if learns else [], keep_out_of_fold)
    folds: Sequence[BinaryMachines] | None
    if searched is None:
        splits = session.split() if learns else []
        check_memory(session, 1 + len(splits))
        machines, *folds = train(data, [data.rows, *(rows for rows, _ in splits)])
        scores = fold_scores(data, folds, splits)
    else:
        machines, folds = searched.machines, searched.folds
        scores, splits = searched.scores, searched.splits
    pipe = FittedPipe(session.parts, data.codebook, machines, session.class_sizes, session.priors)
    if learns and session.prefit:
        return pipe
    held_out = None
    if learns:
        complete = "held_out_scores" in needs
        if session.leave_one_out:
            left_out = leave_one_out_scores(data, machines)
            scores = left_out.scores
            trusted = left_out.trusted[machines.source]
            pipe = replace(pipe, leave_one_out_columns=trusted)
            held_out = left_out_margins(data, machines, scores, complete)
        else:
            held_out = held_out_scores(data, machines, scores, splits, complete)
    pipe = _with_calibrator(pipe, held_out, data.y[data.rows], data.weights_of(data.rows))
    context = Context(
        codebook=data.codebook,
        y=data.y[data.rows],
        weights=data.weights_of(data.rows),
        classes=session.classes,
        X=data.X[data.rows] if "inputs" in needs else None,
        training=_training_margins(pipe, data) if "training_scores" in needs else None,
        held_out=held_out,
        folds=_decoder_folds(session, splits),
        refit=lambda rows, columns: train_nested(data, data.rows[rows], columns),
        random_state=session.decoder_seed,
    )
    pipe = replace(pipe, decoder=session.parts.decoder.fit(context))
    if not keep_out_of_fold and session.parts.tempering is None:
        return pipe
    p = out_of_fold(session, machines, splits, folds, scores)
    return replace(pipe, out_of_fold=p) if keep_out_of_fold else _tempered(pipe, session, p)


def _fit_blocked(session: Session, splits: Splits, keep_out_of_fold: bool) -> FittedPipe:
    """Fit all parts of a pipe with many columns, without the scores of all rows in all columns."""
    data, parts = session.data, session.parts
    wants_folds = keep_out_of_fold or parts.tempering is not None
    found = fit_in_blocks(session, splits, wants_folds)
    pipe = FittedPipe(parts, data.codebook, found.machines, session.class_sizes, session.priors)
    folds = fold_numbers(splits, data.rows)

    def context(rows: IntArray, numbers: IntArray | None) -> Context:
        return Context(
            codebook=data.codebook,
            y=data.y[rows],
            weights=data.weights_of(rows),
            classes=session.classes,
            folds=numbers,
            random_state=session.decoder_seed,
        )

    decoder = parts.decoder.fit(context(data.rows, folds))
    pipe = replace(pipe, calibrator=parts.calibrator, decoder=decoder)
    if not wants_folds:
        return pipe
    p = None
    if folds is not None:
        p = np.empty((len(data.rows), data.codebook.n_classes))
        own = parts.uses_probabilities and not parts.calibrator.learns
        for fold in range(len(splits)):
            # Taken out of the list: machines of a fold are as large as the model.
            machines, calibrator = found.folds.pop(0)
            outside, test = splits[fold][0], np.flatnonzero(folds == fold)
            numbers = folds[np.searchsorted(data.rows, outside)]
            fitted = copy(parts.decoder).fit(context(outside, numbers))
            part = replace(pipe, calibrator=calibrator, decoder=fitted, priors=None)
            step = rows_at_once(data.codebook)
            for start in range(0, len(test), step):
                places = test[start : start + step]
                margins = machines.training_margins(data, data.rows[places], own)
                p[places] = part.decoded(part.calibrated(margins), None)
    return replace(pipe, out_of_fold=p) if keep_out_of_fold else _tempered(pipe, session, p)


def calibrate_pipe(pipe: FittedPipe, session: Session, n_jobs: int | None) -> FittedPipe:
    """Refit calibrator, decoder and tempering on rows that the machines did not see."""
    data = session.data
    margins = pipe.machines.margins(data.X, pipe.parts.uses_probabilities, n_jobs)
    pipe = _with_calibrator(pipe, margins, data.y, data.weights)
    context = Context(
        codebook=data.codebook,
        y=data.y,
        weights=data.weights,
        classes=session.classes,
        X=data.X,
        training=pipe.calibrated(margins),
        held_out=margins,
        folds=_decoder_folds(session, []),
        random_state=session.decoder_seed,
        sizes=pipe.class_sizes,
    )
    pipe = replace(pipe, decoder=pipe.parts.decoder.fit(context), tempering=None)
    if pipe.parts.tempering is None:
        return pipe
    return _tempered(pipe, session, out_of_fold_unseen(session, pipe.machines, margins))


def _with_calibrator(
    pipe: FittedPipe, margins: Margins | None, y: IntArray, weights: FloatArray | None
) -> FittedPipe:
    calibrator = pipe.parts.calibrator
    if calibrator.learns:
        assert margins is not None
        calibrator.fit(margins, pipe.codebook.labels(y), weights)
    return replace(pipe, calibrator=calibrator)


def _decoder_folds(session: Session, splits: Splits) -> IntArray | None:
    """Return the fold of every row, for decoders that learn; None if there are none."""
    data = session.data
    if not splits and "held_out_scores" in session.parts.decoder.needs:
        # Leave-one-out scores and scores of rows that no machine has seen.
        splits = data.fold_rows.stratified()
    return fold_numbers(splits, data.rows)


def _training_margins(pipe: FittedPipe, data: TrainingSet) -> Margins:
    own = pipe.parts.uses_probabilities and not pipe.parts.calibrator.learns
    return pipe.calibrated(pipe.machines.training_margins(data, data.rows, own))


def _tempered(pipe: FittedPipe, session: Session, p: FloatArray | None) -> FittedPipe:
    """Fit tempering on out-of-fold probabilities; skip it if there are no folds."""
    if p is None:
        return pipe
    data = session.data
    tempering: Tempering = clone(session.parts.tempering)
    tempering.fit(p, data.y[data.rows], data.weights_of(data.rows))
    return replace(pipe, tempering=tempering)
