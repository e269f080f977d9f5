"""Systems without threads, such as WebAssembly: the work is done in the calling thread."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource, threading
import numpy as np
from polychotomy.kernels.gaussian import exponential_of

distances = np.random.default_rng(0).exponential(3.0, (300, 411))
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
# No stack of another thread fits into what is left.
resource.setrlimit(resource.RLIMIT_AS, (used + (5 << 20), used + (5 << 20)))
try:
    threading.Thread(target=int).start()
except RuntimeError:
    found = exponential_of(distances, 0.7, 2)
    print(np.allclose(found, np.exp(-0.7 * distances), rtol=1e-14, atol=0))
else:
    print("a thread could be started")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_the_calling_thread_does_the_work():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert done.stdout == "True\n", done.stderr
