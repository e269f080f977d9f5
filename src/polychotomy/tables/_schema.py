"""The columns that a model was trained on, and how other tables are matched to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.checks import listed, suggestion
from ._columns import Column, as_numbers, as_words
from ._errors import TableError, pandas_module
from ._reading import PIECE_ROWS, TableFile

MISSING_CATEGORY = "(missing)"


@dataclass(frozen=True)
class TableSchema:
    """Which columns of a table are used, and how.

    Attributes
    ----------
    target : str
        The column with the classes.
    columns : tuple of Column
        The columns that are used.

    Examples
    --------
    >>> import pandas
    >>> from polychotomy.tables import Column, TableSchema
    >>> columns = (Column("width", "number"), Column("colour", "category", ("blue", "red")))
    >>> schema = TableSchema("kind", columns)
    >>> frame, unseen = schema.matched(
    ...     pandas.DataFrame({"colour": ["red", "green"], "width": ["1.5", None]}))
    >>> print(frame)
       width colour
    0    1.5    red
    1    NaN  green
    >>> unseen
    {'colour': ['green']}
    """

    target: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """The columns that are used."""
        return [column.name for column in self.columns]

    def of_kind(self, kind: str) -> list[str]:
        """Return the columns of a kind."""
        return [column.name for column in self.columns if column.kind == kind]

    def preprocessor(self) -> Any:
        """Return the transformer that turns the columns into numbers, for use before a classifier.

        Missing numbers become the median of their column, and numbers are scaled. Missing values
        are a category; a category that was not in the training rows is all zeros.

        Returns
        -------
        preprocessor : ColumnTransformer
        """
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        parts = []
        if self.of_kind("number"):
            imputer = SimpleImputer(strategy="median", keep_empty_features=True)
            parts.append(
                ("numbers", make_pipeline(imputer, StandardScaler()), self.of_kind("number"))
            )
        if self.of_kind("category"):
            imputer = SimpleImputer(strategy="constant", fill_value=MISSING_CATEGORY)
            encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
            parts.append(("categories", make_pipeline(imputer, encoder), self.of_kind("category")))
        return ColumnTransformer(parts)

    def check_names(self, names: Any, where: str) -> None:
        """Refuse a table with missing columns."""
        absent = [name for name in self.names if name not in names]
        if absent:
            which = "the column" if len(absent) == 1 else "the columns"
            raise TableError(
                f"{where} does not have {which} {listed(absent[:5], 'and')} that the model needs; "
                f"it has {listed([*names][:10], 'and')}."
            )

    def matched(
        self, frame: Any, decimal: str = ".", first_row: int = 0, where: str = "The table"
    ) -> tuple[Any, dict[str, list[str]]]:
        """Bring a table into the form that the model was trained on.

        Columns are found by name; others are ignored.

        Parameters
        ----------
        frame : DataFrame
            The table.
        decimal : str
            The decimal point of numbers that are strings.
        first_row : int
            The number of its first row in the file, for messages.
        where : str
            The name of the table, for messages.

        Returns
        -------
        frame : DataFrame
            The columns of the model, in its order.
        unseen : dict of list of str
            For each column, the categories that were not in the training rows.
        """
        self.check_names(frame.columns, where)
        found: dict[str, Any] = {}
        unseen: dict[str, list[str]] = {}
        for column in self.columns:
            values = frame[column.name]
            if column.kind == "number":
                found[column.name] = _numbers(values, decimal, first_row, where)
                continue
            words = as_words(values)
            found[column.name] = words
            new = {word for word in words.tolist() if isinstance(word, str)}
            new -= {*column.categories, MISSING_CATEGORY}
            if new:
                unseen[column.name] = sorted(new)
        return pandas_module().DataFrame(found, index=range(len(frame))), unseen

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as values that JSON can hold, for a model file."""
        columns = [
            {"name": one.name, "kind": one.kind, "categories": list(one.categories)}
            for one in self.columns
        ]
        return {"target": self.target, "columns": columns}

    @classmethod
    def from_dict(cls, stored: Any) -> TableSchema:
        """Return the schema that `to_dict` wrote. The file is not trusted: everything is checked.

        Parameters
        ----------
        stored : dict
            What `to_dict` returned.

        Returns
        -------
        schema : TableSchema
        """
        try:
            columns = tuple(_stored_column(each) for each in stored["columns"])
            target = stored["target"]
        except (KeyError, TypeError):
            columns, target = (), None
        if not isinstance(target, str) or not columns:
            raise TableError(
                "This model file does not say which columns it was trained on; make it with "
                "`polychotomy fit`."
            )
        return cls(target, columns)


def _stored_column(each: Mapping[str, Any]) -> Column:
    name, kind, categories = each["name"], each["kind"], each["categories"]
    plain = isinstance(name, str) and kind in ("number", "category")
    if not plain or not all(isinstance(word, str) for word in categories):
        raise TypeError
    return Column(name, kind, tuple(categories))


def _numbers(values: Any, decimal: str, first_row: int, where: str) -> Any:
    numbers = as_numbers(values, decimal)
    wrong = (np.isnan(numbers) & values.notna().to_numpy()) | np.isinf(numbers)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise TableError(
            f"{where} has {str(values.iloc[place])[:40]!r} in column {values.name!r}, row "
            f"{first_row + place + 1}, where the model needs a finite number."
        )
    return numbers


def matched_pieces(
    file: TableFile, schema: TableSchema, extra: Sequence[str] = (), rows: int = PIECE_ROWS
) -> Iterator[tuple[Any, dict[str, list[str]], Any]]:
    r"""Read a file piece by piece, in the form that a model was trained on.

    Parameters
    ----------
    file : TableFile
        The file.
    schema : TableSchema
        The columns of the model.
    extra : sequence of str
        Further columns to read.
    rows : int
        The rows of a piece.

    Yields
    ------
    matched, unseen, others : DataFrame, dict, DataFrame
        As from `TableSchema.matched`, and the further columns.

    Examples
    --------
    >>> import io
    >>> from polychotomy.tables import Column, TableSchema, matched_pieces, open_table
    >>> schema = TableSchema("kind", (Column("width", "number"),))
    >>> with open_table(io.BytesIO(b"name,width\na,1\nb,2\nc,3\n")) as file:
    ...     for matched, unseen, others in matched_pieces(file, schema, ["name"], rows=2):
    ...         print(matched["width"].tolist(), others["name"].tolist())
    [1.0, 2.0] ['a', 'b']
    [3.0] ['c']
    """
    schema.check_names(file.names, file.name)
    for name in extra:
        if name not in file.names:
            raise TableError(f"{file.name} has no column {name!r}. {suggestion(name, file.names)}")
    columns = list(dict.fromkeys([*schema.names, *extra]))
    numbers = [name for name in schema.of_kind("number") if name not in extra]
    decimal = "." if file.dialect is None else file.dialect.decimal
    done = 0
    for piece in _quickly(file, columns, numbers, rows):
        matched, unseen = schema.matched(piece, decimal, done, file.name)
        yield matched, unseen, piece[list(extra)]
        done += len(piece)


def _quickly(file: TableFile, columns: list[str], numbers: list[str], rows: int) -> Iterator[Any]:
    """Read numbers as such; if a field is not a number go on with strings, to name the field."""
    done = 0
    try:
        for piece in file.pieces(columns, numbers, rows):
            yield piece
            done += 1
    except TableError:
        raise
    except ValueError:
        for number, piece in enumerate(file.pieces(columns, (), rows)):
            if number >= done:
                yield piece
