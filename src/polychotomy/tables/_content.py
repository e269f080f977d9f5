"""What the fields of a column are, before anybody decides what they mean.

Design note: a column of texts is its distinct texts, and for every row the number of one. Spaces,
markers for missing values, numbers with units and dates are then worked out once for each distinct
text. The alternative, a list with a text for every row, took ten times as long on large tables.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray, IntArray
from ._errors import TableError, option, pandas_module

# Texts that mean a missing value, with upper and lower case as written. The empty field does too.
MISSING = (
    *(
        "?",
        "-",
        "--",
        "\u2013",
        "\u2014",
        ".",
        "NA",
        "na",
        "N/A",
        "n/a",
        "n.a.",
        "#N/A",
        "NaN",
        "nan",
    ),
    *("null", "NULL", "Null", "None", "none", "<NA>", "NaT"),
    *("0000-00-00", "0000-00-00 00:00:00"),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),
)
NOT_FIELDS = (list, dict, tuple, set, np.ndarray, bytes)
DATES = ("date", "datetime", "Timestamp")


@dataclass(frozen=True)
class Content:
    """The fields of a column: numbers, or moments in time, or texts.

    Attributes
    ----------
    name : str
        The name of the column.
    numbers : ndarray of shape (n_rows,) or None
        The column as numbers, if the file says that it holds some; NaN for missing. Moments are
        the seconds since 1970.
    moments : bool
        Whether the numbers are moments in time.
    codes : ndarray of shape (n_rows,) or None
        If there are no numbers: the number of each row's text, -1 for missing.
    texts : ndarray of shape (n_texts,)
        The distinct texts, without spaces around them.
    markers : dict of str to int
        The texts that were read as missing, and in how many rows.
    merged : bool
        Whether some texts differed only in the spaces around them.
    """

    name: str
    numbers: FloatArray | None = None
    moments: bool = False
    codes: IntArray | None = None
    texts: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=object))
    markers: dict[str, int] = field(default_factory=dict)
    merged: bool = False

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.fields)

    @property
    def fields(self) -> NDArray[Any]:
        """The numbers, or the codes of the texts."""
        found = self.numbers if self.numbers is not None else self.codes
        assert found is not None
        return found

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether each row has a value."""
        if self.numbers is not None:
            return ~np.isnan(self.numbers)
        here: NDArray[np.bool_] = self.fields >= 0
        return here

    def spread(self, values: NDArray[Any], missing: Any = np.nan) -> NDArray[Any]:
        """Return a value for every row, from one for each distinct text."""
        assert self.codes is not None
        # The last entry is found by the code -1.
        return np.append(values, np.array([missing], dtype=values.dtype))[self.codes]

    def words(self) -> NDArray[Any]:
        """Return the column as words, NaN for missing; whole numbers without a decimal point."""
        as_texts = self.as_texts()
        return as_texts.spread(as_texts.texts)

    def as_texts(self) -> Content:
        """Return the same column with texts in place of numbers."""
        if self.numbers is None:
            return self
        if self.moments:
            words = np.array([_moment(value) for value in self.numbers.tolist()], dtype=object)
        else:
            words = self.numbers.astype(object)
            words = np.array([word_of(value) for value in words.tolist()], dtype=object)
        codes, texts = pandas_module().factorize(words)
        codes = np.where(self.present, codes, -1)
        return _without_unused(Content(self.name, codes=codes, texts=texts, markers=self.markers))


def content_of(values: Any, markers: Collection[str] = MISSING) -> Content:
    """Return the content of a column.

    Parameters
    ----------
    values : Series
        The column.
    markers : collection of str
        Texts that mean a missing value.

    Returns
    -------
    content : Content

    Raises
    ------
    TableError
        If it holds lists, or other objects that are not a field.
    """
    pandas = pandas_module()
    types, name = pandas.api.types, str(values.name)
    if types.is_bool_dtype(values.dtype):
        return _of_texts(name, values.astype(object), markers)
    if types.is_datetime64_any_dtype(values.dtype):
        return Content(name, numbers=seconds(values), moments=True)
    if types.is_timedelta64_dtype(values.dtype):
        return Content(name, numbers=values.dt.total_seconds().to_numpy(dtype=np.float64))
    if types.is_complex_dtype(values.dtype):
        raise TableError(f"Column {name!r} holds complex numbers; drop it: {option('drop', name)}.")
    if types.is_numeric_dtype(values.dtype):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return _without_numeric_markers(Content(name, numbers=numbers), markers)
    if isinstance(values.dtype, pandas.CategoricalDtype):
        codes = values.cat.codes.to_numpy().astype(np.intp)
        return _of_distinct(name, codes, values.cat.categories.to_numpy(dtype=object), markers)
    return _of_texts(name, values, markers)


