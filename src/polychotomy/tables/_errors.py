"""The error of a table that cannot be used."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from ..core.extras import needed


class TableError(ValueError):
    """A table cannot be used; the message is one sentence for the user.

    Examples
    --------
    >>> from polychotomy.tables import TableError
    >>> raise TableError("The table has no rows.")
    Traceback (most recent call last):
        ...
    polychotomy.tables._errors.TableError: The table has no rows.
    """


def option(name: str, *values: object) -> str:
    """Return an option of the command line as it is typed, for messages.

    The parameters of `read_table` have the same names.
    """
    return " ".join([f"--{name}", *(shlex.quote(str(value)) for value in values)])


def pandas_module() -> Any:
    """Return pandas, or raise an error that says how to install it."""
    return needed("pandas", "files", "Tables need pandas and pyarrow")


def frame_of(columns: Mapping[str, Any], n_rows: int) -> Any:
    """Return a DataFrame of arrays as they are; pandas would turn words into a type of its own."""
    pandas = pandas_module()
    index = pandas.RangeIndex(n_rows)
    series = {
        name: pandas.Series(values, index=index, dtype=values.dtype, copy=False)
        for name, values in columns.items()
    }
    return pandas.DataFrame(series, index=index, copy=False)
