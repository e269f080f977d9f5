"""The error of a table that cannot be used."""

from __future__ import annotations

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


def pandas_module() -> Any:
    """Return pandas, or raise an error that says how to install it."""
    return needed("pandas", "files", "Tables need pandas and pyarrow")
