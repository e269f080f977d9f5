"""Files that are read whole: JSON lines and Excel."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..core.checks import listed
from ..core.extras import needed
from ._dialect import ROWS_ABOVE_HEADER
from ._errors import TableError, pandas_module
from ._files import PIECE_ROWS, TableFile, first_line
from ._unpacking import damage_of_packed_named, unpacked


@dataclass(frozen=True)
class FrameFile(TableFile):
    """A table that is in memory."""

    frame: Any = None

    @property
    def first_rows(self) -> tuple[tuple[str, ...], ...]:
        """Some rows after the header, as texts."""
        rows = self.frame.head(ROWS_ABOVE_HEADER).itertuples(index=False)
        return tuple(tuple(str(field).strip() for field in row) for row in rows)

    def pieces(
        self,
        columns: Sequence[str] | None = None,
        numbers: Collection[str] = (),
        rows: int = PIECE_ROWS,
    ) -> Iterator[Any]:
        """Read the table piece by piece; see `TableFile.pieces`."""
        chosen = self.frame if columns is None else self.frame[list(columns)]
        for start in range(0, max(len(chosen), 1), rows):
            yield chosen.iloc[start : start + rows].reset_index(drop=True)


def open_json_lines(stream: BinaryIO, name: str, packed: str) -> FrameFile:
    """Open a file with a JSON object in every line."""
    rows = []
    with damage_of_packed_named(name):
        for number, line in enumerate(unpacked(stream, packed), 1):
            if line.strip():
                rows.append(_row(line.removeprefix(BOM_UTF8), number, name))
    frame = pandas_module().DataFrame(rows)
    return FrameFile(name, tuple(frame.columns), frame=frame)


def _row(line: bytes, number: int, name: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        text = line[:40].decode(errors="replace").strip()
        raise TableError(f"Line {number} of {name} is not JSON: {text!r}.") from None
    if not isinstance(row, dict):
        raise TableError(
            f"Line {number} of {name} is not a JSON object, with a name for each value."
        )
    return row


def open_excel(stream: BinaryIO, name: str) -> FrameFile:
    """Open the first sheet of an Excel file that holds anything."""
    pandas = pandas_module()
    needed("openpyxl", "excel", "Excel files need openpyxl")
    try:
        stream.seek(0)
        # Fields as the file has them: pandas would turn texts such as 00501 into numbers.
        sheets = pandas.read_excel(
            stream,
            sheet_name=None,
            engine="openpyxl",
            dtype=object,
            keep_default_na=False,
            na_values=[""],
        )
    except Exception as error:  # a damaged file reaches all parts of openpyxl
        raise TableError(f"{name} is a damaged Excel file: {first_line(error)}.") from None
    full = [sheet for sheet, frame in sheets.items() if len(frame.columns)]
    if not full:
        raise TableError(f"{name} is empty.")
    frame = sheets[full[0]].rename(columns=lambda one: str(one).strip())
    frame = frame.dropna(how="all").reset_index(drop=True).infer_objects()
    if not len(frame):
        raise TableError(f"{name} has a header but no rows.")
    twice = [column for column, count in Counter(frame.columns).items() if count > 1]
    if twice:
        raise TableError(f"The header of {name} has the name {twice[0]!r} twice; rename one.")
    notes: tuple[str, ...] = ()
    if len(full) > 1:
        notes = (
            f"Read the sheet {full[0]!r}, not {listed(full[1:], 'and')}; to use another one, save "
            "it as CSV.",
        )
    return FrameFile(name, tuple(frame.columns), notes=notes, frame=frame)
