"""The command `fit`: train a method, or the recommended one, and write a model file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.words import counted
from ._console import print_json, tell, tell_notes
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
    load_data,
    seconds_of,
)
from ._decisions import (
    Answered,
    CostsFile,
    RejectCost,
    SetCoverage,
    Wishes,
    class_labels,
    wishes,
)
from ._streaming import Fitted, fit_streamed, is_large
from ._time import MODEL, command_clock
from .comparisons import Rare, n_processes, prepare_workers, shown_inputs

if TYPE_CHECKING:
    from ..compare import MethodComparison
    from ..compare._training import Trained
    from ..execution.deadline import Clock
    from ..tables import Table

# If there is no time for the chosen method, so many others are tried that took less than this share
# of its time.
MOST_FASTER, FASTER = 3, 0.5
FitTime = Annotated[
    str,
    typer.Option(
        "--time",
        metavar="TIME",
        help="The time limit for the whole command: 90s, 5m, 2h or none. Some of it is kept for "
        "training on all rows.",
    ),
]


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
    time: FitTime = "5m",
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

    Without --method, methods that can be kept in a file are compared first. If there is no time to
    train the best one on all rows, a faster one is trained, or a part of the rows is used; the
    command and 'polychotomy show' say so. A table with more than ten million fields is not read
    whole: an LS-SVM with landmarks is trained on it piece by piece.

    What is to be decided (--costs, --reject-cost, --answered, --sets) is kept in the file, and
    'predict' writes it. Thresholds are chosen on rows that the model has not seen.

    \b
    Examples:
      polychotomy fit flowers.csv --target species --method POOL -o flowers.polychotomy
      polychotomy fit loans.csv -t kind --costs costs.csv --sets 0.95
      polychotomy fit iris -o - | polychotomy predict - new.csv
    """  # noqa: D301
    limit = seconds_of(time)
    asked = (method, groups, order, bins, answered, sets)
    whole = keep_held_out or merge_spellings or unique or rare != "keep"
    large = not whole and asked == (None,) * len(asked) and is_large(data)
    if method is None and not large:
        prepare_workers(jobs, limit)
    from ..compare._candidates import NEAREST, choose
    from ..compare._classes import RARE
    from ..core import files
    from ..core.checks import one_of

    clock = command_clock(limit, MODEL)
    wanted = wishes(costs, reject_cost, answered, sets)
    one_of(rare, "--rare", RARE)
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
    more: dict[str, Any] = {"groups": groups, "order": order, "weights": weights, "bins": bins}
    more |= {"merge_spellings": merge_spellings, "unique": unique, "rare": rare}
    if target is not None and large:
        options = {"drop": drop, "keep": keep, "category": category, "text": text}
        options["missing"] = missing
        streamed = fit_streamed(data, target, options, weights, clock, seed, jobs)
        wanted.check(class_labels(streamed.model.classes_))
        _write(output, streamed, wanted, seed, as_json)
        return
    loaded = load_data(data, target, drop, keep, category, text, missing, **more)
    if rare == "keep":
        columns = set(loaded.table.X.columns) if method is None else None
        wanted.check(class_labels(loaded.table.y), columns)
    table, found = loaded.table, None
    if method is None:
        found = _compared(loaded, clock, rare, seed, jobs)
    if found is None:
        names = [choose([str(method)])[0].name]
    else:
        name = _kept(found, wanted, table.X)
        names = [name, *_faster(found, name)]
    held_out = keep_held_out or wanted.needs_held_out
    trained = _trained(names, table, clock, rare, seed, jobs, held_out)
    if trained.said:
        tell(trained.said)
    fitted = Fitted(
        *(trained.model, trained.name, loaded.title, table),
        n_rows=len(table.y),
        trained_rows=trained.rows,
        said=trained.said,
    )
    comparison = None if found is None else _summary(found, table, trained.name)
    _write(output, fitted, wanted, seed, as_json, comparison)


def _summary(found: MethodComparison, table: Table, name: str) -> dict[str, Any]:
    """Return the figures of a comparison that the model file keeps, for the method in it."""
    from ..compare import slices
    from ..compare._words import for_fit

    # If there was no time for the best method, its figures would say nothing about this one.
    figures = found.summary(name)
    judged = found.is_judged(name)
    worst = slices(found, shown_inputs(found, table), name=name) if judged else []
    reasons = [for_fit(sentence) for sentence in figures["reasons"]]
    return {**figures, "reasons": reasons, "slices": worst}


