"""A few seconds of the fuzzer; it runs for an hour by hand, see fuzz.py."""

import pytest

from resumable import run

from .fuzz import call


@pytest.mark.parametrize("first", [0, 1000])
def test_random_pipes_answer_or_refuse_clearly(first):
    counts, reports = run(range(first, first + 1000), call, seed=1, seconds=8)
    assert not reports, "\n".join(reports[:5])
    assert counts["answered"] > 3
