"""Class probabilities of rows that no part of the pipe has seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.margins import Margins
from ..core.types import FloatArray
from .cross_fit import FoldPlan, TrialBatch
from .folds import Splits
from .session import Session
from .training import BinaryMachines, TrainingSet, Trial, left_out_margins, try_once


def out_of_fold(
    session: Session,
    machines: BinaryMachines,
    splits: Splits,
    folds: Sequence[BinaryMachines] | None,
    scores: FloatArray | None,
) -> FloatArray | None:
    """Return class probabilities of the used rows by pipes that did not see them.

    Machines, calibrators and decoders are cross-fitted over the same folds. With leave-one-out
    scores, only calibrators and decoders are cross-fitted, over five stratified folds.

    Parameters
    ----------
    session : Session
        The pipe and its rows.
    machines : BinaryMachines
        The machines of all rows.
    splits : list of (train, test)
        The folds.
    folds : sequence of BinaryMachines or None
        The machines of every fold, if they were kept.
    scores : ndarray of shape (n_rows, n_trained_columns) or None
        Otherwise, the scores of all rows in all trained columns: by the machines of the row's
        fold, or leave-one-out scores.

    Returns
    -------
    p : ndarray of shape (n_used_rows, n_classes) or None
        None without folds.
    """
    data, parts = session.data, session.parts
    own = parts.uses_probabilities and not parts.calibrator.learns
    asks_machines = own or "training_scores" in parts.decoder.needs
    if session.leave_one_out:
        splits = data.fold_rows.stratified()
    if not splits:
        return None
    if folds:
        tested = [
            each.training_margins(data, test, own)
            for each, (_, test) in zip(folds, splits, strict=True)
        ]
        trial = Trial(tested, [], folds.__getitem__)
    elif asks_machines:
        trial = try_once(data, splits, own)
    elif session.leave_one_out:
        assert scores is not None
        trial = _cut(left_out_margins(data, machines, scores, True), data, splits, machines)
    else:
        assert scores is not None
        wide = Margins(mean=scores[data.rows]).columns(machines.source, machines.sign)
        trial = _cut(wide, data, splits, machines)
    return _class_scores(session, splits, trial)


def out_of_fold_unseen(
    session: Session, machines: BinaryMachines, margins: Margins
) -> FloatArray | None:
    """Return class probabilities of rows that the machines have not seen.

    Calibrators and decoders are cross-fitted over five stratified folds.
    """
    splits = session.data.fold_rows.stratified()
    if not splits:
        return None
    return _class_scores(session, splits, _cut(margins, session.data, splits, machines))


def _cut(margins: Margins, data: TrainingSet, splits: Splits, machines: BinaryMachines) -> Trial:
    """Cut the margins of the used rows into folds."""
    tested = [margins.rows(np.searchsorted(data.rows, test)) for _, test in splits]
    return Trial(tested, [], lambda fold: machines)


def _class_scores(session: Session, splits: Splits, trial: Trial) -> FloatArray:
    plan = FoldPlan(session.data, session.classes, session.decoder_seed, splits)
    found: FloatArray = TrialBatch(plan, [trial]).class_scores(session.parts)[0]
    return found
