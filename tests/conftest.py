"""What all tests share."""

import multiprocessing
import os
import signal
import sys

import pytest
from threadpoolctl import threadpool_limits

# The tests already run on all cores; threads of linear algebra only get into each other's way.
# This has to be said before NumPy is imported.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Where the environment says to keep no bytecode, as images of containers do, each of the processes
# that tests start would compile the whole library again, and pytest all tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Workers of Dask are forked from a server process, as ours are: see the fixture below.
if sys.platform == "linux":
    os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")

# A shell has what it starts at the back ignore Ctrl-C, and programs that are started from there
# too: the tests of interrupts could not pass.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def several_blas_threads():
    """Linear algebra with threads, as it is outside of these tests; sums may then differ."""
    with threadpool_limits(4):
        yield


@pytest.fixture(scope="session")
def fork_server():
    """Start the server that processes are forked from with all that any of them needs imported.

    The first who starts a process would have it import only what that one needs, and all others
    would import the rest themselves, each time.
    """
    if sys.platform == "linux":
        from multiprocessing.forkserver import ensure_running

        context = multiprocessing.get_context("forkserver")
        modules = ["polychotomy.compare", "polychotomy.study.driver", "distributed.nanny"]
        context.set_forkserver_preload(modules)
        ensure_running()
