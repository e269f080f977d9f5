"""The command `predict`: answers for the rows of a table, in pieces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.words import counted
from ._adapting import adapted, read_twice
from ._console import json_text, shown_on_terminal, tell
from ._data import (
    Data,
)
from ._decisions import (
    Answered,
    CostsFile,
    RejectCost,
    SetCoverage,
    add_columns,
    columns_to_read,
    cost_columns,
    held_out_of,
    wishes,
)
from ._opened import (
    Model,
    decision_plan,
    open_model,
    pieces,
    tell_unseen,
)

if TYPE_CHECKING:
    pass

SUFFIXES = (".csv", ".parquet", ".jsonl")


def predict(
    model: Model,
    data: Data,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help=".csv, .parquet or .jsonl; - for stdout."
        ),
    ] = "-",
    copy: Annotated[
        list[str] | None,
        typer.Option("--copy", metavar="COLUMN", help="Copy a column of the table; repeatable."),
    ] = None,
    labels_only: Annotated[
        bool, typer.Option("--labels-only", help="Do not write the probabilities.")
    ] = False,
    costs: CostsFile = None,
    reject_cost: RejectCost = None,
    answered: Answered = None,
    sets: SetCoverage = None,
    adapt: Annotated[
        bool,
        typer.Option(
            "--adapt", help="Estimate the class frequencies of these rows first, and use them."
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Add the second class, and its distance to the predicted one."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write one JSON object per line, for programs.")
    ] = False,
    safe: Annotated[
        bool,
        typer.Option(
            "--safe", help="For spreadsheets: a ' before texts in CSV that could be formulas."
        ),
    ] = False,
) -> None:
    """Predict classes and probabilities for the rows of a table.

    The table may be of any length. Columns are matched by name; columns that the model does not
    use are ignored.

    With --costs there is a column "action", the cheapest; with --reject-cost or --answered a column
    "rejected"; with --sets a column "set", with | between classes. By default, what 'fit' was asked
    for. --adapt reads the table twice: if its classes come in other proportions than those of the
    training rows, the probabilities are adapted to that.

    Classes and copied columns are written as they are in the data. A spreadsheet takes a text in
    a CSV file that begins with =, +, - or @ for a formula: use --safe for data that you do not
    trust.

    \b
    Examples:
      polychotomy predict flowers.polychotomy new.csv -o predictions.parquet --copy id
      polychotomy predict loans.polychotomy new.csv --costs costs.csv --adapt
      zcat big.csv.gz | polychotomy predict flowers.polychotomy - | head
    """  # noqa: D301
    from ..tables import TableWriter, spreadsheet_safe

    suffix = Path(output).suffix.lower()
    if output != "-" and suffix not in SUFFIXES and os.path.splitext(output)[1]:
        raise ValueError(f"--output must end in .csv, .parquet or .jsonl, got {output!r}.")
    if safe and (as_json or suffix in (".parquet", ".jsonl")):
        raise ValueError("--safe is for CSV; other formats have no formulas.")
    opened = open_model(model, data)
    plan = decision_plan(opened, wishes(costs, reject_cost, answered, sets), adapt)
    unseen: dict[str, set[str]] = {}
    count, lists = 0, as_json or suffix == ".jsonl"
    with ExitStack() as stack:
        probabilities = None
        if adapt:
            data = stack.enter_context(read_twice(data))
            first = pieces(data, opened.schema, [], {})
            probabilities = stack.enter_context(
                adapted(opened.model, held_out_of(opened.model), first)
            )
        stream = stack.enter_context(_stream(output))
        writer = stack.enter_context(TableWriter(stream, suffix == ".parquet"))
        extra = list(dict.fromkeys([*(copy or []), *columns_to_read(plan, opened.schema)]))
        for matched, others in pieces(data, opened.schema, extra, unseen):
            p = None if probabilities is None else probabilities.next(len(matched))
            answers = _answers(opened.model, matched, others[copy or []], labels_only, p, explain)
            if plan.decides and len(matched):
                p = opened.model.predict_proba(matched) if p is None else p
                add_columns(answers, plan, p, cost_columns(plan, matched, others), lists)
            answers = spreadsheet_safe(answers) if safe else answers
            count += len(answers)
            if lists:
                stream.write(_json_lines(answers))
            else:
                writer.write(answers)
    tell_unseen(unseen)
    if output != "-":
        tell(f"wrote {output}: {counted(count, 'row')}.")


@contextmanager
def _stream(output: str) -> Iterator[Any]:
    from ..tables import whole_file

    with whole_file(output) as stream:
        yield shown_on_terminal(stream) if output == "-" else stream


def _answers(
    model: Any, matched: Any, others: Any, labels_only: bool, p: Any = None, explain: bool = False
) -> Any:
    from ..tables._errors import pandas_module

    answers = others.reset_index(drop=True).copy()
    classes = model.classes_
    if not len(matched):
        answers["predicted"] = []
        return answers
    if not hasattr(model, "predict_proba"):
        if explain:
            raise ValueError("--explain needs probabilities, which this model does not have.")
        answers["predicted"] = model.predict(matched)
        return answers
    p = model.predict_proba(matched) if p is None else p
    answers["predicted"] = classes[p.argmax(axis=1)]
    if explain:
        # The pair that decided: the most likely class, and the one that came second.
        best = (-p).argsort(axis=1, kind="stable")[:, :2]
        rows = range(len(p))
        answers["decided_against"] = classes[best[:, -1]]
        answers["decided_by"] = p[rows, best[:, 0]] - p[rows, best[:, -1]]
    if labels_only:
        return answers
    names = [f"probability_{label}" for label in classes.tolist()]
    # All at once: pandas warns of a thousand columns that are added one by one.
    chances = pandas_module().DataFrame(p, columns=names)
    return pandas_module().concat([answers.drop(columns=names, errors="ignore"), chances], axis=1)


def _json_lines(frame: Any) -> bytes:
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return "".join(json_text(row) + "\n" for row in rows).encode()
