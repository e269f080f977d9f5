"""The ``polychotomy`` command before the library is imported: Ctrl-C ends it with one line.

Note: this is a package of its own, because importing any module of `polychotomy` imports the
library, which takes a second. In that second, Python would answer Ctrl-C with a traceback.
"""

import gc
import os
import signal
import sys
from types import FrameType


def main() -> int:
    """Import the library, and run the command line."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    gc.disable()  # nothing that is imported is garbage; to look for it takes a tenth of the time
    from polychotomy.__main__ import imported_main

    run = imported_main()
    signal.signal(signal.SIGINT, before)
    try:
        return run()
    except KeyboardInterrupt:  # before `run` has installed its own handler, or after its end
        return _say_stopped()


def _stop(number: int, frame: FrameType | None) -> None:
    """End at once: nothing is open yet, and modules turn exceptions into errors of their own."""
    os._exit(_say_stopped())


def _say_stopped() -> int:
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"polychotomy: stopped.\n")
    return 130
