"""Tables of benchmarks: printed as Markdown and, on request, kept as the files of the docs.

A file begins with two lines after ``#``: what the table shows, and when and with which code it was
measured. `tables.py` puts the files into the pages of the documentation.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def add_csv_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--csv``: no folder means the one that the documentation is made from."""
    parser.add_argument(
        "--csv",
        nargs="?",
        type=Path,
        const=RESULTS,
        metavar="FOLDER",
        help="write the tables as files, too (without a folder: benchmarks/results)",
    )


class Table:
    """A table that is printed line by line.

    Parameters
    ----------
    name : str
        Name of its file, without the ending.
    words : str
        What it shows.
    head : sequence of str
        Names of its columns.
    """

    def __init__(self, name: str, words: str, head: Sequence[str]) -> None:
        self.name, self.words, self.head = name, words, [*head]
        self.rows: list[list[str]] = []

    def add(self, *cells: object) -> None:
        """Add a row and print it, the first one below the names of the columns."""
        if not self.rows:
            print("\n".join(["", *_head(self.head)]))
        self.rows.append([str(cell) for cell in cells])
        print(_line(self.rows[-1]), flush=True)

    def save(self, folder: Path | None) -> None:
        """Write the file, if there is a folder for it."""
        if folder is not None:
            write_table(folder / f"{self.name}.csv", self.words, self.head, self.rows)


def write_table(
    path: Path,
    words: str,
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    measured: str | None = None,
) -> None:
    """Write a table; what it shows and when it was measured stand in its first lines."""
    measured = measured or f"Measured on {date.today()} with {version()}."
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {words}\n# {measured}\n")
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


def version() -> str:
    """Return the commit of the code, and whether it was changed since."""
    command = ["git", "describe", "--always", "--dirty=, changed", "--exclude", "*"]
    done = subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    return f"commit {done.stdout.strip()}" if done.returncode == 0 else "an unknown version"


def read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the words of a file, and its rows, the first with the names of the columns."""
    lines = path.read_text(encoding="utf-8").splitlines()
    words = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
    return words, list(csv.reader(line for line in lines if not line.startswith("#")))


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    return "\n".join([*_head(head), *(_line(row) for row in rows)])


def _head(head: Sequence[str]) -> list[str]:
    return [_line(head), f"|{'---|' * len(head)}"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
