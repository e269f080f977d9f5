"""Read TOML files key by key; every error message names the file and the key.

Design note: keys are read one by one and the unread ones refused, rather than checked against a
schema. The definition reads like the file, and a misspelt key gets a suggestion.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..core.checks import listed, suggestion

_REQUIRED: Any = object()


class Entry:
    """One table of a TOML file; keys are read one by one, and unread keys are refused.

    Parameters
    ----------
    values : mapping
        The keys and values.
    file : str
        The file's name in error messages.
    place : str, default=""
        The place of the table in the file, for example ``"datasets[2]."``.
    """

    def __init__(self, values: Mapping[str, Any], file: str, place: str = "") -> None:
        self._values = values
        self._file = file
        self._place = place
        self._read: set[str] = set()

    def wrong(self, key: str, problem: str) -> ValueError:
        """Return the error for a key that is wrong."""
        return ValueError(f"{self._file}: {self._place}{key} {problem}")

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def _get(self, key: str, default: Any, wanted: str) -> Any:
        self._read.add(key)
        if key in self._values:
            return self._values[key]
        if default is _REQUIRED:
            raise self.wrong(key, f"is missing; it must be {wanted}.")
        return default

    def _must(self, key: str, wanted: str, value: Any) -> ValueError:
        return self.wrong(key, f"must be {wanted}, got {value!r}.")

    def text(self, key: str, default: Any = _REQUIRED) -> str:
        """Return a string."""
        value = self._get(key, default, "a string")
        if not isinstance(value, str) or (default is _REQUIRED and not value.strip()):
            raise self._must(key, "a string that is not empty", value)
        return value

    def choice(self, key: str, known: Iterable[str], default: Any = _REQUIRED) -> str:
        """Return one of the known strings."""
        known = list(known)
        value = self._get(key, default, f"one of {listed(known)}")
        if value not in known:
            hint = suggestion(value, known) if isinstance(value, str) else ""
            raise self.wrong(key, f"is {value!r}. {hint or f'Choose {listed(known)}.'}")
        return str(value)

    def whole(self, key: str, least: int, default: Any = _REQUIRED) -> int:
        """Return a whole number."""
        wanted = f"a whole number of at least {least}"
        value = self._get(key, default, wanted)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self._must(key, wanted, value)
        return value

    def rows_or_share(self, key: str) -> int | float:
        """Return a number of rows, or a share of them between 0 and 1."""
        wanted = "a whole number of rows, or a share of them between 0 and 1"
        value = self._get(key, _REQUIRED, wanted)
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        if not whole and not (isinstance(value, float) and 0.0 < value < 1.0):
            raise self._must(key, wanted, value)
        size: int | float = value
        return size

    def items(self, key: str, wanted: str, default: Any = _REQUIRED) -> list[Any]:
        """Return a list; one without a default must not be empty."""
        value = self._get(key, default, wanted)
        if not isinstance(value, list | tuple) or (default is _REQUIRED and not value):
            raise self._must(key, wanted, value)
        return list(value)

    def texts(self, key: str, default: Any = _REQUIRED) -> tuple[str, ...]:
        """Return a list of strings."""
        wanted = "a list of strings"
        value = self.items(key, wanted, default)
        if not all(isinstance(item, str) for item in value):
            raise self._must(key, wanted, value)
        return tuple(value)

    def numbers(self, key: str, length: int) -> tuple[float, ...]:
        """Return a list of numbers, of a given length."""
        value = self.items(key, f"a list of {length} numbers")
        return self._row(key, value, length)

    def matrix(self, key: str, n_rows: int, n_columns: int) -> tuple[tuple[float, ...], ...]:
        """Return a list of rows of numbers, of a given size."""
        wanted = f"a list of {n_rows} rows of {n_columns} numbers"
        value = self.items(key, wanted)
        if len(value) != n_rows:
            raise self.wrong(key, f"must be {wanted}; it has {len(value)} rows.")
        return tuple(self._row(f"{key}[{i}]", row, n_columns) for i, row in enumerate(value))

    def _row(self, key: str, row: Any, length: int) -> tuple[float, ...]:
        if not isinstance(row, list) or not all(_is_number(value) for value in row):
            raise self._must(key, f"a list of {length} numbers", row)
        if len(row) != length:
            raise self.wrong(key, f"must have {length} numbers; it has {len(row)}.")
        return tuple(float(value) for value in row)

    def table(self, key: str) -> dict[str, Any]:
        """Return a table as it is; an empty one if there is none."""
        value = self._get(key, {}, "a table")
        if not isinstance(value, dict):
            raise self._must(key, "a table", value)
        return value

    def inside(self, values: Mapping[str, Any], place: str) -> Entry:
        """Return a table inside this one."""
        return Entry(values, self._file, f"{self._place}{place}.")

    def entry(self, key: str) -> Entry:
        """Return a table to read key by key; an empty one if there is none."""
        return self.inside(self.table(key), key)

    def entries(self, key: str, default: Any = _REQUIRED) -> list[Entry]:
        """Return a list of tables to read key by key."""
        wanted = f"a list of tables, each under [[{key}]]"
        value = self.items(key, wanted, default)
        for item in value:
            if not isinstance(item, dict):
                raise self._must(key, wanted, value)
        return [self.inside(item, f"{key}[{i}]") for i, item in enumerate(value)]

    def finish(self) -> None:
        """Refuse keys that were not read."""
        for key in self._values:
            if key not in self._read:
                raise self.wrong(key, f"is not known. {suggestion(key, sorted(self._read))}")


def read(path: Path) -> Entry:
    """Read a file."""
    try:
        with path.open("rb") as file:
            return Entry(tomllib.load(file), path.name)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {str(path)!r}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} cannot be read as TOML: {error}.") from error


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
