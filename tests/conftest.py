"""What all tests share."""

import os
import signal

import pytest
from threadpoolctl import threadpool_limits

# The tests already run on all cores; threads of linear algebra only get into each other's way.
# This has to be said before NumPy is imported.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# A shell has what it starts at the back ignore Ctrl-C, and programs that are started from there
# too: the tests of interrupts could not pass.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def several_blas_threads():
    """Linear algebra with threads, as it is outside of these tests; sums may then differ."""
    with threadpool_limits(4):
        yield
