"""Pipes judged on rows that no part of them has seen.

Machines are trained without a fold. Calibrators and decoders that learn are fitted on the
out-of-fold scores of the other folds, and applied to the fold that was left out.

Note: calibrators and decoders are cross-fitted as well as machines. If they were fitted once, on
the out-of-fold scores of all rows, every row would be judged by a calibrator that knows its label.
Errors and likelihoods would then be too low, most of all for decoders with many parameters, and a
search would prefer these.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ..calibration import Calibrator
from ..core import scores
from ..core.margins import Margins
from ..core.types import FloatArray, IntArray, SignArray
from ..decoding import Context, Decoder
from ..native.memory import recycled_empty, recycled_zeros
from .folds import Splits
from .parts import Parts
from .training import TrainingSet, Trial, fold_numbers, train_nested

# Needs of a decoder that differ from trial to trial.
OF_THE_TRIAL = frozenset({"training_scores", "held_out_scores", "refit"})


@dataclass(frozen=True)
class FoldPlan:
    """The folds of a training set, and values derived from them that all trials share."""

    data: TrainingSet
    classes: NDArray[Any]
    decoder_seed: int | None
    splits: Splits

    @cached_property
    def fold(self) -> IntArray:
        """The fold of every used row."""
        numbers = fold_numbers(self.splits, self.data.rows)
        assert numbers is not None
        return numbers

    @cached_property
    def trained_on(self) -> list[IntArray]:
        """The positions, among the used rows, of every fold's training rows."""
        return [self._places(rows) for rows, _ in self.splits]

    @cached_property
    def tested_on(self) -> list[IntArray]:
        """The positions, among the used rows, of every fold's test rows."""
        return [self._places(rows) for _, rows in self.splits]

    @cached_property
    def labels(self) -> list[SignArray]:
        """The binary labels of every fold's training rows, in all columns."""
        return [self.data.codebook.labels(self.data.y[rows]) for rows, _ in self.splits]

    def _places(self, rows: IntArray) -> IntArray:
        return np.searchsorted(self.data.rows, rows)


class TrialBatch:
    """Several trials of the machines of one code, judged together.

    Note: a search has hundreds of trials. Calibrators and decoders that can do so process all of
    them in one call of the core. A context, decoder and margins for every trial and fold, which are
    still made for the other decoders, were slower.

    Parameters
    ----------
    plan : FoldPlan
        The rows and folds.
    trials : sequence of Trial
        For every trial, the machines' margins of the rows of every fold.
    """

    def __init__(self, plan: FoldPlan, trials: Sequence[Trial]) -> None:
        self.plan, self.data, self.trials = plan, plan.data, trials
        shape = (len(trials), len(self.data.rows), self.data.codebook.n_columns)
        self.scores = recycled_zeros(shape)
        for number, trial in enumerate(trials):
            for places, margins in zip(plan.tested_on, trial.tested, strict=True):
                self.scores[number, places] = margins.mean
        self._calibrated: dict[str, FloatArray] = {}

    def calibrate(self, pipes: Sequence[Parts]) -> None:
        """Fit the calibrators of several pipes in every fold; equal ones are fitted once."""
        for parts in pipes:
            if parts.calibrator.learns:
                self._calibrated_by(parts.calibrator)

    def class_scores(self, parts: Parts, numbers: Sequence[int] | None = None) -> FloatArray:
        """Return the class scores or probabilities of every row, in all trials or in `numbers`.

        The result has shape (n_trials, n_rows, n_classes). Rows are in the order of the used rows.
        """
        numbers = range(len(self.trials)) if numbers is None else numbers
        together = self._together(parts.decoder, numbers)
        if together is not None:
            return together
        noise = self.trials[0].tested[0].noise
        if parts.decoder.needs & (OF_THE_TRIAL | {"inputs"}) or noise is not None:
            return self._one_by_one(parts, numbers)
        result = self._empty(len(numbers))
        for fold, places in enumerate(self.plan.tested_on):
            fitted: Decoder = copy(parts.decoder).fit(self._context(parts, fold, None))
            stacked = fitted.decode(self._seen_together(parts, fold, numbers))
            result[:, places] = stacked.reshape(len(numbers), len(places), -1)
        return result

    def _one_by_one(self, parts: Parts, numbers: Sequence[int]) -> FloatArray:
        """Decode every trial and fold with a separate decoder."""
        result = self._empty(len(numbers))
        for fold, (_, rows) in enumerate(self.plan.splits):
            seen = self._seen(parts, fold, numbers)
            X = self.data.X[rows] if "inputs" in parts.decoder.needs else None
            for place, number in enumerate(numbers):
                context = self._context(parts, fold, number)
                decoder: Decoder = copy(parts.decoder).fit(context)
                result[place, self.plan.tested_on[fold]] = decoder.decode(seen[place], X=X)
        return result

    def _together(self, decoder: Decoder, numbers: Sequence[int]) -> FloatArray | None:
        """Fit and decode all trials and folds at once; None if the decoder cannot."""
        data, plan = self.data, self.plan
        folds = [
            (inside, outside, plan.fold[inside])
            for inside, outside in zip(plan.trained_on, plan.tested_on, strict=True)
        ]
        return decoder.cross_fit(
            data.codebook,
            self.scores[list(numbers)],
            data.y[data.rows],
            data.weights_of(data.rows),
            folds,
            effective_n_jobs(data.options.n_jobs),
        )

    def _empty(self, n_trials: int) -> FloatArray:
        return recycled_empty((n_trials, self.scores.shape[1], self.data.codebook.n_classes))

    def _context(self, parts: Parts, fold: int, number: int | None) -> Context:
        """Return the data, all from outside a fold, that a decoder may learn from."""
        data, needs = self.data, parts.decoder.needs
        rows, inside = self.plan.splits[fold][0], self.plan.trained_on[fold]
        training = held_out = None
        if number is not None:
            held_out = Margins(mean=self.scores[number, inside])
            if "training_scores" in needs:
                training = self._training_margins(parts, fold, number)
        return Context(
            codebook=data.codebook,
            y=data.y[rows],
            weights=data.weights_of(rows),
            classes=self.plan.classes,
            X=data.X[rows] if "inputs" in needs else None,
            training=training,
            held_out=held_out,
            folds=self.plan.fold[inside],
            refit=lambda part, columns: train_nested(data, rows[part], columns),
            random_state=self.plan.decoder_seed,
        )

    def _training_margins(self, parts: Parts, fold: int, number: int) -> Margins:
        """Return the margins of a fold's training rows by the machines trained on them."""
        learns = parts.calibrator.learns
        machines = self.trials[number].machines(fold)
        rows = self.plan.splits[fold][0]
        margins = machines.training_margins(
            self.data, rows, parts.uses_probabilities and not learns
        )
        if not learns:
            return margins
        calibrator = self._fitted(parts.calibrator, fold, number)
        return margins.with_probability(calibrator.transform(margins))

    def _seen(self, parts: Parts, fold: int, numbers: Sequence[int]) -> list[Margins]:
        """Return the margins of a fold's test rows as the decoder reads them, for each trial."""
        tested = [self.trials[number].tested[fold] for number in numbers]
        if not parts.calibrator.learns:
            if parts.uses_probabilities:
                return tested
            return [margins.with_probability(None) for margins in tested]
        calibrated, places = self._calibrated_by(parts.calibrator), self.plan.tested_on[fold]
        return [
            margins.with_probability(calibrated[number, places])
            for number, margins in zip(numbers, tested, strict=True)
        ]

    def _seen_together(self, parts: Parts, fold: int, numbers: Sequence[int]) -> Margins:
        """Return the same as `_seen`, with the rows of all trials stacked."""
        if not parts.calibrator.learns and parts.uses_probabilities:
            return _stack_rows(self._seen(parts, fold, numbers))
        n_columns = self.scores.shape[2]
        picked = np.array(numbers)[:, None], self.plan.tested_on[fold]
        probability = None
        if parts.calibrator.learns:
            calibrated = self._calibrated_by(parts.calibrator)
            probability = calibrated[picked].reshape(-1, n_columns)
        return Margins(self.scores[picked].reshape(-1, n_columns), probability=probability)

    def _calibrated_by(self, calibrator: Calibrator) -> FloatArray:
        """Return the probabilities of all rows in all trials, by calibrators fitted on others."""
        key = _parameters(calibrator)
        if key not in self._calibrated:
            data, plan = self.data, self.plan
            # Stored only when complete: if a calibrator fails, the next pipe with an equal one
            # must not read half a result.
            self._calibrated[key] = calibrator.cross_fit(
                self.scores,
                data.codebook.labels(data.y[data.rows]),
                data.weights_of(data.rows),
                list(zip(plan.trained_on, plan.tested_on, strict=True)),
                effective_n_jobs(data.options.n_jobs),
            )
        return self._calibrated[key]

    def _fitted(self, calibrator: Calibrator, fold: int, number: int) -> Calibrator:
        fitted: Calibrator = copy(calibrator).fit(
            Margins(mean=self.scores[number, self.plan.trained_on[fold]]),
            self.plan.labels[fold],
            self.data.weights_of(self.plan.splits[fold][0]),
        )
        return fitted


