"""Fitting the pipe on rows that are read block by block.

The first reading finds the classes, and draws a sample of the rows. Landmarks are chosen in the
sample. The second reading sums over all rows, for all folds at once, and the machines are trained
on these sums. Calibrator, decoder and tempering are fitted on the rows of the sample, whose scores
come from machines of all rows outside their fold.

Note: the sample is kept in memory, so that a third reading, for held-out scores, is not needed.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, cast

import numpy as np
from joblib import effective_n_jobs

from ..blocks import RowBlocks
from ..blocks.first_reading import Survey, survey
from ..core.types import FloatArray
from ..core.weights import class_factors
from ..kernels import Summing
from ..machines import TrainsOnSums
from ..machines.block_sums import block_sums, plan_folds
from ..machines.feature_blocks import fits_together
from .fitting import FittedPipe, fit_pipe
from .folds import FoldRows, check_number
from .parts import Parts, resolve
from .session import Session, start
from .training import BinaryMachines, Searched, fold_scores

# The scores of the sample have at most this many entries, 256 MB, but at least so many rows.
SCORE_ENTRIES, LEAST_ROWS = 1 << 25, 2_000


def fit_on_blocks(classifier: Any, source: RowBlocks) -> tuple[Session, FittedPipe, int]:
    """Fit all parts of a pipe on a source of blocks.

    Parameters
    ----------
    classifier : estimator
        Has the parameters of `PolychotomyClassifier`.
    source : RowBlocks
        The rows, which are read twice.

    Returns
    -------
    session : Session
        The checked parts, with the rows of the sample.
    pipe : FittedPipe
        The fitted pipe.
    n_rows : int
        The number of rows of positive weight.
    """
    parts = resolve(
        classifier.machine,
        classifier.code,
        classifier.calibrator,
        classifier.decoder,
        classifier.tempering,
    )
    _refuse(parts, classifier.cv)
    session, found = _session(classifier, source, survey(source))
    factors = _factors(classifier, found)
    n_folds = _n_folds(session, found)
    machines, *folds = _machines(session, source, found, n_folds, factors)
    numbers = found.sample.ranks % n_folds
    splits = [
        (np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold))
        for fold in range(len(folds))
    ]
    scores = fold_scores(session.data, folds, splits)
    pipe = fit_pipe(session, Searched(machines, scores, splits, folds or None))
    sizes = found.weights if factors is None else found.weights * factors
    return session, replace(pipe, class_sizes=sizes), found.n_rows


def _refuse(parts: Parts, cv: Any) -> None:
    """Refuse what cannot be fitted in two readings."""
    if not hasattr(parts.machine, "fit_sums"):
        raise ValueError(
            f"{parts.machine_name} cannot be trained on blocks of rows, because it needs all of "
            "them at once, or in many passes. Use LSSVM(landmarks=1000) as the machine, or read "
            "as many rows as fit into memory."
        )
    if "refit" in parts.decoder.needs:
        raise ValueError(
            f"{type(parts.decoder).__name__} trains machines of its own, which needs all rows at "
            "once. For blocks of rows choose another decoder."
        )
    if not isinstance(cv, Integral | str):
        raise ValueError(
            "For blocks of rows cv must be a number of folds, 'leave_one_out' or 'prefit'; got "
            f"{cv!r}."
        )


def _session(classifier: Any, source: RowBlocks, found: Survey) -> tuple[Session, Survey]:
    """Check the pipe with the rows of the sample, which is thinned if there are many columns."""
    session = _start(classifier, source, found)
    n_rows, n_columns = len(found.sample.y), session.data.codebook.n_columns
    most = max(LEAST_ROWS, SCORE_ENTRIES // n_columns)
    if n_rows > most:
        found = found.thinned(-(-n_rows // most))
        session = _start(classifier, source, found)
    return session, found


def _start(classifier: Any, source: RowBlocks, found: Survey) -> Session:
    """Check the pipe; rows of the sample have the weights that make up for how it was drawn."""
    sample = found.sample
    X: Any = sample.X
    if source.feature_names is not None:
        from pandas import DataFrame

        X = DataFrame(sample.X, columns=source.feature_names, copy=False)
    session = start(classifier, X, found.classes[sample.y], sample.weights, {}, in_blocks=True)
    factors, data = _factors(classifier, found), session.data
    weights = _product(sample.weights, None if factors is None else factors[sample.y])
    weights = _product(weights, sample.shares)
    data = replace(
        data,
        weights=weights,
        machine_weights=None if data.machine_weights is None else weights,
        options=replace(data.options, counts=_product(data.options.counts, sample.shares)),
        fold_rows=FoldRows(data.X, data.y, data.rows, weights),
    )
    return replace(session, data=data)


def _factors(classifier: Any, found: Survey) -> FloatArray | None:
    """Return the weights of the classes."""
    if classifier.class_weight is None:
        return None
    everyone = np.arange(len(found.classes))
    return class_factors(classifier.class_weight, found.weights, everyone, found.classes)


def _product(first: FloatArray | None, second: FloatArray | None) -> FloatArray | None:
    if first is None or second is None:
        return second if first is None else first
    return first * second


def _n_folds(session: Session, found: Survey) -> int:
    """Return the number of folds; 1 if nothing learns from held-out rows."""
    if isinstance(session.cv, str):
        session.split()  # refuses what it does not know
        return 1
    if not session.learns:
        return 1
    check_number(int(session.cv), found.sizes, session.classes)
    return max(1, int(min(session.cv, found.sizes.max())))


def _machines(
    session: Session,
    source: RowBlocks,
    found: Survey,
    n_folds: int,
    factors: FloatArray | None,
) -> list[BinaryMachines]:
    """Train the machines on all rows, and without every fold, in one reading."""
    data, options = session.data, session.data.options
    machine = cast(TrainsOnSums, data.machine)
    n_threads = effective_n_jobs(options.n_jobs)
    columns, places, sign = data.codebook.trained
    landmarks = machine.landmarks_for_blocks(data.state, data.labels, data.machine_weights, options)
    weighted = data.machine_weights is not None
    matrix = data.codebook.matrix[:, columns]
    plan, layout = plan_folds(found, matrix, n_folds, factors, weighted)
    n_subsets = layout.counts.shape[1]
    limit = data.machine.template.memory_limit
    if not fits_together(limit, len(landmarks), layout, n_subsets, n_threads):
        raise MemoryError(
            f"The sums of {n_folds} folds with {len(landmarks)} landmarks need more than the "
            "memory limit. Use fewer landmarks, fewer folds (cv=2), or cv='leave_one_out', which "
            "needs the sums of all rows only; or raise memory_limit."
        )
    summing = Summing(landmarks, landmarks.precision(data.X))
    sums, layout = block_sums(source, summing, plan, layout, n_threads)
    fitted = machine.fit_sums(landmarks, layout, sums, n_subsets, n_threads)
    return [BinaryMachines(data.machine, each, places, sign) for each in fitted]
