"""The columns that a model was trained on, and other tables brought into their form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import listed, suggestion
from ._columns import Column, as_numbers, as_words
from ._errors import TableError, pandas_module

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
        """Return what makes numbers of the columns, to be put before a classifier.

        Missing numbers become the median of their column, and numbers are scaled; a missing
        category is a category, and one that training has not seen is none of those known.

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
        """Refuse a table that lacks a column."""
        lacking = [name for name in self.names if name not in names]
        if lacking:
            which = "the column" if len(lacking) == 1 else "the columns"
            hint = suggestion(lacking[0], [str(name) for name in names])
            raise TableError(
                f"{where} lacks {which} {listed(lacking, 'and')}, which the model needs. {hint}"
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
            The decimal sign of numbers that are strings.
        first_row : int
            The number of its first row in the file, for sentences.
        where : str
            The name of the table, for sentences.

        Returns
        -------
        frame : DataFrame
            The columns of the model, in its order.
        unseen : dict of list of str
            For each column, the categories that training has not seen.
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
        """Return what JSON can hold, for the file of a model."""
        columns = [
            {"name": one.name, "kind": one.kind, "categories": list(one.categories)}
            for one in self.columns
        ]
        return {"target": self.target, "columns": columns}

    @classmethod
    def from_dict(cls, stored: Any) -> TableSchema:
        """Return the schema that `to_dict` wrote; the file may come from a stranger.

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
            f"{first_row + place + 1}, where the model takes a finite number."
        )
    return numbers
