"""The commands that help choose a method: `compare` and `methods`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._console import names, print_json, show, tell, tell_notes
from ._data import (
    Bins,
    Category,
    Cluster,
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
    shell_options,
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
from ._streaming import is_large
from ._time import PAGE, RANKING, charts_until, command_clock, process_start

if TYPE_CHECKING:
    from ..compare import ComparedDecisions, MethodComparison
    from ..tables import Table

Time = Annotated[
    str,
    typer.Option(
        "--time",
        metavar="TIME",
        help="The time limit for the whole command: 90s, 5m, 2h or none.",
    ),
]
Rare = Annotated[
    str,
    typer.Option(
        "--rare",
        metavar="keep|drop|merge",
        help="What to do with classes of fewer than 5 rows: keep, drop, or merge into one.",
    ),
]
TEST_SIZE = 0.25
# Limits of fewer than so many times what imports have taken so far are short.
SHORT_PACES = 5.0
# A few named methods on a file of fewer bytes need no other process.
LARGE_FILE = 200_000
# How many processes are forked at most, and in addition, to take the place of those that are ended;
# fewer with more time than this, in which others can be started when these are used up.
MOST_FORKED, SPARE, FEW_SPARE = 16, 14, 2
LONG = 300.0
# So many rows of a table that is too large to be read whole are compared.
MOST_ROWS = 200_000
# What reading them may take of the time.
READING_SHARE = 0.4


def add_to(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.command("compare")(compare)
    app.command("methods")(methods)


def compare(
    data: Data,
    target: Target = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(help="Only these methods: names with commas, or several times."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All methods that 'polychotomy methods' lists.")
    ] = False,
    time: Time = "10m",
    splits: Annotated[int, typer.Option(min=1, help="The number of splits.")] = 10,
    test_size: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=0.99,
            help="The share of the rows in the test part; without effect with --order.",
        ),
    ] = TEST_SIZE,
    nested: Annotated[
        bool, typer.Option("--nested", help="Nested cross-validation instead of random splits.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option("--report", "-r", help="Write the comparison as an HTML page.")
    ] = None,
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
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Find the best method for a table.

    The answer is a ranking with its uncertainty, and a recommendation.

    Every method is tuned inside each training part and judged on the test part, together with
    scikit-learn's logistic regression, random forest, gradient boosting and calibrated SVC.
    A large table is tried on a part of its rows first, so that there is an answer whenever the time
    is up.

    With --costs, --reject-cost, --answered or --sets, the methods are also ranked by what their
    decisions come to.

    \b
    Examples:
      polychotomy compare iris
      polychotomy compare loans.csv -t kind --costs costs.csv --report loans.html
      polychotomy compare flowers.csv --target species --time 5m --report flowers.html
      polychotomy compare flowers.csv -t species --methods POOL,PSVC,logistic --json
      polychotomy compare flowers.csv -t species --cluster tcp://10.0.0.1:8786
    """  # noqa: D301
    limit = seconds_of(time)
    if cluster is None:
        prepare_workers(jobs, limit, early=not methods or is_larger(data, LARGE_FILE))
    from ..compare import compare_methods
    from ..compare._candidates import choose
    from ..compare._classes import RARE
    from ..core import files
    from ..core.checks import one_of
    from ..execution.forks import end_waiting

    if order is not None and test_size != TEST_SIZE:
        tell("--test-size has no effect with --order: each test part is a window in time.")
    clock = command_clock(limit, RANKING if report is None else PAGE)
    wanted = wishes(costs, reject_cost, answered, sets)
    if everything and methods:
        raise ValueError("--all and --methods do not go together.")
    choose("all" if everything else names(methods))
    one_of(rare, "--rare", RARE)
    if report is not None:
        files.refuse(report)
    with _executor(cluster, jobs) as executor:
        more: dict[str, Any] = {"groups": groups, "order": order, "weights": weights, "bins": bins}
        more |= {"merge_spellings": merge_spellings, "unique": unique, "rare": rare}
        if is_large(data):
            more |= {"most_rows": MOST_ROWS, "until": clock.until(READING_SHARE)}
        loaded = load_data(data, target, drop, keep, category, text, missing, **more)
        if rare == "keep":
            wanted.check(class_labels(loaded.table.y), set(loaded.table.X.columns))
        if report is not None:
            prepare_page()
        found = compare_methods(
            loaded.table.X,
            loaded.table.y,
            "all" if everything else names(methods),
            clock=clock,
            n_splits=splits,
            protocol="nested" if nested else "hold-out",
            test_size=test_size,
            preprocessor=loaded.table.schema.preprocessor(),
            rare=rare,
            groups=loaded.table.groups,
            order=loaded.table.order,
            sample_weight=loaded.table.weights,
            random_state=seed,
            n_jobs=n_processes(jobs) if executor is None else None,
            executor=executor,
            importance=report is not None or as_json,
        )
    end_waiting()
    decided = None
    charts_end = charts_until(clock)
    in_time = charts_end is None or perf_counter() < charts_end
    if (report is not None and in_time) or wanted != Wishes():
        X = loaded.table.X if found.kept is None else loaded.table.X.iloc[found.kept]
        decided = wanted.compared(found, X)
    asked = decided if wanted != Wishes() else None
    tell_notes(found.notes)
    if as_json:
        more_figures = {} if asked is None else {"decisions": asked.to_dict()}
        print_json({**_numbered(found, loaded), **more_figures})
    else:
        show(found)
        if asked is not None:
            show(f"\n{asked}")
    if report is not None:
        commands = _commands(found, loaded, data, _learned(found, wanted, rare, costs, seed))
        missing = [] if limit is None else _no_time_for(found)
        _write_page(found, loaded, report, commands, missing, decided, charts_end)
    elif not as_json:
        tell("--report FILE.html shows reliability, confusions, hard pairs and doubtful rows.")


