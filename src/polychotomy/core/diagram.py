"""The notebook view of an estimator: the parts of its pipe in scikit-learn's diagram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass
class Diagram:
    """A piece of the diagram, with the attributes that scikit-learn reads from one.

    An estimator's `_sk_visual_block_` returns it. scikit-learn (1.6 to 1.9) calls that private
    method if an estimator has it. A version that does not call it draws its usual box instead.

    Parameters
    ----------
    kind : {"serial", "parallel", "single"}
        Boxes in sequence, boxes side by side, or a single box.
    estimators : object or list of objects
        The contents; the object itself for "single".
    names, name_details : str or list of str
        The titles, and the details that unfold below them.
    name_caption : str, default=None
        A small line below the title of a single box.
    """

    kind: str
    estimators: Any
    names: Any
    name_details: Any
    name_caption: str | None = None
    doc_link_label: str | None = None
    dash_wrapped: bool = True

    def _sk_visual_block_(self) -> Self:
        return self


def box(role: str, part: Any) -> Diagram:
    """Draw one part: its class, its role, and its parameters below."""
    return Diagram("single", part, type(part).__name__, repr(part), role)


def in_turn(parts: Sequence[tuple[str, Any]]) -> Diagram:
    """Draw parts that run in sequence."""
    return _several("serial", parts)


def side_by_side(parts: Sequence[tuple[str, Any]]) -> Diagram:
    """Draw estimators side by side."""
    return _several("parallel", parts)


def _several(kind: str, parts: Sequence[tuple[str, Any]]) -> Diagram:
    names = [f"{name}: {_title(part)}" for name, part in parts]
    estimators, details = [part for _, part in parts], [repr(part) for _, part in parts]
    # The dashed frame is that of scikit-learn's Pipeline.
    return Diagram(kind, estimators, names, details, dash_wrapped=kind == "parallel")


def _title(part: Any) -> str:
    return str(part.names) if isinstance(part, Diagram) else type(part).__name__
