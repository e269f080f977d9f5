"""What a column of a table holds: numbers, categories, dates, text, or nothing that can be used.

Design note: what is probably a mistake (a few words among numbers, two units in one column) is
refused with a sentence that names the fix. Guessing would train a model without an error, on the
wrong inputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray, IntArray
from ._content import MISSING, Content, content_of
from ._dates import DURATION, Dates, parse_dates, parse_durations
from ._errors import TableError, option
from ._numbers import BOUNDS, Parsed, parse_numbers

KINDS = ("number", "category", "date", "text")
# With more categories than this, or more than half of the rows, many words each mean free text.
MOST_CATEGORIES = 1000
WORDS_OF_TEXT = 3
# Of so many rows at least, nearly all different words are names of rows.
NAMES_OF_ROWS, NEARLY_ALL = 100, 0.95
# In a column that is called an identifier, so many different values are enough.
OFTEN_NAMED = 0.2
# With more of them, dates that cannot be read are not just words.
MOST_ODD_DATES = 10
SCALES = frozenset(("%", "‰", "k", "K", "M", "B", "bn"))
LEADING_ZERO = re.compile(r"0\d+$")
ID_NAME = re.compile(r"(.*[ _-])?(id|idx|index|key|uuid|guid|rowid|row|column 1)|unnamed: 0", re.I)
ID_CAMEL = re.compile(r".*[a-z](Id|ID)")
UNITS = frozenset(
    re.findall(
        r"\S+",
        "t kg g mg µg lb lbs oz km m cm mm mi ft in l L ml mL dl h min s ms d W kW V A Hz kHz MHz "
        "GHz B kB KB MB GB TB °C °F C F K % ‰ $ € £ ¥ USD EUR GBP CHF m² km² m³ cm³ mmHg kPa bar "
        "kcal kJ",
    )
)


@dataclass(frozen=True)
class Column:
    """A column of a table, and how it is used.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "category", "date", "text", "left out"}
        Numbers are scaled; categories become columns of 0 and 1, or the shares of the classes if
        there are many; dates become year, month, weekday, hour and seconds; text becomes
        numbers that say which words it has; columns that are left out are not used.
    categories : tuple of str
        The categories, sorted.
    missing : int
        The number of rows without a value.
    note : str or None
        What the user should know about it.
    unit : str
        The unit of numbers: ``kg``, ``%``, ``$``; empty without one.
    decimal : str
        The decimal point of numbers, if it is not that of the file.
    format : str
        The format of dates.
    first : float
        The earliest date, in seconds since 1970.
    markers : dict of str to int
        The texts that were read as missing, and how often.

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
    unit: str = field(default="", repr=False)
    decimal: str = field(default="", repr=False)
    format: str = field(default="", repr=False)
    first: float = field(default=0.0, repr=False)
    markers: dict[str, int] = field(default_factory=dict, repr=False, compare=False)


def infer_column(
    values: Any,
    *,
    decimal: str = ".",
    keep: bool = False,
    category: bool = False,
    text: bool = False,
    missing: Collection[str] = MISSING,
) -> Column:
    """Infer what a column holds.

    Parameters
    ----------
    values : Series
        The column; the fields of a CSV file may be strings.
    decimal : str
        The decimal point of numbers that are strings.
    keep : bool
        Use it even if it looks like an identifier.
    category : bool
        Treat its values as categories even if they are numbers.
    text : bool
        Treat its values as free text.
    missing : collection of str
        Texts that mean a missing value.

    Returns
    -------
    column : Column

    Raises
    ------
    TableError
        If it holds free text, infinite values, several units, or numbers with a few words among
        them.

    Examples
    --------
    >>> import pandas
    >>> from polychotomy.tables import infer_column
    >>> infer_column(pandas.Series(["$1,200", "$2.50", None, "$4"], name="price")).kind
    'number'
    >>> infer_column(pandas.Series([4, 5, 4], name="code"), category=True).categories
    ('4', '5')
    >>> infer_column(pandas.Series(["2024-05-17", "2024-05-19"], name="day")).kind
    'date'
    """
    content = content_of(values, missing)
    column, _ = interpreted(
        content, values.index, decimal=decimal, keep=keep, category=category, text=text
    )
    return column