def seconds(values: Any) -> FloatArray:
    """Return the seconds since 1970 of a Series of moments; NaN for missing."""
    if values.dt.tz is not None:
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    moments = values.to_numpy(dtype="datetime64[us]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e6)


def _of_texts(name: str, values: Any, markers: Collection[str]) -> Content:
    pandas = pandas_module()
    try:
        codes, distinct = pandas.factorize(values)
    except TypeError:  # what cannot be hashed cannot be a field
        raise TableError(_no_fields(name, values.dropna().tolist())) from None
    found = np.asarray(distinct, dtype=object)
    kinds = {type(one) for one in found.tolist()}
    if any(issubclass(kind, NOT_FIELDS) for kind in kinds):
        raise TableError(_no_fields(name, found.tolist()))
    if kinds and all(kind.__name__ in DATES for kind in kinds):
        return Content(name, numbers=seconds(pandas.to_datetime(values)), moments=True)
    return _of_distinct(name, codes, found, markers)


def _no_fields(name: str, values: list[Any]) -> str:
    wrong = next((type(one) for one in values if isinstance(one, NOT_FIELDS)), object)
    return (
        f"Column {name!r} holds {wrong.__name__} objects; use plain numbers or words, or drop it: "
        f"{option('drop', name)}."
    )


def _of_distinct(
    name: str, codes: IntArray, distinct: NDArray[Any], markers: Collection[str]
) -> Content:
    """Strip the distinct texts, and remove markers."""
    texts, place = _stripped(distinct.tolist())
    new = np.array(codes, dtype=np.intp)
    if place is not None:
        new = np.append(np.array(place, dtype=np.intp), -1)[codes]
    known = set(texts)
    found = {text: texts.index(text) for text in ("", *markers) if text in known}
    counts: dict[str, int] = {}
    for text, number in found.items():
        here = new == number
        new[here] = -1
        if text:
            counts[text] = int(here.sum())
    content = Content(
        *(name, None, False, new, np.array(texts, dtype=object), counts), merged=place is not None
    )
    return _without_unused(content) if found else content


def _stripped(distinct: list[Any]) -> tuple[list[str], list[int] | None]:
    """Return the distinct texts without spaces around them, and which one each has become.

    The latter is None if each has become one of its own.
    """
    try:
        texts = [text.strip() for text in distinct]
    except AttributeError:  # numbers or other objects, of a data frame
        texts = [word_of(value) for value in distinct]
    if len(set(texts)) == len(texts):
        return texts, None
    fewer = list(dict.fromkeys(texts))
    number = {text: place for place, text in enumerate(fewer)}
    return fewer, [number[text] for text in texts]


def _without_unused(content: Content) -> Content:
    """Return the content with only the texts that some row has."""
    assert content.codes is not None
    used = np.zeros(len(content.texts) + 1, dtype=bool)
    used[content.codes] = True
    place = np.append(np.cumsum(used[:-1]) - 1, -1)
    codes, texts = place[content.codes], content.texts[used[:-1]]
    return replace(content, codes=codes, texts=texts)


def rows_of(content: Content, rows: NDArray[np.bool_]) -> Content:
    """Return some of the rows."""
    if content.numbers is not None:
        return Content(content.name, numbers=content.numbers[rows], moments=content.moments)
    assert content.codes is not None
    return _without_unused(Content(content.name, codes=content.codes[rows], texts=content.texts))


def _without_numeric_markers(content: Content, markers: Collection[str]) -> Content:
    """Remove numbers that mean a missing value, such as -999."""
    numbers, counts = content.numbers, {}
    assert numbers is not None
    for text, value in _numeric(tuple(markers)):
        here = numbers == value
        if here.any():
            counts[text] = int(here.sum())
            numbers = np.where(here, np.nan, numbers)
    return Content(content.name, numbers=numbers, markers=counts) if counts else content


@cache
def _numeric(markers: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """Return the markers that are numbers."""
    found = []
    for text in markers:
        with suppress(ValueError):
            found.append((text, float(text)))
    return tuple((text, value) for text, value in found if value == value)


def word_of(value: Any) -> str:
    """Return a value as a word."""
    # Whole numbers look the same whether other rows of the column miss a value or not.
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _moment(value: float) -> str:
    if np.isnan(value):
        return ""
    return str(np.datetime64(round(value), "s")).replace("T", " ")
