"""The results of one study, taken from a store and arranged by data set and method."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import datasets
from ..core.checks import listed, one_of
from ..core.types import FloatArray
from ..execution.units import Unit, canonical
from ..statistics import Summary, summarise
from .definition import StudyDefinition, load_study, study_names
from .store import Store

FIGURES = ("error", "accuracy", "nll")


@dataclass(frozen=True)
class StudyResults:
    """The runs of a study: the result of each method on each partition of each data set.

    Parameters
    ----------
    name : str
        The study.
    rows : sequence of dict
        Rows of `Store.results`, of this study only.
    study : StudyDefinition or None, default=None
        Its definition, for the order of data sets and methods and for facts not in the store.
    left_out : tuple of str, default=()
        What else is in the store, and was skipped.

    Examples
    --------
    >>> from polychotomy.study.results import StudyResults
    >>> row = {"dataset": "iris", "partition": 0, "method": "VOTE", "error": 0.04, "nll": None,
    ...        "failure": None, "definition": {"methods": [{"name": "VOTE"}]}}
    >>> results = StudyResults("mine", [row, {**row, "partition": 1, "error": 0.06}])
    >>> results.datasets, results.methods
    (('iris',), ('VOTE',))
    >>> print(results.summary("accuracy", "iris", "VOTE", scale=100.0))
    95.00 +- 1.41 (2 runs)
    """

    name: str
    rows: Sequence[Mapping[str, Any]]
    study: StudyDefinition | None = None
    left_out: tuple[str, ...] = ()

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """The data sets that have results, in the order of the study."""
        known = [part.label for part in self.study.datasets] if self.study else []
        return _ordered((row["dataset"] for row in self.rows), known)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods that have results, in the order of the study."""
        known = [method.name for method in self.study.methods] if self.study else []
        return _ordered((name for row in self.rows for name in _names(row)), known)

    @cached_property
    def _runs(self) -> dict[tuple[str, str], dict[int, tuple[float, float | None]]]:
        """The error and NLL of every run; both NaN where it failed."""
        runs: dict[tuple[str, str], dict[int, tuple[float, float | None]]] = {}
        for row in self.rows:
            for name in _names(row):
                run = (math.nan, math.nan) if row["failure"] else (row["error"], row["nll"])
                runs.setdefault((row["dataset"], name), {})[row["partition"]] = run
        return runs

    def runs(self, figure: str, dataset: str, method: str) -> dict[int, float]:
        """Return a figure of every run by its partition, NaN where it failed.

        Parameters
        ----------
        figure : {"error", "accuracy", "nll"}
            The figure; errors and accuracies are shares.
        dataset, method : str
            The data set and the method.

        Returns
        -------
        runs : dict
            Empty if the method was not run, or has no such figure.
        """
        one_of(figure, "figure", FIGURES)
        found = self._runs.get((dataset, method), {})
        if figure == "accuracy":
            return {partition: 1.0 - error for partition, (error, _) in found.items()}
        if figure == "error":
            return {partition: error for partition, (error, _) in found.items()}
        values = {k: math.nan if nll is None else nll for k, (_, nll) in found.items()}
        # A method without probabilities has no NLL; that is not a failure.
        finite = {k: v if math.isfinite(v) else math.nan for k, v in values.items()}
        return finite if any(not math.isnan(v) for v in finite.values()) else {}

    def summary(self, figure: str, dataset: str, method: str, scale: float = 1.0) -> Summary | None:
        """Return the mean and deviation of a figure times `scale`; None if there are no runs."""
        values = self.runs(figure, dataset, method).values()
        return summarise([scale * value for value in values]) if values else None

    def pairs(
        self, figure: str, dataset: str, first: str, second: str
    ) -> tuple[FloatArray, FloatArray]:
        """Return the figures of two methods on the partitions that both were run on."""
        a, b = self.runs(figure, dataset, first), self.runs(figure, dataset, second)
        both = sorted(a.keys() & b.keys())
        return np.array([a[i] for i in both]), np.array([b[i] for i in both])

    def means(self, figure: str, methods: Sequence[str]) -> FloatArray:
        """Return the mean of a figure, a row for each data set, NaN where there is none."""
        table = np.full((len(self.datasets), len(methods)), np.nan)
        for i, dataset in enumerate(self.datasets):
            for j, method in enumerate(methods):
                summary = self.summary(figure, dataset, method)
                table[i, j] = np.nan if summary is None else summary.mean
        return table

    def with_figure(self, figure: str, dataset: str | None = None) -> tuple[str, ...]:
        """Return the methods that have a figure, on one data set or on any."""
        where = self.datasets if dataset is None else (dataset,)
        return tuple(
            method
            for method in self.methods
            if any(self.runs(figure, label, method) for label in where)
        )

    def definition(self, dataset: str) -> Mapping[str, Any]:
        """Return how the units of a data set were defined."""
        found: Mapping[str, Any] = next(
            row["definition"] for row in self.rows if row["dataset"] == dataset
        )
        return found

    def test_to_train(self, dataset: str) -> float:
        """Return the number of test rows over the number of training rows; NaN if not known."""
        definition = self.definition(dataset)
        data = definition.get("data", {})
        if data.get("name") not in datasets.names() or not definition.get("train"):
            return math.nan
        rows = data.get("n_rows") or datasets.facts(data["name"]).rows
        return float((rows - definition["train"]) / definition["train"])

    @cached_property
    def units(self) -> dict[str, Mapping[str, Any]]:
        """One row for every unit, by the unit's key."""
        return {row["unit"]: row for row in self.rows}

    @cached_property
    def failures(self) -> tuple[tuple[str, int], ...]:
        """Every reason for which a method or a unit failed, with where, and how often."""
        return _counted(
            f"{row['dataset']}, {row['method'] or row['sweep']}: {row['failure']}"
            for row in self.rows
            if row["failure"]
        )

    @cached_property
    def warnings(self) -> tuple[tuple[str, int], ...]:
        """Every warning, with the number of units that gave it."""
        seen = {(row["unit"], text) for row in self.rows for text in row["warnings"]}
        return _counted(text for _, text in sorted(seen))


