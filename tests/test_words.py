"""Values in words."""

import pytest

from polychotomy.core.words import duration


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
