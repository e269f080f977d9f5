"""Two passes over a table: first the class frequencies of its rows, then the answers."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.words import counted
from ._console import tell

if TYPE_CHECKING:
    from ..decisions import LabelShift


@contextmanager
def read_twice(data: str) -> Iterator[str]:
    """Yield the name of a table that can be read twice: standard input is copied to a file."""
    if data != "-":
        yield data
        return
    with tempfile.NamedTemporaryFile() as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield copy.name


@dataclass
class Adapted:
    """The adapted probabilities of a table's rows, in order.

    The probabilities of the first pass are kept in a file, because a table may be larger than
    memory; the second pass does not predict again.
    """

    shift: LabelShift
    kept: Any
    place: int = 0

    def next(self, n_rows: int) -> Any:
        """Return the probabilities of the next rows."""
        import numpy as np

        p = np.asarray(self.kept[self.place : self.place + n_rows])
        self.place += n_rows
        return self.shift.adapted(p)


@contextmanager
def adapted(model: Any, held_out: Any, pieces: Iterator[tuple[Any, Any]]) -> Iterator[Adapted]:
    """Go through a table once, and yield what the second pass needs."""
    import numpy as np

    from ..decisions import LabelShift
    from ..tables import TableError

    if held_out is None:
        raise ValueError(
            "The model file has no held-out rows, which --adapt needs: fit the model again with "
            "--keep-held-out."
        )
    shift = LabelShift.of_held_out(held_out, model.classes_)
    with tempfile.TemporaryFile() as file:
        n_rows = 0
        for matched, _ in pieces:
            if len(matched):
                p = shift.tempered(model.predict_proba(matched))
                file.write(np.ascontiguousarray(p, dtype=np.float64).tobytes())
                n_rows += len(matched)
        if not n_rows:
            raise TableError("The table has no rows to estimate class frequencies from.")
        file.flush()
        kept: Any = np.memmap(file, np.float64, "r", shape=(n_rows, len(model.classes_)))
        shift.adapt_probabilities(kept)
        tell(said(shift))
        yield Adapted(shift, kept)


def said(shift: LabelShift) -> str:
    """Return what was found, in a sentence."""
    import numpy as np

    found = shift.shift_
    if found.p_value >= shift.level:
        return (
            f"no shift of the class frequencies was found in {counted(found.n_rows, 'row')} "
            f"(p = {found.p_value:.2g}); the probabilities are for those of the training rows."
        )
    order = np.argsort(-np.abs(shift.frequencies_ - shift.training_frequencies_))[:5]
    shares = ", ".join(
        f"{shift.classes_.tolist()[k]} {shift.frequencies_[k]:.1%} "
        f"(training {shift.training_frequencies_[k]:.1%})"
        for k in order
    )
    return f"the class frequencies have shifted (p = {found.p_value:.2g}): {shares}."
