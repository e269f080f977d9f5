"""Tables that are too large to be read whole: an LS-SVM with landmarks, trained piece by piece."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._console import tell
from ._data import is_built_in

if TYPE_CHECKING:
    from ..execution.deadline import Clock
    from ..tables import Table

# As many landmarks as there is time for.
LANDMARKS = (1000, 500, 250)
# A file of fewer bytes is not looked into.
SMALL = 1 << 20
# Reading a piece and encoding it takes so much longer than reading it alone.
ENCODING = 2.0


@dataclass(frozen=True)
class Fitted:
    """A fitted model, and what is said of it: the method, the data, the table and its rows."""

    model: Any
    name: str
    title: str
    table: Table
    n_rows: int
    trained_rows: int
    said: str = ""


def is_large(data: str) -> bool:
    """Return whether a table is too large to be read whole."""
    if data == "-" or "://" in data or is_built_in(data):
        return False
    if os.path.isfile(data) and os.path.getsize(data) < SMALL:
        return False
    from ..tables._streamed import LARGE, n_fields

    return n_fields(data) > LARGE


def fit_streamed(
    data: str,
    target: str,
    options: Mapping[str, Any],
    weights: str | None,
    clock: Clock,
    seed: int,
    jobs: int | None,
) -> Fitted:
    """Train on a large table, and print notes about it.

    `options` are further parameters of `stream_table`; None for their defaults.
    """
    from sklearn.pipeline import Pipeline

    from .. import LSSVM, PolychotomyClassifier
    from ..tables import stream_table

    given = {name: list(value) for name, value in options.items() if value is not None}
    before = clock.spent
    table = stream_table(data, target, weights=weights, **given)
    number = _n_landmarks(clock, table.n_rows, clock.spent - before)
    tell(
        f"{Path(data).name} is large and is not read whole: its columns were looked at in "
        f"{len(table.sample.y)} rows, and an LS-SVM with {number} landmarks is trained on all "
        "rows, piece by piece. Name a --method to read it whole."
    )
    for note in table.sample.notes:
        tell(note)
    classifier = PolychotomyClassifier(
        LSSVM(landmarks=number),
        "one_vs_rest",
        decoder="shrunk_soft_max",
        random_state=seed,
        n_jobs=jobs,
    ).fit(table.rows())
    model = Pipeline([("inputs", table.encoder), ("classifier", classifier)])
    rows = classifier.n_rows_
    name = f"LS-SVM with {number} landmarks"
    return Fitted(model, name, Path(data).name, table.sample, rows, rows)


def _n_landmarks(clock: Clock, n_rows: int, reading: float) -> int:
    """Return how many landmarks there is time for, if one reading took so many seconds."""
    from ..execution.deadline import PACE
    from ..machines.feature_blocks import feature_seconds

    left = clock.left()
    if left is None:
        return LANDMARKS[0]
    slowness = max(1.0, clock.pace / PACE)
    for number in LANDMARKS:
        summing = slowness * 2.0 * feature_seconds(n_rows, number)
        if 2.0 * ENCODING * reading + summing <= left:
            return number
    return LANDMARKS[-1]
