"""The commands `evaluate` and `explain`: how good a model is, and why it answers so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.words import counted
from ._console import print_json, show, tell
from ._data import (
    Data,
    Json,
    Weights,
)
from ._decisions import (
    Answered,
    CostsFile,
    RejectCost,
    SetCoverage,
    columns_to_read,
    cost_columns,
    decision_report,
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
    from ..tables import Column


def evaluate(
    model: Model,
    data: Data,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COLUMN", help="The classes [default: as trained]."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Rows that belong together, for the standard errors."),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="A number or date: also judge four periods in turn."),
    ] = None,
    weights: Weights = None,
    costs: CostsFile = None,
    reject_cost: RejectCost = None,
    answered: Answered = None,
    sets: SetCoverage = None,
    as_json: Json = False,
) -> None:
    """Judge a model on labelled rows.

    Prints error, NLL, Brier score, calibration and confusions.

    With --costs, --reject-cost, --answered or --sets, or if 'fit' was asked for them: also what the
    decisions cost, how many rows are answered, and what the sets of classes are like.

    \b
    Examples:
      polychotomy evaluate flowers.polychotomy test.csv
      polychotomy evaluate loans.polychotomy test.csv --costs costs.csv
    """  # noqa: D301
    from ..compare import evaluate_labels
    from ..compare._classes import MERGED
    from ..tables import SetAside, TableError
    from ..tables._content import content_of
    from ..tables._notes import no_class

    opened = open_model(model, data)
    plan = decision_plan(opened, wishes(costs, reject_cost, answered, sets))
    name = target or opened.schema.target
    merged = opened.header["metadata"].get("merged", [])
    unseen: dict[str, set[str]] = {}
    parts, labels, prices, without_class = [], [], [], 0
    columns = {"groups": groups, "order": order, "weights": weights}
    aside = SetAside({role: column for role, column in columns.items() if column is not None})
    extra = list(dict.fromkeys([name, *aside.names, *columns_to_read(plan, opened.schema)]))
    for matched, others in pieces(data, opened.schema, extra, unseen):
        known = content_of(others[name], opened.schema.target_markers).present
        without_class += int((~known).sum())
        aside.add(others, known)
        true = opened.schema.true_labels(others[name][known], opened.model.classes_)
        labels.append(true.where(~true.isin(merged), MERGED))
        if known.any():
            parts.append(_scores(opened.model, matched[known]))
            prices.append(cost_columns(plan, matched[known], others[known]))
    if not parts:
        raise TableError(f"No row of {data!r} has a class in {name!r}.")
    if without_class:
        tell(no_class(without_class, name))
    found = evaluate_labels(
        opened.model.classes_, labels, parts, opened.header["metadata"], **aside.arrays()
    )
    decided = decision_report(plan, labels, parts, prices) if plan.decides else None
    tell_unseen(unseen)
    if as_json:
        more = {} if decided is None else {"decisions": decided.to_dict()}
        print_json({**found.to_dict(), **more})
    else:
        show(found)
        if decided is not None:
            show(f"\n{decided}")


def _scores(model: Any, matched: Any) -> tuple[Any, Any]:
    """Return the numbers of the predicted classes, and the probabilities if there are any."""
    import numpy as np

    if hasattr(model, "predict_proba"):
        p = model.predict_proba(matched)
        return p.argmax(axis=1), p
    return np.searchsorted(model.classes_, model.predict(matched)), None


def explain(
    model: Model,
    data: Data,
    row: Annotated[
        int, typer.Option("--row", "-n", min=1, help="The number of the row, from 1.")
    ] = 1,
    as_json: Json = False,
) -> None:
    """Show how the class of one row was decided.

    Prints the answer of each binary machine, and how these were decoded.

    \b
    Examples:
      polychotomy explain flowers.polychotomy new.csv --row 17
    """  # noqa: D301
    from ..compare import explain_row
    from ..core.words import printable
    from ..tables import TableError

    opened = open_model(model, data)
    before = 0
    for matched, _ in pieces(data, opened.schema, [], {}):
        if row <= before + len(matched):
            one = matched.iloc[[row - 1 - before]]
            break
        before += len(matched)
    else:
        raise TableError(f"{data!r} has {counted(before, 'row')}; there is no row {row}.")
    columns = {column.name: column for column in opened.schema.columns}
    values = {key: _plain(value, columns[key]) for key, value in one.iloc[0].items()}
    explanation = explain_row(_inside(opened.model), one)
    if as_json:
        print_json({"row": row, "inputs": values, **explanation.to_dict()})
        return
    for key, value in values.items():
        show(f"{printable(key)}: {'missing' if value is None else printable(value)}")
    show(f"\n{explanation}")


def _inside(model: Any) -> Any:
    """Return the model itself, without what was kept around it for decisions."""
    return model if held_out_of(model) is None else model.estimator_


def _plain(value: Any, column: Column) -> Any:
    if isinstance(value, float):
        if value != value:
            return None
        return _date(value, column.format) if column.kind == "date" else value
    return value.item() if hasattr(value, "item") else value


def _date(seconds: float, format_: str) -> str:
    """Write a date or a time, which machines get as seconds since 1970, as people do."""
    from datetime import UTC, datetime, timedelta

    from ..tables._dates import has_day

    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    if not has_day(format_):
        return moment.time().isoformat()
    return moment.replace(tzinfo=None).isoformat(" ").removesuffix(" 00:00:00")
