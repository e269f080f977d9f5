"""What a column of a table holds: numbers, categories, or something that cannot be used.

Design note: what is probably a mistake (a few words among numbers, dates) is refused with a
sentence that names the fix. Guessing would train a model without an error, on the wrong inputs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import TableError, pandas_module

# With more than this, or more than half of the rows, words are names or texts, not categories.
MOST_CATEGORIES = 1000
ID_NAME = re.compile(r"(.*[ _-])?(id|idx|index|key|uuid|guid|rowid|row|column 1)|unnamed: 0", re.I)
ID_CAMEL = re.compile(r".*[a-z](Id|ID)")
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?"  # 2024-05-17 12:30
    r"|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})( .*)?"  # 17.5.2024
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}( .*)?"  # 17 May 2024
    r"|[A-Za-z]{3,9} \d{1,2},? \d{4}( .*)?"  # May 17, 2024
)


@dataclass(frozen=True)
class Column:
    """A column of a table, and how it is used.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "category", "left out"}
        Numbers are scaled, categories become columns of 0 and 1, others are not used.
    categories : tuple of str
        The categories, sorted.
    missing : int
        The number of rows without a value.
    note : str or None
        What the user should know about it.

    Examples
    --------
    >>> import pandas
    >>> from polychotomy.tables import infer_column
    >>> infer_column(pandas.Series(["red", "blue", "red", "blue"], name="colour"))
    Column(name='colour', kind='category', categories=('blue', 'red'), missing=0, note=None)
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    missing: int = 0
    note: str | None = None


def as_numbers(values: Any, decimal: str = ".") -> NDArray[np.float64]:
    """Turn values into numbers; NaN for what is missing or not a number."""
    pandas = pandas_module()
    if not _is_text(values):
        numbers: NDArray[np.float64] = pandas.to_numeric(values, errors="coerce").to_numpy(
            dtype=np.float64, na_value=np.nan
        )
        return numbers
    # Plain Python: for a table of many columns and few rows, each step in pandas takes longer.
    pairs = zip(values.to_numpy(dtype=object), values.notna().to_numpy(), strict=True)
    text = [str(value).strip().replace(decimal, ".") if there else None for value, there in pairs]
    found = pandas.to_numeric(np.array(text, dtype=object), errors="coerce")
    return np.asarray(found, dtype=np.float64)


def as_words(values: Any) -> NDArray[Any]:
    """Turn values into an array of strings; NaN for what is missing."""
    words = values.astype(object).map(_word, na_action="ignore")
    array: NDArray[Any] = words.where(values.notna(), np.nan).to_numpy(dtype=object)
    return array


def _word(value: Any) -> str:
    # Whole numbers look the same whether other rows of the column miss a value or not.
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def infer_column(
    values: Any, *, decimal: str = ".", keep: bool = False, category: bool = False
) -> Column:
    """Infer what a column holds.

    Parameters
    ----------
    values : Series
        The column; the fields of a CSV file are strings.
    decimal : str
        The decimal point of numbers that are strings.
    keep : bool
        Use it even if it looks like an identifier.
    category : bool
        Treat its values as categories even if they are numbers.

    Returns
    -------
    column : Column

    Raises
    ------
    TableError
        If it holds dates, free text, infinite values, or numbers with a few words among them.

    Examples
    --------
    >>> import pandas
    >>> from polychotomy.tables import infer_column
    >>> infer_column(pandas.Series(["1", "2.5", None, "4"], name="width")).kind
    'number'
    >>> infer_column(pandas.Series([4, 5, 4], name="code"), category=True).categories
    ('4', '5')
    """
    name, present = str(values.name), values[values.notna()]
    missing = len(values) - len(present)
    if not len(present):
        return Column(name, "left out", missing=missing, note=f"Column {name!r} is empty: skipped.")
    _refuse_dates(name, present)
    numbers = as_numbers(present, decimal)
    if not category and not _is_boolean(present):
        if not np.isnan(numbers).any():
            return _number(name, numbers, missing, keep)
        _refuse_mixture(name, present, numbers)
    return _category(name, as_words(present), missing, len(values), keep)


def _is_text(values: Any) -> bool:
    pandas = pandas_module()
    return not (
        pandas.api.types.is_numeric_dtype(values.dtype) or _is_boolean(values) or _is_date(values)
    )