@contextmanager
def _executor(cluster: str | None, jobs: int | None) -> Iterator[Any]:
    """Connect to a cluster, before anything is read; None is this machine."""
    if cluster is None:
        yield None
        return
    if not cluster.strip():
        raise ValueError(
            "--cluster must be the address of a Dask scheduler, such as tcp://10.0.0.1:8786."
        )
    if jobs is not None:
        raise ValueError("--jobs is for this machine, and does not go with --cluster.")
    from ..execution.executors import opened

    with opened(cluster) as executor:
        yield executor


def prepare_workers(jobs: int | None, limit: float | None, early: bool = True) -> None:
    """Fork worker processes; where that is not safe, let them begin to import what they need.

    `early` is whether others are certainly needed. With little time everything is done in this
    process.
    """
    from ..execution.forks import fork_ahead
    from ..execution.processes import COMPARISONS_NEED, start_early

    count = n_processes(None if jobs is not None and jobs < 0 else jobs)
    spare = SPARE if limit is not None and limit < LONG else FEW_SPARE
    if fork_ahead(min(count, MOST_FORKED) + spare, COMPARISONS_NEED) or not early:
        return
    if limit is None or limit > SHORT_PACES * (perf_counter() - process_start()):
        start_early(COMPARISONS_NEED)


def is_larger(data: str, n_bytes: int) -> bool:
    """Whether a table comes from a file of more bytes, or from a stream."""
    return data == "-" or (os.path.isfile(data) and os.path.getsize(data) > n_bytes)


def prepare_page() -> None:
    """Import what draws figures while other processes work."""
    Thread(target=import_module, args=("matplotlib.backends.backend_svg",), daemon=True).start()


def n_processes(jobs: int | None) -> int:
    """Return the number of processes: one for each core by default."""
    from ..execution.executors import usable_cores

    if jobs == 0:
        raise ValueError("--jobs must be at least 1, or -1 for all cores.")
    return usable_cores() if jobs is None else jobs


def _numbered(found: MethodComparison, loaded: Loaded) -> dict[str, Any]:
    """Return the comparison for JSON, with rows numbered as in the file."""
    from ..compare import slices

    result = found.to_dict()
    for row in result["doubtful"]:
        row["row"] = int(_rows(found, loaded)[row["row"]])
    worst = slices(found, shown_inputs(found, loaded.table))
    notes = list(loaded.table.notes)
    return {"data": loaded.title, **result, "slices": worst, "data_notes": notes}


def _rows(found: MethodComparison, loaded: Loaded) -> Any:
    """Return the numbers in the file of the rows that were compared."""
    rows = loaded.table.rows
    return rows if found.kept is None else rows[found.kept]


def _write_page(
    found: MethodComparison,
    loaded: Loaded,
    path: Path,
    commands: str,
    missing: list[str],
    decided: ComparedDecisions | None,
    until: float | None,
) -> None:
    from ..compare import html_report
    from ..tables import whole_file

    table = loaded.table
    page = html_report(
        found,
        loaded.title,
        X=shown_inputs(found, table),
        rows=_rows(found, loaded),
        commands=commands,
        code=_code(found, loaded),
        notes=(*table.notes, *missing),
        decisions=decided,
        until=until,
    )
    with whole_file(path) as stream:
        stream.write(page.encode())
    tell(f"wrote {path}")


