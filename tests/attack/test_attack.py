"""A minute of the attacks in this folder, which run for longer by hand."""

import os

import pytest
from sklearn.datasets import load_iris

from . import processes


def test_threads_have_the_bits_of_one_alone():
    tried, failed = processes.threads(1)
    assert (tried, failed) == (12, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_workers_have_the_bits_of_their_server():
    tried, failed = processes.servers(1)
    assert (tried, failed) == (6, 0)


def test_vector_instructions_change_no_more_than_the_tolerance_of_the_solver():
    tried, failed = processes.lanes(1, [load_iris])
    assert (tried, failed) == (6, 0)
