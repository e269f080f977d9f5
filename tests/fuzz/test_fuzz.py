"""A few hundred calls of the fuzzer; it runs for an hour by hand, see fuzz.py."""

import pytest

from resumable import run

from .fuzz import call


@pytest.mark.parametrize("first", [0, 1000])
def test_random_pipes_answer_or_refuse_clearly(first):
    counts, reports = run(range(first, first + 80), call, seed=1)
    assert not reports, "\n".join(reports[:5])
    assert counts["answered"] > 3
