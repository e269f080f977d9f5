"""What notebooks show of an estimator: the parts of its pipe, drawn by scikit-learn's diagram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass
class Diagram:
    """A piece of the diagram, with the attributes that scikit-learn reads from one.

    An estimator's `_sk_visual_block_` returns it. scikit-learn (1.6 to 1.9) asks every estimator
    for that method; one that did not would draw its usual box, and nothing would break.

    Parameters
    ----------
    kind : {"serial", "parallel", "single"}
        Boxes one after another, beside each other, or one box.
    estimators : object or list of objects
        What is in it; the object itself for "single".
    names, name_details : str or list of str
        The titles, and what opens below them.
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
    """Draw parts that work one after another."""
    return _several("serial", parts)


def side_by_side(parts: Sequence[tuple[str, Any]]) -> Diagram:
    """Draw estimators that work beside each other."""
    return _several("parallel", parts)


def _several(kind: str, parts: Sequence[tuple[str, Any]]) -> Diagram:
    names = [f"{name}: {_title(part)}" for name, part in parts]
    estimators, details = [part for _, part in parts], [repr(part) for _, part in parts]
    # As scikit-learn's Pipeline has it.
    return Diagram(kind, estimators, names, details, dash_wrapped=kind == "parallel")


def _title(part: Any) -> str:
    return str(part.names) if isinstance(part, Diagram) else type(part).__name__
