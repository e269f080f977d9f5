"""A function that does not stop, for tests of what ends it."""

import os
import signal
import threading
import time

import numpy
import pandas


def sleep(context, seconds):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        time.sleep(0.01)
    return "slept"


def train(name, X, y, preprocessor, *, n_rows, **options):
    """Never finish the method "PSVC" on all rows, nor the method "TKLR" on a part of them."""
    if (name, n_rows is None) in {("PSVC", True), ("TKLR", False)}:
        time.sleep(600)
    return name, n_rows


def fill(context, n_bytes):
    """Hold so many bytes of memory, after words of a table: their allocator reserves much more."""
    words = pandas.Series(["red", "green"], dtype="string[pyarrow]")
    return len(words), float(numpy.ones(n_bytes // 8).sum())


def wait(context, seconds):
    """Wait in any thread."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        time.sleep(0.01)
    return seconds


released = threading.Event()


def hold(context, wanted):
    """Wait in a thread of this process until all are released, if this is wanted."""
    if wanted:
        released.wait(60.0)
    return wanted


def process_id(context, argument):
    """Say which process this is."""
    return os.getpid()
