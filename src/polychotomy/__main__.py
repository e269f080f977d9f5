"""``python -m polychotomy``: the command line."""

import sys

from .core.extras import needed


def main() -> int:
    """Run the command line, or say in one line how to install what it needs."""
    try:
        needed("typer", "tool", "The command line needs typer")
    except ModuleNotFoundError as error:
        print(f"polychotomy: error: {error}", file=sys.stderr)
        return 2
    from .cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
