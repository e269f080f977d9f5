"""``python -m polychotomy``: the command line."""

import gc
import sys
from collections.abc import Callable

from .core.extras import needed


def main() -> int:
    """Run the command line, or say in one line how to install what it needs."""
    return imported_main()()


def imported_main() -> Callable[[], int]:
    """Import the command line; return what runs it, or says what it needs."""
    try:
        needed("typer", "tool", "The command line needs typer")
    except ModuleNotFoundError as error:
        message = f"polychotomy: error: {error}"
        return lambda: _refuse(message)
    from .cli import main as run

    gc.enable()
    return lambda: _run(run)


def _run(run: Callable[[], int]) -> int:
    try:
        return run()
    finally:
        # At the end, Python would look through all modules for garbage, for a third of a second.
        gc.freeze()


def _refuse(message: str) -> int:
    print(message, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