@dataclass(frozen=True)
class Figures:
    """The quality of the class scores of all rows, for every trial.

    Parameters
    ----------
    error : ndarray of shape (n_trials,)
        The fraction of misclassified rows.
    fold_errors : ndarray of shape (n_trials, n_folds)
        The same, fold by fold.
    nll : ndarray of shape (n_trials,) or None
        The mean negative log-likelihood; None without probabilities.
    brier : ndarray of shape (n_trials,) or None
        The mean squared distance of the probabilities to the truth; None without probabilities.
    """

    error: FloatArray
    fold_errors: FloatArray
    nll: FloatArray | None
    brier: FloatArray | None


def figures(result: FloatArray, plan: FoldPlan, probabilities: bool) -> Figures:
    """Judge class scores of shape (n_trials, n_rows, n_classes)."""
    data = plan.data
    y, weights = data.y[data.rows], data.weights_of(data.rows)
    predicted = result.argmax(axis=2)
    fold_errors = np.stack(
        [
            scores.error(
                predicted[:, places], y[places], None if weights is None else weights[places]
            )
            for places in plan.tested_on
        ],
        axis=1,
    )
    error = scores.error(predicted, y, weights)
    if not probabilities:
        return Figures(error, fold_errors, None, None)
    nll, brier = scores.nll(result, y, weights), scores.brier(result, y, weights)
    return Figures(error, fold_errors, nll, brier)


def _parameters(calibrator: Calibrator) -> str:
    # The parts are not fitted, so their attributes are their parameters.
    return f"{type(calibrator)} {vars(calibrator)}"


def _stack_rows(margins: Sequence[Margins]) -> Margins:
    """Stack the rows of several margins."""

    def stack(values: list[FloatArray | None]) -> FloatArray | None:
        present = [value for value in values if value is not None]
        return np.concatenate(present) if present else None

    first = margins[0]
    return Margins(
        mean=stack([each.mean for each in margins]),
        variance=stack([each.variance for each in margins]),
        noise=first.noise,
        probability=stack([each.probability for each in margins]),
    )
