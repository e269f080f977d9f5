"""Ctrl-C while modules are imported."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PAUSE = 0.05
LONGEST = 15.0


@contextmanager
def interrupts_wait_for_imports() -> Iterator[None]:
    """Let an interrupt wait until no module is being imported.

    An exception in the middle of an import may be printed with its traceback, turned into an
    `ImportError` or lost, depending on the module: compiled ones do all of these.
    """
    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before is not signal.default_int_handler:
        yield
        return
    waited = 0.0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal waited
        if waited >= LONGEST or not _is_importing(frame):
            signal.default_int_handler(number, frame)
        waited += PAUSE
        again = threading.Timer(PAUSE, _interrupt, (number,))
        again.daemon = True
        again.start()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(number: int) -> None:
    """Interrupt the main thread.

    Note: `_thread.interrupt_main` only sets a mark, and does not end a read from standard input
    that has begun. A signal does.
    """
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:  # Windows
        signal.raise_signal(number)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
