"""A model file that a command has opened, and what all of these commands do with it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._console import naming_the_file, tell
from ._data import (
    built_in_frame,
    is_built_in,
)
from ._decisions import (
    Wishes,
    held_out_of,
)

if TYPE_CHECKING:
    from ..decisions import DecisionPlan
    from ..tables import TableSchema

Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="A file from 'polychotomy fit'; - for stdin.")
]


@dataclass(frozen=True)
class OpenedModel:
    """A loaded model and the metadata of its file."""

    model: Any
    header: dict[str, Any]
    schema: TableSchema


def open_model(path: str, data: str) -> OpenedModel:
    """Open a model file, or standard input if it is "-", which must not be the data too."""
    from ..persistence import describe, load
    from ..tables import TableSchema

    if path == "-":
        if data == "-":
            raise ValueError("MODEL and DATA cannot both be standard input.")
        content = sys.stdin.buffer.read()
    elif os.path.isdir(path):
        raise ValueError(f"{path!r} is a directory; give a model file.")
    else:
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            raise ValueError(
                f"There is no model file {path!r}; write one with polychotomy fit."
            ) from None
        except PermissionError:
            raise ValueError(f"{path!r} cannot be read: permission denied.") from None
    with naming_the_file(path):
        header = describe(io.BytesIO(content))
    metadata = header["metadata"]
    schema = TableSchema.from_dict(metadata.get("table") if isinstance(metadata, dict) else None)
    with naming_the_file(path):
        return OpenedModel(load(io.BytesIO(content)), header, schema)


def pieces(
    data: str, schema: TableSchema, extra: list[str], unseen: dict[str, set[str]]
) -> Iterator[tuple[Any, Any]]:
    """Read a table in pieces: its rows in the model's form, and further columns unchanged."""
    from ..tables import matched_pieces, open_table

    if is_built_in(data):
        frame = built_in_frame(data)
        matched, new = schema.matched(frame, where=data)
        _collect(unseen, new)
        yield matched, frame[extra]
        return
    with open_table(data) as file:
        for matched, new, others in matched_pieces(file, schema, extra):
            _collect(unseen, new)
            yield matched, others


def _collect(unseen: dict[str, set[str]], new: dict[str, list[str]]) -> None:
    for column, words in new.items():
        unseen.setdefault(column, set()).update(words)


def tell_unseen(unseen: dict[str, set[str]]) -> None:
    """Name the categories that the training rows did not have."""
    for column, words in unseen.items():
        some = ", ".join(repr(word) for word in sorted(words)[:3])
        more = "" if len(words) <= 3 else f" and {len(words) - 3} more"
        tell(
            f"column {column!r} has categories that were not in the training rows "
            f"({some}{more}); they count as none of those known."
        )


def decision_plan(opened: OpenedModel, wanted: Wishes, adapt: bool = False) -> DecisionPlan:
    """Return what is to be decided: what the options say, or what the file has kept."""
    kept = wanted.or_else(opened.header["metadata"].get("decisions"))
    if adapt and wanted == Wishes() and kept.needs_held_out:
        tell("with --adapt, the shares of answered rows and the sets of 'fit' are left out.")
        kept = replace(kept, answered=None, sets=None)
    wanted = kept
    decides = wanted != Wishes()
    if (decides or adapt) and not hasattr(opened.model, "predict_proba"):
        raise ValueError("The model has no probabilities, which decisions need.")
    if adapt and wanted.needs_held_out:
        option = "--sets" if wanted.answered is None else "--answered"
        raise ValueError(
            f"--adapt and {option} do not go together: its thresholds hold for the class "
            "frequencies of the training rows. Use --costs or --reject-cost."
        )
    return wanted.plan(opened.model.classes_, held_out_of(opened.model))
