"""matplotlib, which is optional: imported when something is drawn, and not before."""

from __future__ import annotations

from typing import Any


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Drawing needs matplotlib; install it with: pip install 'polychotomy[plot]'."
        ) from error
    return plt
