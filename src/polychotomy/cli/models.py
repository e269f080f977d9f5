"""The commands that write and use a model file: `fit`, `predict`, `evaluate` and `explain`."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._adapting import adapted, read_twice
from ._console import json_text, print_json, show, shown_on_terminal, tell
from ._data import (
    Bins,
    Category,
    Data,
    Drop,
    Groups,
    Jobs,
    Json,
    Keep,
    Loaded,
    MergeSpellings,
    Missing,
    Order,
    Seed,
    Target,
    Text,
    Unique,
    Weights,
    built_in_frame,
    is_built_in,
    load_data,
    seconds_of,
)
from ._decisions import (
    Answered,
    CostsFile,
    RejectCost,
    SetCoverage,
    Wishes,
    add_columns,
    class_labels,
    columns_to_read,
    cost_columns,
    decision_report,
    held_out_of,
    wishes,
)
from ._time import command_clock
from .comparisons import Rare, Time, n_processes

if TYPE_CHECKING:
    from ..compare import MethodComparison
    from ..decisions import DecisionPlan
    from ..execution.deadline import Clock
    from ..tables import TableSchema

Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="A file from 'polychotomy fit'; - for stdin.")
]
SUFFIXES = (".csv", ".parquet", ".jsonl")
FITTING_SHARE = 0.3


def add_to(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for command in (fit, predict, evaluate, explain):
        app.command(command.__name__)(command)


def fit(
    data: Data,
    target: Target = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The model file; - for stdout.")
    ] = "model.polychotomy",
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", help="The method [default: compare, and use the best]."),
    ] = None,
    time: Time = "5m",
    rare: Rare = "keep",
    drop: Drop = None,
    keep: Keep = None,
    category: Category = None,
    text: Text = None,
    missing: Missing = None,
    groups: Groups = None,
    order: Order = None,
    weights: Weights = None,
    bins: Bins = None,
    merge_spellings: MergeSpellings = False,
    unique: Unique = False,
    costs: CostsFile = None,
    reject_cost: RejectCost = None,
    answered: Answered = None,
    sets: SetCoverage = None,
    keep_held_out: Annotated[
        bool,
        typer.Option(
            "--keep-held-out",
            help="Keep what 'predict' needs for --answered, --sets and --adapt.",
        ),
    ] = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Train a model on a table and write it to a file.

    Without --method, methods that can be kept in a file are compared first, for at most --time.

    What is to be decided (--costs, --reject-cost, --answered, --sets) is kept in the file, and
    'predict' writes it. Thresholds are chosen on rows that the model has not seen.

    \b
    Examples:
      polychotomy fit flowers.csv --target species --method POOL -o flowers.polychotomy
      polychotomy fit loans.csv -t kind --costs costs.csv --sets 0.95
      polychotomy fit iris -o - | polychotomy predict - new.csv
    """  # noqa: D301
    from .. import save
    from ..compare import fit_method
    from ..compare._candidates import NEAREST, choose
    from ..core import files

    clock = command_clock(seconds_of(time))
    wanted = wishes(costs, reject_cost, answered, sets)
    if output != "-":
        files.refuse(output)
    elif as_json:
        raise ValueError("--json prints to standard output, where --output - puts the model.")
    if method is not None and not choose([method])[0].storable:
        name = choose([method])[0].name
        raise ValueError(
            f"{name} cannot be kept in a model file that is safe to load: use the most similar "
            f"method, --method {NEAREST[name]}, omit --method to find the best that can be kept, "
            f"or use polychotomy.compare.tuned_pipeline({name!r}, y) in Python."
        )
    if method is not None and (groups or order):
        raise ValueError(
            "--groups and --order are for choosing a method; without --method they are used."
        )
    more = {"groups": groups, "order": order, "weights": weights, "bins": bins}
    more |= {"merge_spellings": merge_spellings, "unique": unique}
    loaded = load_data(data, target, drop, keep, category, text, missing, **more)
    if rare == "keep":
        wanted.check(class_labels(loaded.table.y))
    table, found = loaded.table, None
    if method is None:
        found = _compared(loaded, clock, rare, seed, jobs)
    name = choose([str(method)])[0].name if found is None else _kept(found, wanted, table.X)
    if keep_held_out or wanted.needs_held_out:
        model = _fitted_with_held_out(name, table, rare, seed, jobs)
    else:
        model = fit_method(
            *(name, table.X, table.y, table.schema.preprocessor()),
            rare=rare,
            sample_weight=table.weights,
            random_state=seed,
            n_jobs=jobs,
        )
    types = {column.name: column.kind for column in table.schema.columns}
    about = {
        "method": name,
        "data": loaded.title,
        "table": table.schema.to_dict(),
        "rows": len(table.y),
        "seed": seed,
        "comparison": None if found is None else found.summary(),
    }
    if wanted != Wishes():
        about["decisions"] = wanted.to_dict()
    if output == "-":
        save(model, sys.stdout.buffer, feature_types=types, metadata=about)
        sys.stdout.buffer.flush()
    else:
        save(model, output, feature_types=types, metadata=about)
    facts: dict[str, Any] = {
        "method": name,
        "rows": len(table.y),
        "classes": model.classes_.tolist(),
    }
    if as_json:
        print_json({**facts, "output": output, "columns": types, "notes": list(table.notes)})
    elif output != "-":
        tell(f"wrote {output}: {name}, {len(table.y)} rows, {len(facts['classes'])} classes.")


