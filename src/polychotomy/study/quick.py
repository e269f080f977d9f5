"""A study cut down to about a minute, on data that need no download."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .. import datasets
from ..core.checks import suggestion
from ..execution.units import Unit
from .definition import DatasetPart, StudyDefinition
from .protocol import units_of

PARTITIONS = 5
MOST_ROWS = 600
N_DATASETS = 3
EXTRA = ("iris", "wine", "balance-scale")
AT_HAND = ("generated", "scikit-learn")


def quick_study(study: StudyDefinition) -> StudyDefinition:
    """Cut a study down: five partitions, only the coarse grid, and data that need no download.

    Of the data sets of the study that are generated or come with scikit-learn, and have training
    parts of up to 600 rows, the three that cost least are kept; others are added to make three.
    It keeps the study's name: a report says in what it departs from the study.

    Parameters
    ----------
    study : StudyDefinition
        The whole study.

    Returns
    -------
    quick : StudyDefinition

    Examples
    --------
    >>> from polychotomy.study.definition import load_study
    >>> from polychotomy.study.quick import quick_study
    >>> quick = quick_study(load_study("duan2003"))
    >>> [part.label for part in quick.datasets], quick.partitions, quick.search.steps
    (['waveform', 'iris', 'wine'], 5, 'coarse')
    """
    at_hand = [
        replace(part, partitions=min(part.partitions, PARTITIONS))
        for part in study.datasets
        if quick_source(part.name) and part.train_rows() <= MOST_ROWS
    ]
    cheapest = sorted(at_hand, key=_cost)[:N_DATASETS]
    parts = [part for part in at_hand if part in cheapest]
    taken = {part.name for part in parts} | {part.label for part in study.datasets}
    for name in EXTRA:
        if len(parts) < N_DATASETS and name not in taken:
            parts.append(_part(name, study))
    return replace(
        study,
        partitions=min(study.partitions, PARTITIONS),
        search=replace(study.search, steps="coarse"),
        datasets=tuple(parts),
    )


def _cost(part: DatasetPart) -> float:
    return float(part.train_rows() ** 2 * datasets.facts(part.name).n_classes)


def _part(name: str, study: StudyDefinition) -> DatasetPart:
    methods = tuple(method.name for method in study.methods)
    return DatasetPart(
        name, name, 0.5, "stratified", min(study.partitions, PARTITIONS), methods, {}, ()
    )


def quick_source(name: str) -> dict[str, Any]:
    """Return the options that load a data set without a download; empty if it needs one.

    Examples
    --------
    >>> from polychotomy.study.quick import quick_source
    >>> quick_source("iris"), quick_source("abe")
    ({'source': 'scikit-learn', 'exact': False}, {})
    """
    for source in AT_HAND:
        if source in datasets.facts(name).sources:
            return {"source": source, "exact": False}
    return {}


def quick_units(
    study: StudyDefinition,
    datasets_wanted: Iterable[str] | None = None,
    methods_wanted: Iterable[str] | None = None,
    partitions: int | None = None,
) -> list[Unit]:
    """Return the units of a study that `quick_study` has cut down, on data that need no download.

    Parameters
    ----------
    study : StudyDefinition
        From `quick_study`.
    datasets_wanted, methods_wanted : iterable of str, optional
        Only some, as for `units_of`.
    partitions : int, optional
        Fewer partitions.

    Returns
    -------
    units : list of Unit

    Examples
    --------
    >>> from polychotomy.study.definition import load_study
    >>> from polychotomy.study.quick import quick_study, quick_units
    >>> study = quick_study(load_study("duan2005"))
    >>> len(quick_units(study, ["waveform_150"], ["MWV_SVM"], partitions=2))
    2
    """
    wanted = list(datasets_wanted) if datasets_wanted is not None else None
    methods = list(methods_wanted) if methods_wanted is not None else None
    labels = [part.label for part in study.datasets]
    for name in wanted or ():
        if name not in labels:
            raise ValueError(
                f"The quick version of {study.name} has no data set {name!r}. "
                f"{suggestion(name, labels)}"
            )
    chosen = [part for part in study.datasets if wanted is None or part.label in wanted]
    units = []
    for part in chosen:
        units += units_of(study, [part.label], methods, partitions, quick_source(part.name))
    return units