def interpreted(
    content: Content,
    index: Any = None,
    *,
    decimal: str = ".",
    keep: bool = False,
    category: bool = False,
    text: bool = False,
    markers: Callable[[], Iterable[str]] = tuple,
) -> tuple[Column, NDArray[Any]]:
    """Return what a column holds, and its values: float64, or strings with NaN for missing.

    `index` gives the numbers of the rows from 0, and `markers` what was read as missing in all
    columns, for messages. The other parameters are those of `infer_column`.
    """
    present = content.present
    common: dict[str, Any] = {
        "name": content.name,
        "missing": content.n_rows - int(present.sum()),
        "markers": content.markers,
    }
    if not present.any():
        return _skipped(common, "is empty"), content.fields
    if text:
        texts = content.as_texts()
        return Column(kind="text", **common), texts.spread(texts.texts, "")
    if category:
        return _category(content.as_texts(), common, keep)
    if content.numbers is not None:
        if content.moments:
            return _date(content.numbers, common)
        return _number(content.numbers, common, keep, markers)
    if any(LEADING_ZERO.match(text) for text in content.texts.tolist()):
        note = f"Column {content.name!r} has numbers that begin with 0: used as words."
        return _category(content, {**common, "note": note}, keep)
    places = np.arange(content.n_rows) if index is None else np.asarray(index)
    where = _Place(content, places, markers)
    parsed = parse_numbers(content.texts, decimal)
    if parsed.mixed:
        raise TableError(_mixed_words(content))
    if not np.isnan(parsed.values).any():
        if _is_one_quantity(parsed, where):
            common |= _number_words(content, parsed, decimal)
            plain = not common.get("unit") and not parsed.style.thousands
            return _number(content.spread(parsed.values), common, keep or not plain, markers)
    elif (dates := parse_dates(content.texts)) is not None and dates.format:
        where.refuse(np.isnan(dates.values), dates.values, "dates", 0)
        common |= {"format": dates.format, "note": _two_ways(content, dates)}
        return _date(content.spread(dates.values), common)
    elif (lengths := parse_durations(content.texts)) is not None:
        note = (
            f"Column {content.name!r} holds durations: {content.texts[0]!r} was read as "
            f"{lengths[0]:.12g} seconds."
        )
        common |= {"format": DURATION, "note": note}
        return _number(content.spread(lengths), common, keep=True)
    elif dates is not None:
        if len(content.texts) > MOST_ODD_DATES:
            raise TableError(_odd_dates(content))
    else:
        where.refuse(np.isnan(parsed.values), parsed.values, "numbers", 10)
        common |= _numbers_and_words(content, parsed, markers)
    return _category(content, common, keep)


@dataclass(frozen=True)
class _Place:
    """Where in the table a text is, for messages."""

    content: Content
    index: IntArray
    markers: Callable[[], Iterable[str]]

    def refuse(self, odd: NDArray[np.bool_], values: FloatArray, what: str, more_than: int) -> None:
        """Refuse a column of numbers or dates with a few words in it, usually a mistake."""
        rows = self.content.spread(odd, False)
        share = rows.sum() / self.content.present.sum()
        if not odd.any() or share >= 0.1 or len(np.unique(values[~odd])) <= more_than:
            return
        name = self.content.name
        place = int(np.argmax(rows))
        found = str(self.content.texts[self.content.fields[place]])[:40]
        missing = missing_options([*self.content.markers, *self.markers()], found)
        raise TableError(
            f"Column {name!r} holds {what}, but {found!r} in row {int(self.index[place]) + 1}; "
            f"correct it, read it as missing with {missing}, or use the column "
            f"as words with {option('category', name)}."
        )