def _compared(
    loaded: Loaded, clock: Clock, rare: str, seed: int, jobs: int | None
) -> MethodComparison:
    from ..compare import candidates, compare_methods, default_names

    known = candidates()
    names = default_names()
    kept = [name for name in names if known[name].storable]
    others = [known[name].title for name in names if name not in kept]
    if others:
        tell(f"not compared, because a model file cannot hold it: {'; '.join(others)}.")
    found = compare_methods(
        loaded.table.X,
        loaded.table.y,
        kept,
        # Some time is kept for training on all rows.
        clock=clock.keeping(FITTING_SHARE),
        n_splits=5,
        preprocessor=loaded.table.schema.preprocessor(),
        rare=rare,
        groups=loaded.table.groups,
        order=loaded.table.order,
        sample_weight=loaded.table.weights,
        random_state=seed,
        n_jobs=n_processes(jobs),
        importance=True,
    )
    for sentence in [*found.reasons, *found.notes]:
        tell(sentence)
    return found


def _kept(found: MethodComparison, wanted: Wishes, X: Any) -> str:
    """Return the method to use: by its likelihood, or by the cost of what is decided."""
    if found.storable is None:
        raise ValueError(
            "No method could be judged in the time. Allow more with --time, or name one with "
            "--method."
        )
    decided = None
    if wanted != Wishes():
        decided = wanted.compared(found, X if found.kept is None else X.iloc[found.kept])
    if decided is None or decided.criterion != "cost":
        return found.storable
    tell(f"{decided.recommended} is used, by the mean cost of its decisions.")
    return decided.recommended


def _fitted_with_held_out(name: str, table: Any, rare: str, seed: int, jobs: int | None) -> Any:
    """Fit a model that keeps what it predicted for rows that it had not seen."""
    from ..compare import tuned_pipeline
    from ..decisions import HeldOutClassifier

    if rare != "keep":
        raise ValueError("--rare drop and merge do not go with rows that are held out; use keep.")
    model = tuned_pipeline(
        name, table.y, table.schema.preprocessor(), random_state=seed, n_jobs=jobs
    )
    row_weights = _weights(model, name, table.weights)
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{name} has no probabilities, which decisions need; use --method POOL.")
    return HeldOutClassifier(model).fit(table.X, table.y, **row_weights)


def _weights(model: Any, name: str, weights: Any) -> dict[str, Any]:
    """Return the parameter of `fit` by which a pipeline takes the weights of the rows."""
    from sklearn.utils.validation import has_fit_parameter

    if weights is None:
        return {}
    step, classifier = model.steps[-1]
    if not has_fit_parameter(classifier, "sample_weight"):
        raise ValueError(f"{name} cannot use --weights; choose another --method.")
    return {f"{step}__sample_weight": weights}


@dataclass(frozen=True)
class _Opened:
    """A loaded model and the metadata of its file."""

    model: Any
    header: dict[str, Any]
    schema: TableSchema


def _open_model(path: str, data: str) -> _Opened:
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
    header = describe(io.BytesIO(content))
    metadata = header["metadata"]
    schema = TableSchema.from_dict(metadata.get("table") if isinstance(metadata, dict) else None)
    return _Opened(load(io.BytesIO(content)), header, schema)


