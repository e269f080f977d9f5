"""Python ends cleanly while threads are inside the core."""

from textwrap import dedent

import pytest

from commands import Commands

SCRIPT = """
    import threading, time
    import numpy as np
    from polychotomy import SVM, LSSVM, KernelLogisticRegression
    from polychotomy.native import couple_code, couple_wu_lin_weng

    random = np.random.default_rng(0)
    X, y = random.normal(size=(2000, 5)), random.integers(0, 2, size=2000)
    r = random.random((20_000, 190))
    work = {
        "svm": lambda: SVM(C=1e6, tol=1e-9).fit(X, y),
        "klr": lambda: KernelLogisticRegression(C=1e6).fit(X, y),
        "coupling": lambda: couple_wu_lin_weng(r),
    }["WHICH"]

    def on_and_on():
        while True:
            started.set()
            work()

    started = threading.Event()
    for _ in range(3):
        threading.Thread(target=on_and_on, daemon=True).start()
    started.wait()
    time.sleep(0.2)
    print("end", flush=True)
"""


@pytest.mark.parametrize("which", ["svm", "klr", "coupling"])
def test_python_ends_while_other_threads_are_in_the_core(which, tmp_path):
    # Python stops threads that ask for its lock; C++ would call std::terminate (exit code -6).
    done = Commands(tmp_path).run_code(dedent(SCRIPT).replace("WHICH", which))
    assert (done.code, done.out.strip()) == (0, "end"), done.err
    assert "terminate" not in done.err
