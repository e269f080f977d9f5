"""A function that does not stop, for tests of what ends it."""

import signal
import time


def sleep(context, seconds):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        time.sleep(0.01)
    return "slept"
