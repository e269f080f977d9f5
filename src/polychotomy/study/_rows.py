"""The rows of a store, and their checksums: what a disk has changed is found when it is read.

Design note: SQLite has checksums for its log, not for its pages, and a changed digit is a valid
row. A checksum of the whole file would make every write as slow as reading everything. So each
result has one, and each unit one over its own row and its results', so that none can be missing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from ..execution.units import Outcome, Unit, canonical, digest

Row = Mapping[str, Any]

UNIT = (
    "key",
    "family",
    "study",
    "dataset",
    "dataset_checksum",
    "partition",
    "sweep",
    "definition",
    "results_version",
    "failure",
    "traceback",
    "seconds",
    "versions",
    "recorded",
    "numerics_version",
)
ADDED = {
    "unit": {"numerics_version": "INTEGER", "checksum": "TEXT"},
    "result": {"checksum": "TEXT"},
}
RESULT = (
    "key",
    "unit",
    "position",
    "method",
    "error",
    "nll",
    "figures",
    "parameters",
    "seconds_shared",
    "seconds_own",
    "warnings",
    "failure",
)
_REAL = {"seconds", "error", "nll", "seconds_shared", "seconds_own"}
_JSON = {
    "definition": dict,
    "versions": dict,
    "figures": dict,
    "parameters": dict,
    "warnings": list,
}


class Damaged(NamedTuple):
    """A unit whose rows are not what was written: its row's number in the table, and its name."""

    rowid: int
    where: str


def unit_row(unit: Unit, outcome: Outcome) -> dict[str, Any]:
    """Return the row of a unit, without its checksum."""
    return {
        "key": unit.key,
        "family": unit.family,
        "study": unit.study,
        "dataset": unit.dataset,
        "dataset_checksum": unit.dataset_checksum,
        "partition": unit.partition,
        "sweep": unit.sweep,
        "definition": canonical(unit.definition),
        "results_version": unit.results_version,
        "failure": outcome.failure,
        "traceback": outcome.traceback,
        "seconds": outcome.seconds,
        "versions": json.dumps(dict(outcome.versions)),
        "recorded": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "numerics_version": unit.numerics_version,
    }


def result_rows(unit: Unit, outcome: Outcome) -> Iterator[dict[str, Any]]:
    """Yield the rows of its results, each with its checksum."""
    for position, result in enumerate(outcome.results):
        row = {
            "key": digest({"unit": unit.key, "method": result.method}),
            "unit": unit.key,
            "position": position,
            "method": result.method,
            "error": result.error,
            "nll": result.nll,
            "figures": json.dumps(result.figures),
            "parameters": json.dumps(result.parameters),
            "seconds_shared": result.seconds_shared,
            "seconds_own": result.seconds_own,
            "warnings": json.dumps(list(result.warnings)),
            "failure": result.failure,
        }
        yield row | {"checksum": seal_result(row)}


def seal_result(row: Row) -> str:
    """Return the checksum of a row of results, from the values as they are stored."""
    return _digest([_stored(row, name) for name in RESULT])


def seal_unit(row: Row, seals: Iterable[Any]) -> str:
    """Return the checksum of a row of units and of the checksums of its results."""
    return _digest([[_stored(row, name) for name in UNIT], sorted(map(str, seals))])


def damaged_units(units: Iterable[Row], results: Iterable[Row], strict: bool) -> list[Damaged]:
    """Return the units with a wrong checksum or text that is not JSON.

    Parameters
    ----------
    units, results : iterable of mapping
        The rows of both tables; units with "rowid".
    strict : bool
        Whether all rows must have a checksum, which stores of schema 1 do not have.
    """
    by_unit: dict[Any, list[Row]] = {}
    for row in results:
        by_unit.setdefault(row["unit"], []).append(row)
    return [
        Damaged(unit["rowid"], _where(unit))
        for unit in units
        if not _is_intact(unit, by_unit.get(unit["key"], []), strict)
    ]


def is_readable(row: Row) -> bool:
    """Return whether the columns with JSON hold JSON of the right type."""
    try:
        return all(isinstance(json.loads(row[n]), kind) for n, kind in _JSON.items() if n in row)
    except (TypeError, ValueError, RecursionError):
        return False


def _is_intact(unit: Row, results: list[Row], strict: bool) -> bool:
    seal = unit.get("checksum")
    seals = [row.get("checksum") for row in results]
    if seal is None and not strict:
        return all(map(is_readable, [unit, *results]))
    return seals == [seal_result(row) for row in results] and seal == seal_unit(unit, seals)


def _where(unit: Row) -> str:
    # The names themselves may be what is damaged.
    study, dataset, sweep = (ascii(unit[name]) for name in ("study", "dataset", "sweep"))
    return f"study {study}, data set {dataset}, partition {unit['partition']!a}, sweep {sweep}"


def _stored(row: Row, name: str) -> Any:
    """Return a value as SQLite gives it back: integers and -0.0 in a real column as floats."""
    value = row.get(name)
    return value + 0.0 if name in _REAL and isinstance(value, int | float) else value


def _digest(values: list[Any]) -> str:
    # Pure ASCII, and `repr` for bytes, because damaged values may be of any type.
    return sha256(json.dumps(values, default=repr).encode()).hexdigest()
