"""Where the results of a study come from, and how they differ from its definition."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .. import datasets
from ..execution.units import canonical
from .definition import DatasetPart, StudyDefinition
from .results import StudyResults


@dataclass(frozen=True)
class Provenance:
    """Where the results of a study come from.

    Parameters
    ----------
    versions : tuple of (dict, int)
        The software versions that computed units, and the number of units of each.
    first, last : str
        When the first and the last unit were recorded.
    n_units, n_failed : int
        The units in the store, and those that failed.
    data : tuple of dict
        For each data set "label", "name", "source", "train", "test", "partitions", "split" and
        "checksum".
    settings : dict
        What all units have in common: seed, search, inputs and the version of results.
    departures : tuple of str
        How the runs differ from the definition of the study.

    Examples
    --------
    >>> from polychotomy.study.provenance import Provenance
    >>> Provenance((({"numpy": "2.4"}, 9),), "2026-01-01", "2026-01-02", 9, 0, (), {}, ()).n_units
    9
    """

    versions: tuple[tuple[dict[str, str], int], ...]
    first: str
    last: str
    n_units: int
    n_failed: int
    data: tuple[dict[str, Any], ...]
    settings: dict[str, Any]
    departures: tuple[str, ...]


def provenance_of(results: StudyResults) -> Provenance:
    """Return where results come from.

    Parameters
    ----------
    results : StudyResults
        The runs.

    Returns
    -------
    provenance : Provenance
    """
    units = list(results.units.values())
    versions = Counter(json.dumps(unit["versions"]) for unit in units)
    times = sorted(unit["recorded"] for unit in units)
    return Provenance(
        versions=tuple((json.loads(text), n) for text, n in versions.most_common()),
        first=times[0],
        last=times[-1],
        n_units=len(units),
        n_failed=sum(unit["method"] is None for unit in units),
        data=tuple(_data(results, label) for label in results.datasets),
        settings=_settings(results),
        departures=departures(results),
    )


def _data(results: StudyResults, label: str) -> dict[str, Any]:
    row = next(row for row in results.rows if row["dataset"] == label)
    definition = row["definition"]
    data = definition.get("data", {})
    train, ratio = definition.get("train"), results.test_to_train(label)
    partitions = {r["partition"] for r in results.rows if r["dataset"] == label}
    known = data.get("name") in datasets.names()
    of_papers = known and row["dataset_checksum"] == datasets.facts(data["name"]).checksum
    return {
        "label": label,
        "name": data.get("name", label),
        "source": data.get("source", "the papers' rows" if of_papers else "rows in another order"),
        "train": train,
        "test": None if math.isnan(ratio) else round(ratio * train),
        "partitions": len(partitions),
        "split": definition.get("split"),
        "checksum": row["dataset_checksum"],
    }


def _settings(results: StudyResults) -> dict[str, Any]:
    """Return the settings that the units of all data sets share."""
    found: dict[str, Any] = {}
    for key in ("seed", "inputs", "search"):
        values = {json.dumps(row["definition"].get(key)) for row in results.rows}
        if len(values) == 1 and values != {"null"}:
            found[key] = json.loads(values.pop())
    found["results version"] = max(row["results_version"] for row in results.rows)
    return found


def departures(results: StudyResults) -> tuple[str, ...]:
    """Return how the runs differ from the definition of the study, in sentences.

    Parameters
    ----------
    results : StudyResults
        The runs.

    Returns
    -------
    sentences : tuple of str
        None for a study whose definition is not known.
    """
    study = results.study
    if study is None:
        return ()
    found: list[str] = []
    parts = {part.label: part for part in study.datasets}
    missing = [label for label in parts if label not in results.datasets]
    if missing:
        found.append(f"Data sets that were not run: {', '.join(missing)}.")
    idle = [method.name for method in study.methods if method.name not in results.methods]
    if idle:
        found.append(f"Methods that were not run: {', '.join(idle)}.")
    search = {canonical(row["definition"].get("search")) for row in results.rows}
    others = sorted(search - {canonical(asdict(study.search)), "null"})
    found += [_search_departure(json.loads(text), study) for text in others]
    for label in results.datasets:
        if label not in parts:
            found.append(f"{label} is not a data set of the study.")
        else:
            found += _part_departures(results, parts[label])
    return tuple(found)


def _search_departure(search: Mapping[str, Any], study: StudyDefinition) -> str:
    changed = [
        f"{key} {search.get(key)!r} instead of {value!r}"
        for key, value in asdict(study.search).items()
        if search.get(key) != value
    ]
    return f"The search of parameters has {', '.join(changed)}."


def _part_departures(results: StudyResults, part: DatasetPart) -> list[str]:
    found = []
    definition = results.definition(part.label)
    done = len({r["partition"] for r in results.rows if r["dataset"] == part.label})
    if done < part.partitions:
        found.append(f"{part.label}: {done} of {part.partitions} partitions.")
    train, rows = definition.get("train"), definition.get("data", {}).get("n_rows")
    if train is not None and train != part.train_rows(rows):
        found.append(f"{part.label}: {train} training rows instead of {part.train_rows(rows)}.")
    source = definition.get("data", {}).get("source")
    if source is not None and source in datasets.facts(part.name).differs:
        found.append(f"{part.label}: {datasets.facts(part.name).differs[source]}.")
    return found
