"""Values in words."""

import pytest

from polychotomy.core.words import duration, printable


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0.0 s"),
        (59.44, "59.4 s"),
        (59.5, "1 min 00 s"),
        (119.6, "2 min 00 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 00 min"),
        (36 * 3600, "36 h 00 min"),
    ],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größe (cm), 模型", "größe (cm), 模型"),
        ("a\u00a0b", "a\u00a0b"),
        ("red\x1b[31m", r"red\x1b[31m"),
        ("\x9b2J", r"\x9b2J"),
        ("\x07\x08\x7f", r"\x07\x08\x7f"),
        ("two\nlines\tand\rmore", r"two\nlines\tand\rmore"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("\udcff", r"\udcff"),
        ("\u2028\ufeff", r"\u2028\ufeff"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        (7, "7"),
    ],
)
def test_a_terminal_shows_names_and_does_not_obey_them(text, shown):
    assert printable(text) == shown


def test_line_breaks_can_be_kept():
    assert printable("a\n\x1bb", keep="\n") == "a\n\\x1bb"