def missing_options(markers: Iterable[str], text: str) -> str:
    """Return the options that read a text as missing, and what was read so before.

    They take the place of the usual texts: those that occur must be named again.
    """
    return " ".join(option("missing", one) for one in dict.fromkeys([*markers, text]))


def _is_one_quantity(parsed: Parsed, where: _Place) -> bool:
    """Return whether numbers have one unit; refuse two that are known."""
    name, units = where.content.name, [unit for unit in parsed.units if unit]
    # 45 % and 0.45, 1.2K and 500 are not of one scale.
    scaled = bool(units) and len(parsed.units) > 1 and SCALES.issuperset(units)
    if len(units) > 1 and not scaled and not UNITS.issuperset(units):
        return False  # house numbers such as 12a, 12b
    if len(units) > 1 or scaled:
        words = " and ".join(repr(unit) for unit in units[:3])
        more = " and none" if "" in parsed.units else ""
        raise TableError(
            f"Column {name!r} holds numbers with the units {words}{more}; write all in one unit, "
            f"or skip it with {option('drop', name)}."
        )
    return True


def _number_words(content: Content, parsed: Parsed, decimal: str) -> dict[str, Any]:
    style = parsed.style
    own = style.decimal if style.decimal != decimal else ""
    some = content.texts[:1000].tolist()
    # <0.5, (17) and 17- may mean something else.
    odd = [k for k, text in enumerate(some) if text[0] in BOUNDS + "(" or text[-1] == "-"]
    if not (style.unit or style.thousands or own or odd):
        return {}
    example = max(odd or range(len(some)), key=lambda place: len(some[place]))
    note = (
        f"Column {content.name!r} holds numbers: {content.texts[example]!r} was read as "
        f"{parsed.values[example]:.12g}."
    )
    return {"unit": style.unit, "decimal": own, "note": note}


def _numbers_and_words(
    content: Content, parsed: Parsed, markers: Callable[[], Iterable[str]]
) -> dict[str, Any]:
    """Return a note about a column in which numbers and words are too many for a mistake."""
    word = np.isnan(parsed.values)
    if word.mean() > 0.5 or len(np.unique(parsed.values[~word])) <= 10:
        return {}
    text = str(content.texts[np.argmax(word)])[:40]
    missing = missing_options([*content.markers, *markers()], text)
    return {
        "note": f"Column {content.name!r} holds numbers and words ({text!r} for example): used as "
        f"words; {missing} would read this one as missing."
    }


def _odd_dates(content: Content) -> str:
    first, other = content.texts[0], content.texts[-1]
    shape = re.sub(r"\d", "0", first)
    other = next((one for one in content.texts if re.sub(r"\d", "0", one) != shape), other)
    return (
        f"Column {content.name!r} holds dates or times that are written in several ways ({first!r} "
        f"and {other!r}), or do not exist; write all in one way, or use them as words with "
        f"{option('category', content.name)}."
    )


def _mixed_words(content: Content) -> str:
    point, comma = (next(text for text in content.texts if mark in text) for mark in ".,")
    return (
        f"Column {content.name!r} holds numbers with decimal points and with commas ({point!r} and "
        f"{comma!r}); write all in one way, or use the column as words with "
        f"{option('category', content.name)}."
    )


def _two_ways(content: Content, dates: Dates) -> str | None:
    if dates.other is None:
        return None
    # One that shows the difference, with day and month of different size.
    other = parse_dates(content.texts, dates.other)
    assert other is not None
    place = int(np.argmax(dates.values != other.values))
    day, else_ = (date_words(values[place]) for values in (dates.values, other.values))
    if day == else_:
        return None
    return (
        f"Column {content.name!r}: the date {content.texts[place]!r} was read as {day}, but could "
        f"be {else_}; if that is wrong, write dates as year-month-day."
    )


def date_words(value: float) -> str:
    """Return a moment as the day, for messages."""
    return str(np.datetime64(int(value), "s").astype("datetime64[D]"))


