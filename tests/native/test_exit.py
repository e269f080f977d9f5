"""Python ends cleanly while threads are inside the core."""

import subprocess
import sys

SCRIPT = """
import threading, time
import numpy as np
from polychotomy import SVM, KernelLogisticRegression
from polychotomy.native import couple_wu_lin_weng

random = np.random.default_rng(0)
X, y = random.normal(size=(2000, 5)), random.integers(0, 2, size=2000)
r = random.random((20_000, 190))

def on_and_on(work, started):
    while True:
        started.set()
        work()

all_started = []
for work in (
    lambda: SVM(C=1e6, tol=1e-9).fit(X, y),
    lambda: KernelLogisticRegression(C=1e6).fit(X, y),
    lambda: couple_wu_lin_weng(r),
) * 3:
    all_started.append(threading.Event())
    threading.Thread(target=on_and_on, args=(work, all_started[-1]), daemon=True).start()
for started in all_started:
    started.wait()
time.sleep(0.2)
print("end", flush=True)
"""


def test_python_ends_while_other_threads_are_in_the_core():
    # Python stops threads that ask for its lock; C++ would call std::terminate (exit code -6).
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "end"), done.stderr
    assert "terminate" not in done.stderr
