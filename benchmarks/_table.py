"""Tables of benchmarks as CSV files, from which the documentation makes its pages."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path


def write_table(
    path: Path, words: str, head: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """Write a table; what it shows stands in its first line, after a ``#``."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {words}\n")
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