def read_results(
    store: Store,
    study: StudyDefinition | str | None = None,
    units: Iterable[Unit] | None = None,
) -> StudyResults:
    """Take the results of a study from a store.

    Parameters
    ----------
    store : Store
        The store.
    study : StudyDefinition or str, optional
        The study, or its name. Not needed if the store holds only one study.
    units : iterable of Unit, optional
        The units whose results to take. Without it, if a data set was run in several ways (other
        sizes, searches, seeds or data), the way with the most results is taken and the others are
        named in `left_out`: they must not be mixed.

    Returns
    -------
    results : StudyResults

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from polychotomy.study.results import read_results
    >>> from polychotomy.study.store import Store
    >>> from polychotomy.execution.units import MethodResult, Outcome, Unit
    >>> unit = Unit("demo", "iris", "0f3a", 0, "svm", {"methods": [{"name": "VOTE"}]})
    >>> with TemporaryDirectory() as folder, Store(folder + "/study.db") as store:
    ...     _ = store.record(unit, Outcome((MethodResult("VOTE", error=0.04),)))
    ...     results = read_results(store)
    >>> results.name, results.methods
    ('demo', ('VOTE',))
    """
    families = store.families()
    name = _study_name(store, families, study)
    definition = study if isinstance(study, StudyDefinition) else _built_in(name)
    if units is not None:
        return StudyResults(name, store.results(units), definition)
    mine = [family for family in families if family["study"] == name]
    chosen, left_out = _chosen(mine)
    return StudyResults(name, store.results(families=chosen), definition, tuple(left_out))


def _study_name(
    store: Store, families: Sequence[Mapping[str, Any]], study: StudyDefinition | str | None
) -> str:
    found = sorted({family["study"] for family in families})
    if not found:
        raise ValueError(f"The store {store.path} has no results yet.")
    if study is None:
        if len(found) > 1:
            raise ValueError(
                f"The store {store.path} holds several studies; name one: {listed(found)}."
            )
        return str(found[0])
    name = study if isinstance(study, str) else study.name
    if name not in found:
        raise ValueError(
            f"The store {store.path} has no results of {name!r}; it has {listed(found, 'and')}."
        )
    return name


def _built_in(name: str) -> StudyDefinition | None:
    return load_study(name) if name in study_names() else None


def _chosen(families: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Choose families that can share one table: one definition for each data set."""
    chosen, left_out = [], []
    for dataset in dict.fromkeys(family["dataset"] for family in families):
        ways: dict[str, list[Mapping[str, Any]]] = {}
        for family in families:
            if family["dataset"] == dataset:
                ways.setdefault(_way(family), []).append(family)
        best = max(ways.values(), key=_weight)
        sweeps: dict[str, list[Mapping[str, Any]]] = {}
        for family in best:
            sweeps.setdefault(family["sweep"], []).append(family)
        taken = [max(same, key=lambda family: _weight([family])) for same in sweeps.values()]
        chosen += [family["family"] for family in taken]
        others = sum(f["n_units"] for f in families if f["dataset"] == dataset)
        others -= sum(family["n_units"] for family in taken)
        if others:
            left_out.append(f"{dataset}: {others} units with another definition.")
    return chosen, left_out


def _way(family: Mapping[str, Any]) -> str:
    """Return what units must share for their results to be compared."""
    definition = {k: v for k, v in family["definition"].items() if k != "methods"}
    return canonical([definition, family["dataset_checksum"], *_versions(family)])


def _versions(family: Mapping[str, Any]) -> tuple[int, int]:
    # Stores of schema 1 have no version of the core's numbers.
    return family["results_version"], family["numerics_version"] or 0


def _weight(families: Sequence[Mapping[str, Any]]) -> tuple[tuple[int, int], int, str]:
    """Prefer the newest version of results, then the most results, then the latest."""
    results = sum(f["n_units"] * len(f["definition"].get("methods", "1")) for f in families)
    return _versions(families[0]), results, max(f["recorded"] for f in families)


def _names(row: Mapping[str, Any]) -> list[str]:
    """Return the methods that a row is about: all of its unit if that failed as a whole."""
    if row["method"] is not None:
        return [row["method"]]
    methods = row["definition"].get("methods", [])
    return [method["name"] if isinstance(method, dict) else str(method) for method in methods]


def _ordered(found: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    names = list(dict.fromkeys(found))
    first = [name for name in known if name in names]
    return (*first, *(name for name in names if name not in first))


def _counted(texts: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(texts).most_common())
