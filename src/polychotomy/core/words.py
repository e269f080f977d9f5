"""Values in words."""

from __future__ import annotations

import unicodedata

# Joiners of letters, which some languages need.
_HARMLESS = "\u200c\u200d"


def printable(text: object, keep: str = "") -> str:
    r"""Write a text so that a terminal shows it, and does not obey it.

    Names of classes and columns come from files, and may hold control characters: sequences that
    move the cursor, set the title of a window or hide what was printed.

    Parameters
    ----------
    text : object
        What to print, as a string or by its ``str``.
    keep : str
        Control characters to leave as they are, the line breaks between rows, say.

    Returns
    -------
    text : str
        With escapes, as in Python, for control and format characters, and for what is no character.

    Examples
    --------
    >>> from polychotomy.core.words import printable
    >>> print(printable("red\x1b[2J"), printable("größe (cm)"))
    red\x1b[2J größe (cm)
    """
    text = str(text)
    if text.isprintable():
        return text
    kept = set(keep + _HARMLESS)
    return "".join(one if one in kept or _is_shown(one) else _escape(one) for one in text)


def _is_shown(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def duration(seconds: float) -> str:
    """Write a time in words.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    words : str

    Examples
    --------
    >>> from polychotomy.core.words import duration
    >>> duration(0.26), duration(75), duration(7320)
    ('0.3 s', '1 min 15 s', '2 h 02 min')
    """
    if seconds < 59.5:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def counted(number: int, noun: str) -> str:
    """Return a number of things, in words.

    Examples
    --------
    >>> from polychotomy.core.words import counted
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
