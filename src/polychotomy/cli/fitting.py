"""The command `fit`: train a method, or the recommended one, and write a model file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._console import print_json, tell
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
from ._time import command_clock
from .comparisons import Rare, n_processes

if TYPE_CHECKING:
    from ..compare import MethodComparison
    from ..execution.deadline import Clock

FITTING_SHARE = 0.3
FitTime = Annotated[
    str,
    typer.Option(
        "--time",
        metavar="TIME",
        help="The time for choosing a method: 90s, 5m, 2h or none. Some of it is kept for training "
        "on all rows, which is not cut off and may take longer.",
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
