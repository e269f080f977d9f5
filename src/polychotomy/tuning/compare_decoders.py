"""All decoders that fit a code, compared on one set of scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone

from ..decoding import DECODERS, Decoder
from ..pipe.classifier import PolychotomyClassifier
from ..pipe.cross_fit import FoldPlan, TrialBatch, figures
from ..pipe.parts import (
    Parts,
    calibrator_for,
    check_together,
    requires_probabilities,
    resolve_decoder,
)
from ..pipe.session import Session, start
from ..pipe.training import try_once


@dataclass(frozen=True)
class DecoderComparison:
    """The cross-validated figures of several decoders; it prints as a table.

    Attributes
    ----------
    rows : list of dict
        For every decoder, the least error first: "decoder", "error" (the fraction of
        misclassified rows), "nll" (the mean negative log-likelihood), "brier" (the mean squared
        distance of the probabilities to the truth), and "seconds" (fitting and decoding, without
        the machines). "nll" and "brier" are None without probabilities.
    n_rows : int
        The number of rows. Each was held out once.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from polychotomy import PolychotomyClassifier, compare_decoders
    >>> clf = PolychotomyClassifier(LogisticRegression())
    >>> comparison = compare_decoders(clf, *load_iris(return_X_y=True), ["max_wins"])
    >>> comparison.rows[0]["decoder"], comparison.n_rows
    ('MaxWins()', 150)
    """

    rows: list[dict[str, Any]]
    n_rows: int

    def __str__(self) -> str:
        width = max(len(row["decoder"]) for row in self.rows) + 2
        lines = [f"{'decoder':<{width}}{'error':>8}{'nll':>9}{'brier':>9}"]
        for row in self.rows:
            nll, brier = (
                "" if row[name] is None else f"{row[name]:.4f}" for name in ("nll", "brier")
            )
            line = f"{row['decoder']:<{width}}{row['error']:>8.4f}{nll:>9}{brier:>9}"
            lines.append(line.rstrip())
        return "\n".join(lines)


def compare_decoders(
    clf: PolychotomyClassifier,
    X: Any,
    y: ArrayLike,
    decoders: Iterable[Decoder | str] | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    **fit_params: Any,
) -> DecoderComparison:
    """Compare all decoders that fit the code of a classifier, on one set of scores.

    The machines are trained once for every fold of ``clf.cv``, and all decoders read their
    scores of the rows left out. Calibrators and decoders that learn are fitted on the other
    folds, so that no row is judged by a part that has seen it.

    Parameters
    ----------
    clf : PolychotomyClassifier
        Its machine, code, calibrator, folds and weights are used. It is not changed, and does
        not have to be fitted. With ``calibrator="auto"``, decoders that need probabilities get
        Platt's sigmoid if the machine has no probabilities of its own. Tempering is skipped.
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The inputs.
    y : array-like of shape (n_rows,)
        The classes.
    decoders : iterable of Decoder or str, default=None
        The decoders to compare. By default, all that fit the code, in the configurations of
        their ``examples()``.
    sample_weight : array-like of shape (n_rows,), default=None
        The weights of the rows, in training and in the figures.
    **fit_params : dict
        As for ``clf.fit``.

    Returns
    -------
    comparison : DecoderComparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from polychotomy import PolychotomyClassifier, compare_decoders
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PolychotomyClassifier(LogisticRegression(), code="one_vs_rest")
    >>> print(compare_decoders(clf, X, y, ["winner_takes_all", "code_coupling"]))
    decoder              error      nll    brier
    WinnerTakesAll()    0.0533   0.2916   0.1519
    CodeCoupling()      0.0533   0.3037   0.1577
    """
    session = start(clone(clf), X, y, sample_weight, fit_params)
    splits = session.split()
    if not splits:
        raise ValueError(
            "compare_decoders needs folds: cv must be a number of folds or a splitter, and some "
            "class must have two rows."
        )
    pipes = _chosen(decoders, session, clf.calibrator)
    plan = FoldPlan(session.data, session.classes, session.decoder_seed, splits)
    trial = try_once(session.data, splits, session.parts.machine.has_probability)
    batch = TrialBatch(plan, [trial])
    rows = [_judged(batch, plan, parts) for parts in pipes]
    rows.sort(key=lambda row: (row["error"], np.inf if row["nll"] is None else row["nll"]))
    return DecoderComparison(rows, len(session.data.rows))


def _judged(batch: TrialBatch, plan: FoldPlan, parts: Parts) -> dict[str, Any]:
    start = perf_counter()
    found = figures(batch.class_scores(parts), plan, parts.yields_probabilities)
    return {
        "decoder": repr(parts.decoder),
        "error": float(found.error[0]),
        "nll": None if found.nll is None else float(found.nll[0]),
        "brier": None if found.brier is None else float(found.brier[0]),
        "seconds": perf_counter() - start,
    }


def _chosen(
    decoders: Iterable[Decoder | str] | None, session: Session, calibrator: Any
) -> list[Parts]:
    """Return a pipe for every decoder, all with the same machine and code."""

    def pipe(decoder: Decoder) -> Parts:
        return replace(
            session.parts,
            tempering=None,
            decoder=decoder,
            calibrator=calibrator_for(calibrator, session.parts.machine, decoder),
        )

    codebook = session.data.codebook
    if decoders is not None:
        pipes = [pipe(resolve_decoder(decoder)) for decoder in decoders]
        for parts in pipes:
            check_together(parts, codebook)
        return pipes
    pipes = [pipe(decoder) for kind in DECODERS.values() for decoder in kind.examples()]
    return [
        parts
        for parts in pipes
        if parts.decoder.fits(codebook) and _possible(parts, session.data.X)
    ]


def _possible(parts: Parts, X: Any) -> bool:
    decoder = parts.decoder
    if requires_probabilities(decoder) and not parts.has_probabilities:
        return False
    if issparse(X) and not decoder.takes_sparse:
        return False
    return "inputs" not in decoder.needs or bool(np.isfinite(X.data if issparse(X) else X).all())
