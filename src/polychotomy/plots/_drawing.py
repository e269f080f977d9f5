"""What all plots share: axes, colours, and readable text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.extras import needed

# Petroff (2021), Accessible color sequences for data visualization: distinguishable with any
# colour vision deficiency, and neither too light for white nor too dark for black.
PALETTE = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#94a4a2",
    "#832db6",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#717581",
    "#92dadd",
)
MARKERS = "os^Dv<>Ph8"


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``, imported on first use, or say how to install it."""
    return needed("matplotlib.pyplot", "plot", "Drawing needs matplotlib")


def axes(ax: Any, width: float, height: float) -> Any:
    """Return the given axes, or those of a new figure of this size in inches."""
    plt = pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def text_colour() -> Any:
    """Return the colour of text, which fits the background in any style."""
    return pyplot().rcParams["text.color"]


def class_styles(n_classes: int) -> list[dict[str, Any]]:
    """Return a colour and marker for every class; no two of the first 100 are the same."""
    return [
        {
            "color": PALETTE[k % len(PALETTE)],
            "marker": MARKERS[(k + k // len(PALETTE)) % len(MARKERS)],
        }
        for k in range(n_classes)
    ]


def put_legend(ax: Any, handles: Sequence[Any], title: str) -> None:
    """Put a legend next to the axes if the layout makes space for it, else into them."""
    if ax.figure.get_layout_engine() is None:
        ax.legend(handles=handles, title=title, loc="best")
        return
    place = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False}
    ax.legend(handles=handles, title=title, **place)


def readable_on(colour: Sequence[float]) -> str:
    """Return black or white, whichever is more readable on a colour."""
    # The relative luminance of the Web Content Accessibility Guidelines; 0.179 is where
    # contrasts with black and with white are equal.
    channel = np.asarray(colour[:3], dtype=float)
    linear = np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)
    return "black" if linear @ (0.2126, 0.7152, 0.0722) > 0.179 else "white"


def class_labels(classes: Any, n_classes: int) -> NDArray[Any]:
    """Return the labels of the classes; their numbers by default."""
    labels = np.arange(n_classes) if classes is None else np.asarray(classes)
    if labels.shape != (n_classes,):
        raise ValueError(
            f"classes must be {n_classes} labels, one for each class; got {labels.size}."
        )
    return labels
