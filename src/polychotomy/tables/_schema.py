"""The columns that a model was trained on, and how other tables are matched to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Number
from typing import Any

import numpy as np

from ..core.checks import listed, suggestion
from ._columns import KINDS, Column
from ._content import MISSING, Content, content_of, word_of
from ._dates import DURATION, ISO, is_format, parse_dates, parse_durations
from ._encoding import MISSING_CATEGORY, encoder
from ._errors import TableError, frame_of, pandas_module
from ._files import PIECE_ROWS, TableFile
from ._labels import Labels, class_labels, spelling
from ._numbers import parse_numbers

WORDS = ("category", "date", "text")
EARLIER_MISSING = ("?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "<NA>")


@dataclass(frozen=True)
class TableSchema:
    """Which columns of a table are used, and how.

    Attributes
    ----------
    target : str
        The column with the classes.
    columns : tuple of Column
        The columns that are used.
    missing : tuple of str
        Texts that mean a missing value; the empty field always does.
    n_classes : int
        The number of classes; 0 if it is not known.
    labels : Labels
        How the fields of the target become classes.
    decimal : str
        The decimal point of the file with the training rows; nothing if it is not known.

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
    missing: tuple[str, ...] = MISSING
    n_classes: int = 0
    labels: Labels = field(default_factory=Labels)
    decimal: str = ""

    @property
    def names(self) -> list[str]:
        """The columns that are used."""
        return [column.name for column in self.columns]

    def of_kind(self, kind: str) -> list[str]:
        """Return the columns of a kind."""
        return [column.name for column in self.columns if column.kind == kind]

    @property
    def target_markers(self) -> tuple[str, ...]:
        """Texts in the target that mean a missing value, besides the empty field.

        A class may be called "None" or "NA"; a number that is cut into ranges may not.
        """
        return self.missing if self.labels.edges else ()

    def preprocessor(self) -> Any:
        """Return the transformer that turns the columns into numbers, for use before a classifier.

        Missing numbers become the median of their column, and numbers are scaled. Missing values
        are a category; a category that was not in the training rows is all zeros. A column with
        more than 50 categories becomes the shares of the classes among the rows of each category
        (`TargetEncoder`, cross-fitted), or, with more than 20 classes, columns of 0 and 1 for the
        49 most frequent categories and one for all others. Dates become year, month, weekday, hour
        and seconds (`DateParts`). Text becomes its 30 main directions, from hashed words and pairs
        of words.

        Returns
        -------
        preprocessor : ColumnTransformer
        """
        return encoder(self.columns, self.n_classes)

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
        self, frame: Any, decimal: str = "", first_row: int = 0, where: str = "The table"
    ) -> tuple[Any, dict[str, list[str]]]:
        """Bring a table into the form that the model was trained on.

        Columns are found by name; others are ignored.

        Parameters
        ----------
        frame : DataFrame
            The table.
        decimal : str
            The decimal point of numbers that are strings; that of the training rows by default.
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
            point = column.decimal or decimal or self.decimal or "."
            given = frame[column.name]
            given = _with_commas(given) if point == "," and column.kind == "number" else given
            try:
                content = content_of(given, self.missing)
            except TableError:  # it advises to drop the column, which the model needs
                raise TableError(
                    f"{where} has lists or other objects in column {column.name!r}, where the "
                    f"model needs plain {'words' if column.kind in WORDS else 'numbers'}."
                ) from None
            values = _VALUES[column.kind](content, column, point)
            wrong = _wrong(content, values) if column.kind in ("number", "date") else None
            if wrong is not None:
                place, text = wrong
                raise TableError(
                    f"{where} has {text!r} in column {column.name!r}, row {first_row + place + 1}, "
                    f"where the model needs {_needs(column, text, point)}."
                )
            found[column.name] = values
            if column.kind == "category":
                known = {*column.categories, MISSING_CATEGORY}
                if new := set(content.as_texts().texts.tolist()) - known:
                    unseen[column.name] = sorted(new)
        return frame_of(found, len(frame)), unseen

    def true_labels(self, values: Any, classes: Any, decimal: str = "") -> Any:
        """Return the classes of labelled rows, as the model names them.

        Parameters
        ----------
        values : Series
            The column with the classes; none missing.
        classes : array-like
            The classes that the model knows.
        decimal : str
            The decimal point of numbers that are strings; that of the training rows by default.

        Returns
        -------
        labels : Series of str
        """
        content = content_of(values, self.target_markers)
        if self.labels.edges:
            point = decimal or self.decimal or "."
            words = class_labels(content, point, labels=self.labels).astype(object)
        elif self.labels.merge_spellings:
            known = {spelling(str(label)): str(label) for label in classes}
            texts = content.as_texts()
            named = [known.get(spelling(text), text) for text in texts.texts.tolist()]
            words = texts.spread(np.array(named, dtype=object))
        else:
            words = content.words()
        return pandas_module().Series(words, dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as values that JSON can hold, for a model file."""
        columns = [_column_to_store(column) for column in self.columns]
        stored: dict[str, Any] = {
            "target": self.target,
            "columns": columns,
            "missing": list(self.missing),
        }
        if self.decimal:
            stored["decimal"] = self.decimal
        if self.labels.edges:
            stored["edges"] = list(self.labels.edges)
        if self.labels.merge_spellings:
            stored["merge_spellings"] = True
        return stored

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
            # Files of earlier versions do not have the markers, which were these.
            missing = tuple(stored.get("missing", EARLIER_MISSING))
            target = stored["target"]
            labels = _stored_labels(stored)
            decimal = stored.get("decimal", "")  # unknown in files of earlier versions
        except (KeyError, TypeError, AttributeError):
            columns, missing, target, labels, decimal = (), (), None, Labels(), ""
        plain = isinstance(target, str) and all(isinstance(text, str) for text in missing)
        if not plain or not columns or decimal not in ("", ".", ","):
            raise TableError(
                "This model file does not say which columns it was trained on; make it with "
                "`polychotomy fit`."
            )
        return cls(target, columns, missing, labels=labels, decimal=decimal)


