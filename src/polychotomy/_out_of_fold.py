"""Tempering fitted on class probabilities of rows that no part of the pipe has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ._cross_fit import FoldPlan, TrialBatch
from ._folds import Splits, stratified_splits
from ._parts import Parts
from ._session import Session
from ._training import BinaryMachines, TrainingSet, Trial, left_out_margins, try_once
from ._types import FloatArray, Margins
from .tempering import Tempering


def temper(
    session: Session,
    machines: BinaryMachines,
    splits: Splits,
    folds: Sequence[BinaryMachines] | None,
    scores: FloatArray | None,
) -> Tempering | None:
    """Fit the tempering of a pipe on out-of-fold class probabilities; None without folds.

    Machines, calibrators and decoders are cross-fitted over the same folds. With leave-one-out
    scores, calibrators and decoders are, over five stratified folds.

    Parameters
    ----------
    session : Session
        The pipe and its rows.
    machines : BinaryMachines
        The machines of all rows.
    splits : list of (train, test)
        The folds.
    folds : sequence of BinaryMachines or None
        The machines of every fold, where they are kept.
    scores : ndarray of shape (n_rows, n_trained_columns) or None
        Else, the scores of all rows in all trained columns by the machines of their fold, or by
        machines without the row.
    """
    data, parts = session.data, session.parts
    own = parts.uses_probabilities and not parts.calibrator.learns
    asks_machines = own or "training_scores" in parts.decoder.needs
    if session.leave_one_out:
        splits = stratified_splits(data.y, data.rows)
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
    return _fitted(parts, data, session.classes, session.decoder_seed, splits, trial)


def temper_unseen(
    parts: Parts,
    data: TrainingSet,
    classes: NDArray[Any],
    decoder_seed: int | None,
    machines: BinaryMachines,
    margins: Margins,
) -> Tempering | None:
    """Fit the tempering on rows that the machines have not seen.

    Calibrators and decoders are cross-fitted over five stratified folds.
    """
    splits = stratified_splits(data.y, data.rows)
    if not splits:
        return None
    trial = _cut(margins, data, splits, machines)
    return _fitted(parts, data, classes, decoder_seed, splits, trial)


def _cut(margins: Margins, data: TrainingSet, splits: Splits, machines: BinaryMachines) -> Trial:
    """Cut the margins of the used rows into folds."""
    tested = [margins.rows(np.searchsorted(data.rows, test)) for _, test in splits]
    return Trial(tested, [], lambda fold: machines)


def _fitted(
    parts: Parts,
    data: TrainingSet,
    classes: NDArray[Any],
    decoder_seed: int | None,
    splits: Splits,
    trial: Trial,
) -> Tempering:
    plan = FoldPlan(data, classes, decoder_seed, splits)
    probabilities = TrialBatch(plan, [trial]).class_scores(parts)[0]
    tempering: Tempering = clone(parts.tempering)
    return tempering.fit(probabilities, data.y[data.rows], data.weights_of(data.rows))