def _pieces(
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


def _tell_unseen(unseen: dict[str, set[str]]) -> None:
    for column, words in unseen.items():
        some = ", ".join(repr(word) for word in sorted(words)[:3])
        more = "" if len(words) <= 3 else f" and {len(words) - 3} more"
        tell(
            f"column {column!r} has categories that were not in the training rows "
            f"({some}{more}); they count as none of those known."
        )


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
    """Predict classes and probabilities for the rows of a table, of any length.

    Columns are matched by name; columns that the model does not use are ignored.

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
    opened = _open_model(model, data)
    plan = _plan(opened, wishes(costs, reject_cost, answered, sets), adapt)
    unseen: dict[str, set[str]] = {}
    count, lists = 0, as_json or suffix == ".jsonl"
    with ExitStack() as stack:
        probabilities = None
        if adapt:
            data = stack.enter_context(read_twice(data))
            first = _pieces(data, opened.schema, [], {})
            probabilities = stack.enter_context(
                adapted(opened.model, held_out_of(opened.model), first)
            )
        stream = stack.enter_context(_stream(output))
        writer = stack.enter_context(TableWriter(stream, suffix == ".parquet"))
        extra = list(dict.fromkeys([*(copy or []), *columns_to_read(plan, opened.schema)]))
        for matched, others in _pieces(data, opened.schema, extra, unseen):
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
    _tell_unseen(unseen)
    if output != "-":
        tell(f"wrote {output}: {count} rows.")


def _plan(opened: _Opened, wanted: Wishes, adapt: bool = False) -> DecisionPlan:
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


@contextmanager
def _stream(output: str) -> Iterator[Any]:
    from ..tables import whole_file

    with whole_file(output) as stream:
        yield shown_on_terminal(stream) if output == "-" else stream


def _answers(
    model: Any, matched: Any, others: Any, labels_only: bool, p: Any = None, explain: bool = False
) -> Any:
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
    if not labels_only:
        for k, label in enumerate(classes.tolist()):
            answers[f"probability_{label}"] = p[:, k]
    return answers


def _json_lines(frame: Any) -> bytes:
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return "".join(json_text(row) + "\n" for row in rows).encode()


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
    """Judge a model on labelled rows: error, NLL, Brier score, calibration, confusions.

    With --costs, --reject-cost, --answered or --sets, or if 'fit' was asked for them: also what the
    decisions cost, how many rows are answered, and what the sets of classes are like.

    \b
    Examples:
      polychotomy evaluate flowers.polychotomy test.csv
      polychotomy evaluate loans.polychotomy test.csv --costs costs.csv
    """  # noqa: D301
    from ..compare import evaluate_labels
    from ..tables import SetAside, TableError

    opened = _open_model(model, data)
    plan = _plan(opened, wishes(costs, reject_cost, answered, sets))
    name = target or opened.schema.target
    unseen: dict[str, set[str]] = {}
    parts, labels, prices = [], [], []
    columns = {"groups": groups, "order": order, "weights": weights}
    aside = SetAside({role: column for role, column in columns.items() if column is not None})
    extra = list(dict.fromkeys([name, *aside.names, *columns_to_read(plan, opened.schema)]))
    for matched, others in _pieces(data, opened.schema, extra, unseen):
        known = others[name].notna().to_numpy()  # "NA" may be a class
        aside.add(others, known)
        labels.append(opened.schema.true_labels(others[name][known], opened.model.classes_))
        if known.any():
            parts.append(_scores(opened.model, matched[known]))
            prices.append(cost_columns(plan, matched[known], others[known]))
    if not parts:
        raise TableError(f"No row of {data!r} has a class in {name!r}.")
    found = evaluate_labels(
        opened.model.classes_, labels, parts, opened.header["metadata"], **aside.arrays()
    )
    decided = decision_report(plan, labels, parts, prices) if plan.decides else None
    _tell_unseen(unseen)
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
    """Show the answer of each binary machine for a row, and how these were decoded.

    \b
    Examples:
      polychotomy explain flowers.polychotomy new.csv --row 17
    """  # noqa: D301
    from ..compare import explain_row
    from ..core.words import printable
    from ..tables import TableError

    opened = _open_model(model, data)
    before = 0
    for matched, _ in _pieces(data, opened.schema, [], {}):
        if row <= before + len(matched):
            one = matched.iloc[[row - 1 - before]]
            break
        before += len(matched)
    else:
        raise TableError(f"{data!r} has {before} rows; there is no row {row}.")
    values = {key: _plain(value) for key, value in one.iloc[0].items()}
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


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if value != value else value
    return value.item() if hasattr(value, "item") else value