def _skipped(common: dict[str, Any], why: str, fix: str = "") -> Column:
    note = f"Column {common['name']!r} {why}: skipped{fix}."
    return Column(kind="left out", **{**common, "note": note})


def _uses(name: str, repeated: bool) -> str:
    """Return how a column that looks like an identifier can be used."""
    together = f", and {option('groups', name)} keeps its rows together" if repeated else ""
    return f"; {option('keep', name)} uses it{together}"


def _date(moments: FloatArray, common: dict[str, Any]) -> tuple[Column, FloatArray]:
    present = moments[~np.isnan(moments)]
    if not common["missing"] and present.min() == present.max():
        return _skipped(common, "has only one value"), moments
    return Column(kind="date", first=float(present.min()), **common), moments


def _number(
    numbers: FloatArray,
    common: dict[str, Any],
    keep: bool,
    markers: Callable[[], Iterable[str]] = tuple,
) -> tuple[Column, FloatArray]:
    name, missing = common["name"], common["missing"]
    present = numbers[~np.isnan(numbers)] if missing else numbers
    if np.isinf(present).any():
        raise TableError(
            f"Column {name!r} has an infinite value; correct it, or read it as missing with "
            f"{missing_options([*common['markers'], *markers()], 'inf')}."
        )
    low, high = present.min(), present.max()
    if low == high and not missing:
        return _skipped(common, "has only one value"), numbers
    if not keep and not missing and _is_identifier(name, present, high - low):
        distinct = len(np.unique(present))
        words = "a different whole number in every row"
        if distinct < len(present):
            words = f"{distinct} different whole numbers in {len(present)} rows"
        why = f"looks like an identifier ({words})"
        return _skipped(common, why, _uses(name, distinct < len(present))), numbers
    return Column(kind="number", **common), numbers


def _is_identifier(name: str, numbers: FloatArray, extent: float) -> bool:
    count = len(numbers)
    # The cheap questions first: most columns of numbers are not whole, or not that wide.
    if count < 10 or not (is_named_like_id(name) or extent == count - 1):
        return False
    if not (numbers == np.floor(numbers)).all():
        return False
    distinct = len(np.unique(numbers))
    return distinct == count or (is_named_like_id(name) and distinct > OFTEN_NAMED * count)


def is_named_like_id(name: str) -> bool:
    """Return whether a column is called an identifier."""
    return bool(ID_NAME.fullmatch(name) or ID_CAMEL.fullmatch(name))


def _category(content: Content, common: dict[str, Any], keep: bool) -> tuple[Column, NDArray[Any]]:
    words, name, missing = content.texts.tolist(), common["name"], common["missing"]
    values = content.spread(content.texts)
    if len(words) == 1 and not missing:
        return _skipped(common, "has only one value"), values
    present = content.n_rows - missing
    many = len(words) > MOST_CATEGORIES or (len(words) > 20 and len(words) > content.n_rows / 2)
    if many and _mean_words(words) >= WORDS_OF_TEXT:
        raise TableError(
            f"Column {name!r} holds free text ({words[0][:40]!r} ...); use its words with "
            f"{option('text', name)}, or skip it with {option('drop', name)}."
        )
    share = NEARLY_ALL if present >= NAMES_OF_ROWS else 1.0
    share = OFTEN_NAMED if is_named_like_id(name) else share
    if not keep and present >= 10 and len(words) >= max(10, share * present) and not missing:
        why = f"looks like an identifier ({len(words)} different words in {present} rows)"
        return _skipped(common, why, _uses(name, len(words) < NEARLY_ALL * present)), values
    return Column(kind="category", categories=tuple(sorted(words)), **common), values


def _mean_words(texts: list[str]) -> float:
    """Return how many words texts have; numbers are none."""
    counts = [sum(any(map(str.isalpha, one)) for one in text.split()) for text in texts[:1000]]
    return float(np.mean(counts))


def as_words(values: Any) -> NDArray[Any]:
    """Turn values into an array of strings; NaN for what is missing."""
    return content_of(values, ()).words()