def _write(
    output: str,
    fitted: Fitted,
    wanted: Wishes,
    seed: int,
    as_json: bool,
    comparison: dict[str, Any] | None = None,
) -> None:
    """Write the model file, and say so."""
    from .. import save
    from ..compare._classes import merged_labels

    model, name, table = fitted.model, fitted.name, fitted.table
    types = {column.name: column.kind for column in table.schema.columns}
    about = {
        "method": name,
        "data": fitted.title,
        "table": table.schema.to_dict(),
        "rows": fitted.n_rows,
        "trained_rows": fitted.trained_rows,
        "training": fitted.said,
        "seed": seed,
        "comparison": comparison,
    }
    merged = merged_labels(table.y, model.classes_)
    if merged:
        about["merged"] = merged
    if wanted != Wishes():
        about["decisions"] = wanted.to_dict()
    if output == "-":
        save(model, sys.stdout.buffer, feature_types=types, metadata=about)
        sys.stdout.buffer.flush()
    else:
        save(model, output, feature_types=types, metadata=about)
    facts: dict[str, Any] = {
        "method": name,
        "rows": fitted.n_rows,
        "trained_rows": fitted.trained_rows,
        "classes": model.classes_.tolist(),
    }
    if as_json:
        notes = [*table.notes, *([fitted.said] if fitted.said else [])]
        print_json({**facts, "output": output, "columns": types, "notes": notes})
    elif output != "-":
        size, classes = fitted.trained_rows, len(facts["classes"])
        tell(f"wrote {output}: {name}, {counted(size, 'row')}, {classes} classes.")


def _compared(
    loaded: Loaded, clock: Clock, rare: str, seed: int, jobs: int | None
) -> MethodComparison:
    from ..compare import candidates, compare_methods, default_names
    from ..compare._words import for_fit

    known = candidates()
    names = default_names(len(loaded.table.y), len(set(loaded.table.y)))
    kept = [name for name in names if known[name].storable]
    others = [known[name].title for name in names if name not in kept]
    if others:
        what = "it" if len(others) == 1 else "them"
        tell(f"not compared, because a model file cannot hold {what}: {'; '.join(others)}.")
    found = compare_methods(
        loaded.table.X,
        loaded.table.y,
        kept,
        clock=clock,
        train_after=True,
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
    for sentence in found.reasons:
        tell(for_fit(sentence))
    tell_notes(found.notes)
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


def _faster(found: MethodComparison, name: str) -> list[str]:
    """Return methods to train if there is no time for the chosen one, the best first."""
    seconds = {row["method"]: row["seconds"] for row in found.rows}
    able = [one for one in found.methods if found.candidates[one].storable]
    return [one for one in able if seconds[one] < FASTER * seconds[name]][:MOST_FASTER]


def _trained(
    names: list[str],
    table: Table,
    clock: Clock,
    rare: str,
    seed: int,
    jobs: int | None,
    held_out: bool,
) -> Trained:
    """Train a method on all rows, or what there is time for."""
    from ..compare._training import Trainer, fit_in_time

    if held_out and rare != "keep":
        raise ValueError("--rare drop and merge do not go with rows that are held out; use keep.")
    options: dict[str, Any] = {"sample_weight": table.weights, "rare": rare}
    options |= {"random_state": seed, "n_jobs": jobs}
    options |= {"groups": table.groups, "order": table.order}
    trainer = Trainer(
        *(table.X, table.y, table.schema.preprocessor(), options),
        finish=fit_held_out if held_out else None,
    )
    return fit_in_time(names, trainer, clock, n_processes(jobs))


def fit_held_out(
    name: str,
    X: Any,
    y: Any,
    preprocessor: Any,
    *,
    n_rows: int | None,
    sample_weight: Any,
    groups: Any,
    order: Any,
    random_state: int,
    n_jobs: int | None,
    rare: str,
) -> Any:
    """Fit a model that keeps what it predicted for rows that it had not seen."""
    from ..compare import tuned_pipeline
    from ..compare._classes import settle_classes
    from ..compare._held_out_by_group import fit_held_out_by_group
    from ..compare._splits import stratified_order
    from ..decisions import HeldOutClassifier

    if n_rows is not None:
        numbers = settle_classes(y, rare).numbers
        part = stratified_order(numbers, settle_classes(y, rare).rows, random_state)[:n_rows]
        X, y = X.iloc[part], y[part]
        sample_weight, groups, order = (
            None if values is None else values[part] for values in (sample_weight, groups, order)
        )
    model = tuned_pipeline(name, y, preprocessor, random_state=random_state, n_jobs=n_jobs)
    row_weights = _weights(model, name, sample_weight)
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{name} has no probabilities, which decisions need; use --method POOL.")
    if groups is None and order is None:
        return HeldOutClassifier(model).fit(X, y, **row_weights)
    options = {"sample_weight": sample_weight, "random_state": random_state, "n_jobs": n_jobs}
    return fit_held_out_by_group(name, X, y, preprocessor, groups, order, **options)


def _weights(model: Any, name: str, weights: Any) -> dict[str, Any]:
    """Return the parameter of `fit` by which a pipeline takes the weights of the rows."""
    from sklearn.utils.validation import has_fit_parameter

    if weights is None:
        return {}
    step, classifier = model.steps[-1]
    if not has_fit_parameter(classifier, "sample_weight"):
        raise ValueError(f"{name} cannot use --weights; choose another --method.")
    return {f"{step}__sample_weight": weights}
