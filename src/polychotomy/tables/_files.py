"""What all kinds of files with a table have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ._dialect import Dialect
from ._errors import pandas_module

PIECE_ROWS = 20_000


@dataclass(frozen=True)
class TableFile:
    """An open file with a table.

    Attributes
    ----------
    name : str
        The name, for messages.
    names : tuple of str
        The columns.
    dialect : Dialect or None
        The format of the text; None for files that are not CSV.
    notes : tuple of str
        Notes for the user about the file.
    """

    name: str
    names: tuple[str, ...]
    dialect: Dialect | None = None
    notes: tuple[str, ...] = ()

    @property
    def decimal(self) -> str:
        """The decimal point."""
        return self.own_decimal or "."

    @property
    def own_decimal(self) -> str:
        """The decimal point of a text; nothing for other files, whose numbers have none."""
        return "" if self.dialect is None else self.dialect.decimal

    @property
    def first_rows(self) -> tuple[tuple[str, ...], ...]:
        """Some rows after the header, as texts; none of files that name their columns."""
        return () if self.dialect is None else self.dialect.first_rows

    def with_decimal(self, decimal: str) -> TableFile:
        """Return the same file; what its fields leave open is decided by a decimal point.

        Parameters
        ----------
        decimal : str
            The decimal point of files like this one, or nothing if it is not known.
        """
        if not decimal or self.dialect is None or self.dialect.sure:
            return self
        return replace(self, dialect=replace(self.dialect, decimal=decimal))

    @property
    def typed(self) -> set[str]:
        """The columns of a CSV file whose first fields are numbers; others have types anyway."""
        if self.dialect is None:
            return set()
        return {name for name, one in zip(self.names, self.dialect.typed, strict=True) if one}

    def read(self, words: Collection[str] = ()) -> Any:
        """Return the whole table as a DataFrame.

        Columns of a CSV file are numbers, if all fields are, or else the texts as they are in the
        file. The empty field is missing; no other text is.

        Parameters
        ----------
        words : collection of str
            Columns to read as words even if they look like numbers.
        """
        frames = list(self.pieces())
        return pandas_module().concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]

    def pieces(
        self,
        columns: Sequence[str] | None = None,
        numbers: Collection[str] = (),
        rows: int = PIECE_ROWS,
    ) -> Iterator[Any]:
        """Read the table piece by piece.

        Parameters
        ----------
        columns : sequence of str, default=None
            The columns to read; all by default.
        numbers : collection of str
            Columns that are probably numbers; those of a CSV file are strings otherwise.
        rows : int
            The number of rows in a piece, at most.
        """
        raise NotImplementedError


def first_line(error: BaseException) -> str:
    """Return the first line of an error, without a full stop."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