def _is_boolean(values: Any) -> bool:
    return bool(pandas_module().api.types.is_bool_dtype(values.dtype))


def _is_date(values: Any) -> bool:
    types = pandas_module().api.types
    return bool(
        types.is_datetime64_any_dtype(values.dtype) or types.is_timedelta64_dtype(values.dtype)
    )


def _refuse_dates(name: str, present: Any) -> None:
    dates = _is_date(present)
    if not dates and _is_text(present):
        first = present.iloc[0]
        if isinstance(first, list | dict | tuple | set | np.ndarray | bytes):
            raise TableError(
                f"Column {name!r} holds {type(first).__name__} objects; use plain numbers or "
                "words, or drop the column (drop)."
            )
        sample = present.iloc[:: max(1, len(present) // 200)].map(str).str.strip()
        # Objects of the type date, or strings that look like one.
        dates = type(first).__name__ in ("date", "datetime", "time", "Timestamp")
        dates = dates or bool(sample.map(lambda one: DATE.fullmatch(one) is not None).mean() > 0.9)
    if dates:
        raise TableError(
            f"Column {name!r} holds dates ({str(present.iloc[0]).strip()!r}); turn them into "
            "numbers, for example the year or days since a date, or drop the column (drop)."
        )


def _refuse_mixture(name: str, present: Any, numbers: NDArray[np.float64]) -> None:
    """Refuse a column of numbers with a few words in it, which is usually a mistake."""
    odd = np.isnan(numbers)
    if odd.mean() < 0.1 and len(np.unique(numbers[~odd])) > 10:
        place = int(np.argmax(odd))
        raise TableError(
            f"Column {name!r} holds numbers, but {str(present.iloc[place])[:40]!r} in row "
            f"{int(present.index[place]) + 1}; correct it, clear the field, or declare the "
            "column as categories (category)."
        )


def _number(name: str, numbers: NDArray[np.float64], missing: int, keep: bool) -> Column:
    if np.isinf(numbers).any():
        raise TableError(f"Column {name!r} has an infinite value; correct it, or clear the field.")
    distinct = len(np.unique(numbers))
    if distinct == 1 and not missing:
        note = f"Column {name!r} has only one value: skipped."
        return Column(name, "left out", missing=missing, note=note)
    whole = bool((numbers == np.floor(numbers)).all())
    unique = whole and distinct == len(numbers) >= 10 and not missing
    counted = unique and np.ptp(numbers) == len(numbers) - 1
    if (counted or (unique and _named_like_id(name))) and not keep:
        note = (
            f"Column {name!r} looks like an identifier (a different whole number in every row): "
            "skipped; keep it if it means something."
        )
        return Column(name, "left out", missing=missing, note=note)
    return Column(name, "number", missing=missing)


def _category(name: str, words: NDArray[Any], missing: int, n_rows: int, keep: bool) -> Column:
    categories = tuple(sorted(set(words.tolist())))
    if len(categories) == 1 and not missing:
        note = f"Column {name!r} has only one value: skipped."
        return Column(name, "left out", missing=missing, note=note)
    many = len(categories) > MOST_CATEGORIES or (
        len(categories) > 20 and len(categories) > n_rows / 2
    )
    if many and _mean_words(categories) >= 3:
        raise TableError(
            f"Column {name!r} holds free text ({words[0][:40]!r} ...); turn it into numbers or "
            "categories, or drop the column (drop)."
        )
    identifier = len(categories) >= 10 and len(categories) == len(words) and not missing
    if identifier and not keep:
        note = (
            f"Column {name!r} looks like an identifier (a different word in every row): skipped; "
            "keep it if it means something."
        )
        return Column(name, "left out", missing=missing, note=note)
    if many:
        raise TableError(
            f"Column {name!r} has {len(categories)} different words, too many for categories; "
            "group them, or drop the column (drop)."
        )
    return Column(name, "category", categories, missing)


def _mean_words(texts: tuple[str, ...]) -> float:
    return float(np.mean([len(text.split()) for text in texts[:1000]]))


def _named_like_id(name: str) -> bool:
    return bool(ID_NAME.fullmatch(name) or ID_CAMEL.fullmatch(name))
