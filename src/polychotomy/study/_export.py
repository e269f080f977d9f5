"""Results as files that other programs read."""

from __future__ import annotations

import csv
import json
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from ..core import files
from ..core.extras import needed

_NUMBERS = {"error", "nll", "seconds_shared", "seconds_own", "seconds_unit"}
_INTEGERS = {"partition", "results_version"}
_AS_JSON = {"parameters", "warnings", "versions", "definition"}
_COLUMNS = [
    "study",
    "dataset",
    "dataset_checksum",
    "partition",
    "sweep",
    "method",
    "error",
    "nll",
    "parameters",
    "seconds_shared",
    "seconds_own",
    "seconds_unit",
    "warnings",
    "failure",
    "versions",
    "recorded",
    "definition",
    "results_version",
    "unit",
    "key",
]


def write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    """Write rows of `Store.results` as CSV, with a column for each further figure."""
    columns = _columns(rows)
    with files.replacing(path) as stream:
        text = TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.DictWriter(text, columns)
        writer.writeheader()
        writer.writerows(_flat(row) for row in rows)
        # Flush, and leave the stream open.
        text.detach()


def write_parquet(rows: list[dict[str, Any]], path: Path) -> None:
    """Write rows of `Store.results` as Parquet, in the columns of the CSV."""
    pyarrow = needed("pyarrow", "files", "Parquet needs pyarrow", instead="export CSV")
    from pyarrow import parquet

    types = {name: _arrow_type(pyarrow, name) for name in _columns(rows)}
    table = pyarrow.Table.from_pylist([_flat(row) for row in rows], pyarrow.schema(types.items()))
    with files.replacing(path) as stream:
        parquet.write_table(table, stream)


def _columns(rows: list[dict[str, Any]]) -> list[str]:
    figures = sorted({f"figure_{name}" for row in rows for name in row["figures"]})
    after = _COLUMNS.index("nll") + 1
    return [*_COLUMNS[:after], *figures, *_COLUMNS[after:]]


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat = {
        name: json.dumps(row[name], ensure_ascii=False) if name in _AS_JSON else row[name]
        for name in _COLUMNS
    }
    return flat | {f"figure_{name}": value for name, value in row["figures"].items()}


def _arrow_type(pyarrow: Any, name: str) -> Any:
    if name in _INTEGERS:
        return pyarrow.int64()
    if name in _NUMBERS or name.startswith("figure_"):
        return pyarrow.float64()
    return pyarrow.string()