def _no_time_for(found: MethodComparison) -> list[str]:
    """Say which sections the page does not have because the time was up."""
    from ..compare._candidates import BASELINE
    from ..compare._compare import curve_rows

    if found.recommended == BASELINE.name:
        return []
    lacking = []
    if found.importance is None and found.candidates[found.recommended].probabilities:
        lacking.append("find out which inputs matter")
    judged = {point["rows"] for point in found.curve if point["method"] == found.recommended}
    if len(judged) < 2 and curve_rows(found.most_rows, len(found.classes)):
        lacking.append("draw a learning curve")
    words = " or to ".join(lacking)
    return [f"There was no time to {words}: allow more with --time."] if lacking else []


def shown_inputs(found: MethodComparison, table: Table) -> Any:
    """Return the compared rows for people, with dates and times in place of seconds."""
    import numpy as np

    from ..tables._dates import has_day

    changed = {}
    X = table.X if found.kept is None else table.X.iloc[found.kept]
    for column in table.schema.columns:
        if column.kind == "date":
            seconds = X[column.name].to_numpy(dtype=np.float64)
            known = ~np.isnan(seconds)
            moments = np.full(len(seconds), np.datetime64("NaT"), dtype="datetime64[s]")
            moments[known] = np.floor(seconds[known]).astype(np.int64).astype("datetime64[s]")
            day = moments.astype("datetime64[D]")
            changed[column.name] = moments if has_day(column.format) else moments - day
    return X.assign(**changed)


def _learned(
    found: MethodComparison, wanted: Wishes, rare: str, costs: Path | None, seed: int
) -> str:
    """Return the options that change what is learned, and not how the table is read."""
    given: dict[str, Any] = {"costs": costs, "reject_cost": wanted.reject_cost}
    able = found.storable is not None and found.candidates[found.storable].probabilities
    # Thresholds are chosen on rows that are held out, which need probabilities and all classes.
    if able and rare == "keep":
        given |= {"answered": wanted.answered, "sets": wanted.sets}
    return shell_options({**given, "seed": seed or None})


def _commands(found: MethodComparison, loaded: Loaded, data: str, learned: str = "") -> str:
    """Return the commands that train the method as it was judged, and predict with it."""
    if found.storable is None:
        return ""
    before = ""
    if found.storable != found.recommended:
        before = f"# {found.recommended} cannot be kept in a model file, {found.storable} can\n"
    target = f" --target {shlex.quote(loaded.table.schema.target)}"
    return (
        f"{before}polychotomy fit {shlex.quote(data)}{target}{loaded.options}{learned} "
        f"--method {found.storable} --output model.polychotomy\n"
        "polychotomy predict model.polychotomy new.csv --output predictions.csv"
    )


def _code(found: MethodComparison, loaded: Loaded) -> str:
    name = found.recommended
    if "read_table" in loaded.code:
        inputs, y, before = "table.X", "table.y", ", table.schema.preprocessor()"
    else:
        inputs, y, before = "X", "y", ""
    first, _, rest = loaded.code.partition("\n")
    lines = [
        "from polychotomy.compare import tuned_pipeline",
        first,
        rest.rstrip(),
        f'model = tuned_pipeline("{name}", {y}{before}).fit({inputs}, {y})',
        f"model.predict_proba({inputs}[:5])",
    ]
    return "\n".join(lines)


def methods(
    name: Annotated[str | None, typer.Argument(help="Only this method.")] = None,
    as_json: Json = False,
) -> None:
    """List the methods, one line each, with their sources.

    \b
    Examples:
      polychotomy methods
      polychotomy methods PWC_PSVM --json
    """  # noqa: D301
    from ..compare import candidates, default_names
    from ..compare._candidates import choose

    shown = list(candidates().values()) if name is None else choose([name])
    default = default_names()
    if as_json:
        print_json(
            [
                {
                    "name": one.name,
                    "words": one.words,
                    "paper": one.paper,
                    "family": one.family,
                    "probabilities": one.probabilities,
                    "can_be_saved": one.storable,
                    "default": one.name in default,
                }
                for one in shown
            ]
        )
        return
    width = max(len(one.title) for one in shown)
    for one in shown:
        mark = "*" if one.name in default else " "
        print(f"{mark} {one.title:<{width}}  {one.paper}")
    if name is None:
        print("* compared by default")