def _stored_labels(stored: Mapping[str, Any]) -> Labels:
    edges, merged = stored.get("edges", []), stored.get("merge_spellings", False)
    plain = isinstance(edges, list) and all(type(edge) in (int, float) for edge in edges)
    rising = plain and edges == sorted(set(edges)) and np.isfinite(edges).all()
    if not rising or not isinstance(merged, bool):
        raise TypeError
    return Labels(tuple(edges), merged)


def _column_to_store(column: Column) -> dict[str, Any]:
    stored = {"name": column.name, "kind": column.kind, "categories": list(column.categories)}
    more = {"unit": column.unit, "decimal": column.decimal, "format": column.format}
    return stored | {key: value for key, value in more.items() if value}


def _stored_column(each: Mapping[str, Any]) -> Column:
    kind, categories = each["kind"], each["categories"]
    words = [each["name"], *(each.get(key, "") for key in ("unit", "decimal", "format"))]
    plain = kind in KINDS and all(isinstance(word, str) for word in [*words, *categories])
    if not plain or words[2] not in ("", ".", ",") or not is_format(words[3]):
        raise TypeError
    name, unit, decimal, format_ = words
    return Column(name, kind, tuple(categories), unit=unit, decimal=decimal, format=format_)


def _with_commas(values: Any) -> Any:
    """Return a column with the numbers among its texts written as these, with decimal commas."""
    if values.dtype != object:
        return values
    return values.map(
        lambda one: word_of(one).replace(".", ",") if isinstance(one, Number) else one,
        na_action="ignore",
    )


def _numbers(content: Content, column: Column, decimal: str) -> Any:
    if content.numbers is not None:
        return content.numbers if not content.moments else np.full(content.n_rows, np.inf)
    if column.format == DURATION:
        lengths = parse_durations(content.texts)
        return content.spread(np.full(len(content.texts), np.nan) if lengths is None else lengths)
    parsed = parse_numbers(content.texts, decimal, sure=True)
    allowed = {column.unit} if column.unit in ("%", "‰") else {"", column.unit}
    if allowed.issuperset(parsed.units):
        return content.spread(parsed.values)
    # Text by text, to find those with another unit.
    alone = [
        parse_numbers(content.texts[[k]], decimal, sure=True) for k in range(len(content.texts))
    ]
    wrong = [not allowed.issuperset(one.units) for one in alone]
    return content.spread(np.where(wrong, np.nan, parsed.values))


def _dates(content: Content, column: Column, decimal: str) -> Any:
    if content.numbers is not None:
        if content.moments or not content.present.any():
            return content.numbers
        return np.full(content.n_rows, np.inf)
    dates = parse_dates(content.texts, column.format or ISO)
    assert dates is not None
    return content.spread(dates.values)


def _words(content: Content, column: Column, decimal: str) -> Any:
    return content.words()


def _texts(content: Content, column: Column, decimal: str) -> Any:
    texts = content.as_texts()
    return texts.spread(texts.texts, "")


# What a field becomes, by the kind of its column.
_VALUES = {"number": _numbers, "date": _dates, "category": _words, "text": _texts}


def _wrong(content: Content, values: Any) -> tuple[int, str] | None:
    """Return the place and text of the first field that could not be read, if there is one."""
    wrong = (np.isnan(values) & content.present) | np.isinf(values)
    if not wrong.any():
        return None
    place = int(np.argmax(wrong))
    if content.codes is not None:
        return place, str(content.texts[content.codes[place]])[:40]
    return place, str(content.as_texts().words()[place])[:40]


def _needs(column: Column, text: str, decimal: str) -> str:
    if column.kind == "date":
        return f"a date, written as {column.format or ISO}"
    if column.format == DURATION:
        return "durations such as 1:30:00 in every row"
    unit = f" in {column.unit!r}" if column.unit else ""
    marks = f" with {'decimal commas' if decimal == ',' else 'decimal points'}"
    return f"a finite number{unit}{marks if '.' in text or ',' in text else ''}"


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
    file = file.with_decimal(schema.decimal)
    done = 0
    for piece in file.pieces(columns, numbers, rows):
        matched, unseen = schema.matched(piece, file.own_decimal, done, file.name)
        yield matched, unseen, piece[list(extra)]
        done += len(piece)
