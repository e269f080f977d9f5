"""Columns that are set aside: groups of rows, their order in time, and their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray, IntArray
from ._columns import interpreted
from ._content import Content, content_of
from ._errors import TableError, pandas_module


class SetAside:
    """Collects columns that are no inputs, piece by piece.

    Parameters
    ----------
    columns : mapping of str to str
        The columns by their roles: "groups", "order", "weights".
    decimal : str
        The decimal point of numbers that are strings.

    Examples
    --------
    >>> import numpy as np, pandas
    >>> from polychotomy.tables import SetAside
    >>> aside = SetAside({"groups": "who", "weights": "n"})
    >>> piece = pandas.DataFrame({"who": ["b", "a", "b"], "n": ["1", "2", "0.5"]})
    >>> aside.add(piece, np.array([True, False, True]))
    >>> {role: values.tolist() for role, values in aside.arrays().items()}
    {'groups': [0, 0], 'weights': [1.0, 0.5]}
    """

    def __init__(self, columns: Mapping[str, str], decimal: str = ".") -> None:
        self.columns = dict(columns)
        self.decimal = decimal
        self._pieces: list[Any] = []
        self._rows: list[IntArray] = []
        self._n_rows = 0

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(dict.fromkeys(self.columns.values()))

    def add(self, frame: Any, chosen: NDArray[np.bool_] | None = None) -> None:
        """Add the next rows of a table, or those of them that are chosen.

        Parameters
        ----------
        frame : DataFrame
            The rows.
        chosen : ndarray of bool of shape (n_rows,), default=None
            Which rows are used; all by default.
        """
        rows = np.arange(self._n_rows, self._n_rows + len(frame)) + 1
        self._n_rows += len(frame)
        self._pieces.append(frame[self.names] if chosen is None else frame[self.names][chosen])
        self._rows.append(rows if chosen is None else rows[chosen])

    def arrays(self) -> dict[str, Any]:
        """Return the columns as arrays, by their roles."""
        if not self.columns:
            return {}
        frame = pandas_module().concat(self._pieces, ignore_index=True)
        rows = np.concatenate(self._rows)
        found: dict[str, Any] = {}
        for role, name in self.columns.items():
            if role == "groups":
                found[role] = group_numbers(content_of(frame[name], ()))
                continue
            turn = order_values if role == "order" else weight_values
            found[role] = turn(content_of(frame[name]), rows, self.decimal)
        return found


def group_numbers(content: Content) -> IntArray:
    """Return the number of each row's group; a row without one is a group of its own."""
    texts = content.as_texts()
    assert texts.codes is not None
    alone = texts.codes < 0
    own = len(texts.texts) + np.cumsum(alone) - 1
    return np.where(alone, own, texts.codes)


def order_values(content: Content, rows: IntArray, decimal: str = ".") -> FloatArray:
    """Return when each row was: the numbers of the column, or the seconds of its dates."""
    values = _filled(content, "order", "a number or a date", rows, decimal)
    if values is None:
        raise TableError(
            f"The column {content.name!r} of --order holds words; it must hold numbers or dates."
        )
    return values


def weight_values(content: Content, rows: IntArray, decimal: str = ".") -> FloatArray:
    """Return how much each row counts."""
    values = _filled(content, "weights", "a number", rows, decimal)
    if values is None:
        raise TableError(f"The column {content.name!r} of --weights does not hold numbers.")
    if (values < 0).any():
        place = int(np.argmax(values < 0))
        raise TableError(
            f"The column {content.name!r} of --weights has {values[place]:.6g} in row "
            f"{rows[place]}; a weight cannot be negative."
        )
    if not values.any():
        raise TableError(f"The column {content.name!r} of --weights is 0 in every row.")
    return values


def _filled(
    content: Content, role: str, wanted: str, rows: IntArray, decimal: str
) -> FloatArray | None:
    """Return the numbers or dates of a column in which no field is empty; None for words."""
    missing = ~content.present
    if missing.any():
        raise TableError(
            f"The column {content.name!r} of --{role} is empty in row {rows[np.argmax(missing)]}; "
            f"every row needs {wanted}."
        )
    column, values = interpreted(content, rows - 1, decimal=decimal, keep=True)
    # A date is its seconds, which would be taken for a weight.
    known = role == "order" or column.kind != "date"
    return values if values.dtype == np.float64 and known else None
