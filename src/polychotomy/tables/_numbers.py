"""Numbers as people export them: ``1,234.50``, ``12 %``, ``$ 3.50``, ``3.1 kg``, ``(17)``.

Design note: what a comma or a point means is decided once for a column, from all its fields, not
field by field: ``1,234`` alone could be either. A field that does not fit the decision is not a
number, and the column is refused with its row; a guess would be wrong by a factor of a thousand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.extras import needed
from ..core.types import FloatArray
from ._errors import pandas_module

# Before a number that is only a bound, as laboratories write it.
BOUNDS = "<>≤≥~"
APOSTROPHES = "'\u2019"
SPACES = " \u00a0\u202f\u2009"
MINUS = "\u2212\u2013-"  # the last one is no range in brackets
CODES = "USD|EUR|GBP|JPY|CHF|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|RUB|TRY|SGD"
CURRENCY = f"[A-Z]{{0,2}}[$€£¥₹₽₩₺₪]|{CODES}|Rs\\.?|kr\\.?|zł|Fr\\."
UNIT = f"[%‰]|{CURRENCY}|°?[A-Za-zµμΩ°]{{1,12}}[²³23]?(?:/[A-Za-zµμ]{{1,6}}[²³23]?)?"
# Texts looked at to decide what points and commas mean; all of them if these do not decide it.
LOOKED_AT = 2000
# With more of them than this, texts are words, among which there are some numbers.
MOST_WORDS = 0.5


@dataclass(frozen=True)
class Style:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : str
        The decimal point, ``.`` or ``,``.
    thousands : str
        The mark between thousands: ``.``, ``,``, ``'``, a space, or nothing.
    unit : str
        What stands before or after the numbers: ``%``, ``$``, ``kg``, or nothing.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Parsed:
    """Numbers of texts.

    Attributes
    ----------
    values : ndarray of shape (n_texts,)
        NaN for what is not a number.
    style : Style
        How they are written.
    units : tuple of str
        All units that occur, the most frequent first; ``""`` for numbers without one.
    mixed : bool
        Whether some have decimal points and others commas, so that none can be read.
    """

    values: FloatArray
    style: Style
    units: tuple[str, ...] = ("",)
    mixed: bool = False


def parse_numbers(texts: NDArray[Any], decimal: str = ".", *, sure: bool = False) -> Parsed:
    """Turn texts into numbers.

    Parameters
    ----------
    texts : ndarray of shape (n_texts,)
        The texts, without spaces around them.
    decimal : str
        The decimal point of the file.
    sure : bool
        Whether the decimal point is certain. Otherwise the texts decide.

    Returns
    -------
    parsed : Parsed

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.tables._numbers import parse_numbers
    >>> parsed = parse_numbers(np.array(["$1,234.50", "$7", "-$3.25"], dtype=object))
    >>> parsed.values.tolist(), parsed.style
    ([1234.5, 7.0, -3.25], Style(decimal='.', thousands=',', unit='$'))
    """
    plain = _plain(texts, decimal)
    if plain is not None:
        return Parsed(plain, Style(decimal))
    nothing = Parsed(np.full(len(texts), np.nan), Style(decimal))
    if not _digits_begin(texts):
        return nothing
    some = texts[:LOOKED_AT]
    marks = _marks(some, decimal, sure)
    if marks is not None and np.isnan(_with_style(some, *marks).values).mean() > MOST_WORDS:
        return nothing
    found = _quickly(texts, marks)
    if len(some) < len(texts) and (found is None or np.isnan(found.values).any()):
        marks = _marks(texts, decimal, sure)
        found = _quickly(texts, marks)
    if found is None:
        return replace(nothing, mixed=_is_mixed(texts))
    units = tuple(dict.fromkeys(_singular(unit) for unit in found.units))
    return replace(found, units=units, style=replace(found.style, unit=_singular(found.style.unit)))


def _singular(unit: str) -> str:
    """Return one year for years."""
    return unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit


def _quickly(texts: NDArray[Any], marks: tuple[str, str] | None) -> Parsed | None:
    """Parse texts of which most have the same simple form; others take the slow way."""
    pc = _compute()

    if marks is None:
        return None
    decimal, thousands = marks
    first = _with_style(texts[:LOOKED_AT], decimal, thousands)
    unit = first.style.unit
    if len(texts) <= LOOKED_AT:
        return first
    sign = re.escape(unit)
    arrow = _arrow(texts)
    # Without groups, so that the expression runs as fast as it can.
    simple = rf"^-?(?:{sign} ?)?(?:{_core(decimal, thousands)})(?: ?{sign})?$"
    fits = pc.match_substring_regex(arrow, simple).to_numpy(zero_copy_only=False)
    number = arrow.filter(fits)
    has_unit = bool(unit) and bool(pc.any(pc.match_substring(number, unit)).as_py())
    no_unit = not unit or not bool(pc.all(pc.match_substring(number, unit)).as_py())
    for mark in (unit, *(SPACES if thousands and thousands in SPACES else thousands), " "):
        number = pc.replace_substring(number, mark, "") if mark else number
    number = pc.replace_substring(number, ",", ".") if decimal == "," else number
    rest = _with_style(texts[~fits], decimal, thousands)
    values = np.empty(len(texts))
    values[fits], values[~fits] = number.cast("float64").to_numpy(), rest.values
    units = [unit] * has_unit + [""] * no_unit
    units += [one for one in rest.units if len(rest.values) and one not in units]
    return Parsed(values, Style(decimal, thousands, unit or rest.style.unit), tuple(units))


def has_decimal(text: str, mark: str) -> bool:
    """Return whether a text is one number in which the mark can only be the decimal point.

    Examples
    --------
    >>> from polychotomy.tables._numbers import has_decimal
    >>> [has_decimal(text, ",") for text in ("1,5 kg", "-1.234,5", "1,234", "1,234.5", "1,2,3")]
    [True, True, False, False, False]
    """
    if text.count(mark) != 1:
        return False
    other = "," if mark == "." else "."
    core = re.fullmatch(r"[^\d.,]*([\d.,]*\d)(?:[eE][-+]?\d+)?[^\d.,]*", text)
    return core is not None and re.search(_as_decimal(mark, other), core[1]) is not None


def _is_mixed(texts: NDArray[Any]) -> bool:
    """Return whether all are numbers, some with decimal points and some with commas."""
    one, other = _with_style(texts, ".", ",").values, _with_style(texts, ",", ".").values
    return not bool((np.isnan(one) & np.isnan(other)).any())


def _plain(texts: NDArray[Any], decimal: str) -> FloatArray | None:
    """Return numbers without marks; None if there is anything else among them."""
    if decimal != ".":
        some = texts.tolist()
        if any("." in text for text in some):
            return None  # points are between thousands, if they are in numbers at all
        texts = np.array([text.replace(decimal, ".") for text in some], dtype=object)
    try:
        found = pandas_module().to_numeric(texts)
    except (ValueError, TypeError):
        return None
    values = np.asarray(found, dtype=np.float64)
    return None if np.isnan(values).any() else values


def _digits_begin(texts: NDArray[Any]) -> bool:
    """Return whether most texts can be numbers, by their first characters; cheap."""
    some = texts[:LOOKED_AT].tolist()
    return 2 * sum(any(c.isdigit() for c in text[:6]) for text in some) > len(some)


def _arrow(texts: Any) -> Any:
    pyarrow = needed("pyarrow", "files", "Tables need pandas and pyarrow")
    return pyarrow.array(texts, pyarrow.string())


def _compute() -> Any:
    return needed("pyarrow.compute", "files", "Tables need pandas and pyarrow")


def _marks(texts: NDArray[Any], decimal: str, sure: bool) -> tuple[str, str] | None:
    """Return the decimal point and the mark between thousands; None if texts contradict."""
    pc = _compute()

    pattern = rf"^[^\d.,]*(?P<core>\d[\d.,{APOSTROPHES}{SPACES}]*|[.,]\d+)"
    cores = pc.struct_field(pc.extract_regex(_arrow(texts), pattern), "core")
    cores = pc.utf8_rtrim(cores.drop_null(), SPACES)

    def any_has(regex: str) -> bool:
        return bool(pc.any(pc.match_substring_regex(cores, regex)).as_py())

    point = decimal if sure else _point(any_has, decimal)
    if point is None:
        return None
    marks = [*APOSTROPHES, *SPACES, "," if point == "." else "."]
    grouped = (mark for mark in marks if any_has(rf"\d[{mark}]\d{{3}}(\D|$)"))
    return point, next(grouped, "")


def _point(any_has: Callable[[str], bool], decimal: str) -> str | None:
    """Return the decimal point by the texts; None if they contradict."""
    other = "," if decimal == "." else "."
    sides = ((decimal, other), (other, decimal))
    points = {mark for mark, more in sides if any_has(_as_decimal(mark, more))}
    repeated = {mark for mark, _ in sides if any_has(rf"\d[{mark}]\d{{3}}[{mark}]\d")}
    if len(points) == 2 or len(repeated) == 2 or points & repeated:
        return None
    if points == {decimal} or not (points or repeated & {decimal}):
        return decimal  # also where there are only such as 1,234 and 12
    # Against the file: 1.234 between 1,5 and 2,5 might be either, but not if 1.234,5 is there.
    sure = repeated or any_has(rf"[{decimal}]\d{{3}}[{other}]\d*$")
    return other if sure or not any_has(rf"[{decimal}]") else None


def _as_decimal(mark: str, other: str) -> str:
    """Return a pattern of numbers in which a mark can only be the decimal point."""
    both = rf"[{other}]\d{{3}}[{mark}]\d*$"
    not_three = rf"^[^{mark}]*[{mark}](\d{{0,2}}|\d{{4,}})$"
    return rf"{both}|{not_three}|^0[{mark}]|^[{mark}]|^\d{{4,}}[{mark}]"


def _core(decimal: str, thousands: str) -> str:
    """Return the pattern of a number without sign, power and unit."""
    core = rf"\d+[{decimal}]?\d*|[{decimal}]\d+"
    if not thousands:
        return core
    mark = f"[{SPACES if thousands in SPACES else thousands}]"
    return rf"\d{{1,3}}(?:{mark}\d{{2,3}})*{mark}\d{{3}}(?:[{decimal}]\d*)?|{core}"


def _with_style(texts: NDArray[Any], decimal: str, thousands: str) -> Parsed:
    """Parse texts whose decimal point and mark between thousands are known."""
    pc = _compute()

    core = _core(decimal, thousands)
    pattern = (
        rf"^[{BOUNDS}]?=?[{SPACES}]*(?P<open>\()?(?P<sign>[+{MINUS}]?)[{SPACES}]*(?P<before>{CURRENCY})?[{SPACES}]*"
        rf"(?P<inner>[+{MINUS}]?)[{SPACES}]*(?P<core>{core})(?P<power>[eE][-+]?\d+)?"
        rf"(?P<tail>-?)[{SPACES}]*(?P<after>{UNIT})?(?P<close>\))?$"
    )
    found = pc.extract_regex(_arrow(texts), pattern)
    part = {name: pc.struct_field(found, name) for name in _group_names(pattern)}
    number = part["core"]
    for mark in SPACES if thousands and thousands in SPACES else thousands:
        number = pc.replace_substring(number, mark, "")
    number = pc.replace_substring(number, ",", ".") if decimal == "," else number
    number = pc.binary_join_element_wise(number, part["power"], "")
    values = number.cast("float64").to_numpy(zero_copy_only=False).astype(np.float64)
    minus = np.zeros(len(values), dtype=bool)
    for name in ("sign", "inner", "tail", "open"):
        here = pc.is_in(part[name], value_set=_arrow([*MINUS, "("]))
        minus ^= here.to_numpy(zero_copy_only=False).astype(bool)
    unbalanced = pc.not_equal(
        pc.utf8_length(part["open"]), pc.utf8_length(part["close"])
    ).fill_null(False)
    values = np.where(minus, -values, values)
    values[unbalanced.to_numpy(zero_copy_only=False)] = np.nan
    units = pc.binary_join_element_wise(part["before"], part["after"], "")
    counted = pc.value_counts(units.filter(pc.is_valid(units))).to_pylist()
    counted.sort(key=lambda each: (-each["counts"], each["values"]))
    names = tuple(each["values"] for each in counted) or ("",)
    unit = next((name for name in names if name), "")
    return Parsed(values, Style(decimal, thousands, unit), names)


def _group_names(pattern: str) -> list[str]:
    """Return the names of the groups of a pattern."""
    return re.findall(r"\?P<(\w+)>", pattern)
