"""Dates and times in texts: which format a column has, and the seconds since 1970.

Design note: a column has one format, chosen by all its texts, because ``05/06/2024`` alone could
be in May or in June. Guessing text by text, as date parsers do, would mix both in one column.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray
from ._content import seconds
from ._errors import pandas_module

ISO, DURATION = "ISO8601", "duration"
LENGTH = re.compile(r"-?\d+:[0-5]\d(:[0-5]\d(\.\d+)?)?")
TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp]\.?[Mm]\.?)?( ?Z| ?[-+]\d{2}:?\d{2}| UTC| GMT)?"
DATE = re.compile(
    rf"(\d{{4}}[-/.]\d{{1,2}}([-/.]\d{{1,2}})?([T ]{TIME})?"  # 2024-05-17 12:30
    rf"|\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}})(,? {TIME})?"  # 17.5.2024
    # 17 May 2024; Fri, 17 May 2024
    rf"|([A-Z][a-z]{{2,8}},? )?\d{{1,2}}[ -][A-Za-z]{{3,9}}\.?[ -]\d{{2,4}}(,? {TIME})?"
    rf"|[A-Za-z]{{3,9}} \d{{1,2}},? \d{{4}}(,? {TIME})?"  # May 17, 2024
    rf"|{TIME})"
)
# How dates are written. Where two fit all texts, the first is used, with a note.
DAYS = (
    *(
        "%Y-%m-%d",
        "%Y/%m/%d",
        "%Y.%m.%d",
        "%d.%m.%Y",
        "%d.%m.%y",
        "%m/%d/%Y",
        "%d/%m/%Y",
        "%m/%d/%y",
    ),
    *("%d/%m/%y", "%d-%m-%Y", "%m-%d-%Y", "%d-%m-%y", "%m-%d-%y", "%d %b %Y", "%d %B %Y"),
    *("%d-%b-%Y", "%d-%b-%y", "%d-%B-%Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y"),
    *("%a, %d %b %Y", "%A, %d %B %Y", "%a %d %b %Y"),
)
TIMES = (
    "%H:%M:%S UTC",
    "%H:%M:%S GMT",
    "%H:%M:%S %z",
    "%H:%M",
    "%H:%M:%S",
    "%H:%M:%S.%f",
    "%I:%M %p",
    "%I:%M:%S %p",
    "%I:%M%p",
    "%H:%M:%S%z",
)
LOOKED_AT = 200
LEAST_SHARE = 0.9


@dataclass(frozen=True)
class Dates:
    """Texts as moments.

    Attributes
    ----------
    values : ndarray of shape (n_texts,)
        The seconds since 1970; NaN for what does not have the format.
    format : str
        How they are written, as `strftime` writes it; "ISO8601" for 2024-05-17 and the like. Empty
        if they are written in several ways, so that none is read.
    other : str or None
        Another format that all of them fit as well.
    """

    values: FloatArray
    format: str
    other: str | None = None


def parse_dates(texts: NDArray[Any], known: str | None = None) -> Dates | None:
    """Read texts as dates; None if they are something else.

    Parameters
    ----------
    texts : ndarray of shape (n_texts,)
        The texts, without spaces around them.
    known : str, default=None
        The format, where that is known.

    Returns
    -------
    dates : Dates or None

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.tables._dates import parse_dates
    >>> dates = parse_dates(np.array(["1/2/1970", "1/13/1970"], dtype=object))
    >>> dates.values.tolist(), dates.format
    ([86400.0, 1036800.0], '%m/%d/%Y')
    """
    if known is not None:
        values = _read(texts, known)
        if np.isnan(values).any() and known != ISO:
            values = np.where(np.isnan(values), _read(texts, ISO), values)
        return Dates(values, known)
    some = texts[:: max(1, len(texts) // LOOKED_AT)]
    if np.mean([DATE.fullmatch(text) is not None for text in some.tolist()]) <= LEAST_SHARE:
        return None
    fits = [(_share(some, one), one) for one in _candidates(some)]
    best = max((share for share, _ in fits), default=0.0)
    if best < LEAST_SHARE:
        return Dates(np.full(len(texts), np.nan), "")
    fits = [(share, one) for share, one in fits if share >= LEAST_SHARE]
    found = [(_read(texts, one), one) for _, one in fits]
    found.sort(key=lambda each: int(np.isnan(each[0]).sum()))
    values, format_ = found[0]
    same = [one for other, one in found[1:] if np.isnan(other).sum() == np.isnan(values).sum()]
    return Dates(values, format_, same[0] if same else None)


def parse_durations(texts: NDArray[Any]) -> FloatArray | None:
    """Return the seconds of texts such as ``75:12:07`` and ``5:30`` (minutes); None if others."""
    if not all(map(LENGTH.fullmatch, texts.tolist())):
        return None
    found = []
    for text in texts.tolist():
        seconds_ = 0.0
        for part in text.lstrip("-").split(":"):
            seconds_ = 60.0 * seconds_ + float(part)
        found.append(-seconds_ if text.startswith("-") else seconds_)
    return np.array(found)


def is_format(text: str) -> bool:
    """Return whether a text is one of the formats, or none; model files may hold no others."""
    if text in ("", ISO, DURATION, *DAYS, *TIMES):
        return True
    return any(
        text == f"{day}{mark}{time}" for day, time in product(DAYS, TIMES) for mark in (" ", ", ")
    )


def has_day(format_: str) -> bool:
    """Return whether moments of a format have a day; others are times of any day."""
    return format_ not in TIMES


def _candidates(texts: NDArray[Any]) -> list[str]:
    """Return the formats that the first text has."""
    first = next(text for text in texts.tolist() if DATE.fullmatch(text))
    formats = [ISO, *DAYS, *(f"{day} {time}" for day, time in product(DAYS, TIMES))]
    formats += [f"{day}, {time}" for day, time in product(DAYS, TIMES)] if "," in first else []
    formats += TIMES
    one = np.array([first], dtype=object)
    return [each for each in formats if _plausible(each, first) and not np.isnan(_read(one, each))]


def _plausible(format_: str, text: str) -> bool:
    """Return whether a format has the marks of a text; parsing all of them would be slow."""
    if format_ == ISO:
        return bool(re.match(r"\d{4}-\d", text))
    marks = re.sub(r"%[a-zA-Z]", "", format_)
    return set(marks) <= set(text) and (":" in marks) == (":" in text)


def _share(texts: NDArray[Any], format_: str) -> float:
    return float(np.mean(~np.isnan(_read(texts, format_))))


def _read(texts: NDArray[Any], format_: str) -> FloatArray:
    pandas = pandas_module()
    zone = format_ == ISO or "%z" in format_
    found = pandas.to_datetime(
        pandas.Series(texts), format=format_, errors="coerce", utc=zone, cache=False
    )
    if not pandas.api.types.is_datetime64_any_dtype(found.dtype):
        return np.full(len(texts), np.nan)
    return seconds(found)
