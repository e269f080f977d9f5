"""The commands for studies: `study`, `report` and `studies`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._console import StoppedError, names, print_json, show, study_progress, tell
from ._data import Cluster

if TYPE_CHECKING:
    from ..execution.units import Unit
    from ..study.definition import StudyDefinition
    from ..study.driver import Progress
    from ..study.results import StudyResults

TASK = "polychotomy.study.protocol:run_unit"


def add_to(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.command("study", short_help="Run a study of many methods on many data sets.")(study)
    app.command("report", short_help="Write the report of a study.")(report)
    app.command("studies", short_help="List the studies, or show what is in one.")(studies)


def study(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A study that 'polychotomy studies' lists, or a TOML file."
        ),
    ],
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Only these data sets: names with commas, or several times."
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Only these methods: names with commas, or several times."
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Only the first N partitions of each data set."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A cut-down study of about a minute, on data that need no download."
        ),
    ] = False,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="The file with the results [default: NAME.db, or NAME-quick.db]."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Processes on this machine [default: the cores]."),
    ] = None,
    cluster: Cluster = None,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A folder with data files [default: $POLYCHOTOMY_DATA]."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume/--no-resume", help="Whether to keep finished units."),
    ] = True,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed units again.")
    ] = False,
    report: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Write a report: a name in .html, .md, .tex or .json."),
    ] = None,
    export: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH", help="Write all results as a table: a name in .csv or .parquet."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Run a study: many methods on many data sets, tuned and tested on many partitions.

    Finished units are kept in the store. Stop it with Ctrl-C at any time; the
    same command goes on where it was. Several may work on one store at the same time.

    \b
    Examples:
      polychotomy study duan2003 --quick --report quick.html
      polychotomy study duan2003 --datasets waveform,segment --partitions 5
      polychotomy study vangestel2002 --folder ~/data --workers 8 --export results.csv
      polychotomy study mine.toml --cluster tcp://10.0.0.1:8786
    """  # noqa: D301
    from ..study.driver import run_study
    from ..study.report import report_format
    from ..study.results import read_results
    from ..study.store import Store

    for path in report or ():
        report_format(path)
        _check_folder(path)
    for path in export or ():
        _export_name(path)
        _check_folder(path)
    if folder is not None:
        _use_folder(folder)
    definition = _definition(name, quick)
    units = _units(definition, names(datasets), names(methods), partitions, quick)
    executor = _executor(workers, cluster)
    file = store or Path(f"{definition.name}{'-quick' if quick else ''}.db")
    with Store(file) as opened:
        opened.forget_damaged()
        finished = opened.finished(units) if resume else set()
        try:
            with study_progress(units, finished) as on_progress:
                progress = run_study(
                    units,
                    TASK,
                    opened,
                    executor,
                    resume=resume,
                    retry_failed=retry_failed,
                    on_progress=on_progress,
                )
        except KeyboardInterrupt:
            n = len(opened.finished(units))
            tell(
                f"stopped; {n} of {len(units)} units are in {file}. Run the same command to "
                "continue."
            )
            raise StoppedError from None
        results = read_results(opened, _whole(name), units)
        _print_results(results, progress, file, as_json)
        _write(results, report or (), export or ())
        if progress.failed:
            first = opened.failed(units)[0]
            tell(
                f"error: {progress.failed} of {progress.total} units failed; the first: "
                f"{first['dataset']}, partition {first['partition']}, {first['sweep']}: "
                f"{' '.join(first['failure'].split())} Run again with --retry-failed."
            )
            raise typer.Exit(1)


def report(
    store: Annotated[
        Path, typer.Argument(metavar="STORE", help="The file with the results of a study.")
    ],
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Where to write: a name in .html, .md, .tex or .json, several times if you like "
            "[default: the store's name in .html].",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Print it instead of writing a file: html, markdown, latex or json.",
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The study, if the store holds several; or your TOML file.",
        ),
    ] = None,
    export: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH", help="Write all results as a table: a name in .csv or .parquet."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Write the report of a study: one HTML file with tables, figures and where they come from.

    For a paper's study, each table shows our numbers next to the printed ones, and the difference
    in standard errors. It also works while the study is running, with the results so far.

    \b
    Examples:
      polychotomy report duan2003.db
      polychotomy report duan2003.db -o report.html -o tables.tex
      polychotomy report duan2003.db --format markdown
    """  # noqa: D301
    from ..core.checks import one_of
    from ..study.report import FORMATS, report_format, report_text
    from ..study.results import read_results
    from ..study.store import Store

    form = "json" if as_json else form
    if form is not None:
        one_of(form, "format", FORMATS)
    outputs = output or ([] if form or export else [store.with_suffix(".html")])
    for path in outputs:
        report_format(path)
        _check_folder(path)
    for path in export or ():
        _export_name(path)
        _check_folder(path)
    if not store.is_file():
        raise FileNotFoundError(
            f"There is no store {str(store)!r}; 'polychotomy study' writes one."
        )
    with Store(store, read_only=True) as opened:
        results = read_results(opened, _whole(study) if study else None)
        if form is not None:
            show(report_text(results, form).removesuffix("\n"))
        _write(results, outputs, export or ())
    for text in results.left_out:
        tell(f"skipped: {text}")


def studies(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A study, or a TOML file, to see what is in it."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the studies that come with the library, or show what is in one.

    \b
    Examples:
      polychotomy studies
      polychotomy studies duan2003
    """  # noqa: D301
    from ..study.definition import load_study, study_names

    if name is not None:
        _show(load_study(name), as_json)
        return
    known = [load_study(one) for one in study_names()]
    if as_json:
        print_json([_facts(one) for one in known])
        return
    width = max(len(one.name) for one in known)
    for one in known:
        show(f"{one.name:<{width}}  {one.title}")


def _show(definition: StudyDefinition, as_json: bool) -> None:
    facts = _facts(definition)
    if as_json:
        print_json(facts)
        return
    show(f"{definition.name}: {definition.title}".rstrip(": "))
    for text in filter(None, [definition.citation, *definition.notes]):
        show(f"\n{text}")
    show("\ndata sets (training rows, partitions, available without a download):")
    width = max(len(part["label"]) for part in facts["datasets"])
    for part in facts["datasets"]:
        at_hand = "yes" if part["at_hand"] else "no"
        show(f"  {part['label']:<{width}}  {part['train']:>5} {part['partitions']:>4}  {at_hand}")
    show("\nmethods:")
    for method in facts["methods"]:
        show(f"  {method}")


def _facts(definition: StudyDefinition) -> dict[str, Any]:
    from ..study.quick import quick_source

    return {
        "name": definition.name,
        "title": definition.title,
        "citation": definition.citation,
        "partitions": definition.partitions,
        "datasets": [
            {
                "label": part.label,
                "name": part.name,
                "train": part.train_rows(),
                "partitions": part.partitions,
                "at_hand": bool(quick_source(part.name)),
            }
            for part in definition.datasets
        ],
        "methods": [method.name for method in definition.methods],
    }


def _definition(name: str, quick: bool) -> StudyDefinition:
    from ..study.definition import load_study
    from ..study.quick import quick_study

    definition = load_study(name)
    return quick_study(definition) if quick else definition


def _whole(name: str) -> Any:
    """Return the definition of a built-in study or of a file; otherwise the name itself."""
    from ..study.definition import load_study, study_names

    return load_study(name) if name in study_names() or name.endswith(".toml") else name


def _units(
    definition: StudyDefinition,
    datasets: list[str] | None,
    methods: list[str] | None,
    partitions: int | None,
    quick: bool,
) -> list[Unit]:
    from ..study.protocol import units_of
    from ..study.quick import quick_units

    most = max(part.partitions for part in definition.datasets)
    if partitions is not None and partitions > most:
        raise ValueError(
            f"--partitions must be at most {most}, the number of partitions of the study."
        )
    if quick:
        units = quick_units(definition, datasets, methods, partitions)
    else:
        units = units_of(definition, datasets, methods, partitions)
    if not units:
        raise ValueError("The study runs none of these methods on these data sets; choose others.")
    return units


def _executor(workers: int | None, cluster: str | None) -> Any:
    if cluster is None:
        from ..execution.executors import LocalProcesses

        return LocalProcesses(workers)
    if workers is not None:
        raise ValueError("--workers is for this machine, and does not go with --cluster.")
    from ..execution.cluster import DaskCluster

    return DaskCluster(cluster)


def _use_folder(folder: Path) -> None:
    """Set the folder of the data, for this process and its workers.

    By the environment, so that the folder is no part of the units' keys: another machine may
    have the same data elsewhere.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"--folder names {str(folder)!r}, which is not a folder.")
    os.environ["POLYCHOTOMY_DATA"] = str(folder.absolute())


def _export_name(path: Path) -> None:
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"--export needs a name that ends in .csv or .parquet, got {str(path)!r}.")


def _check_folder(path: Path) -> None:
    """Check before hours of work that the file can be written."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.absolute().parent)!r}.")


def _write(results: StudyResults, reports: Iterable[Path], exports: Iterable[Path]) -> None:
    from ..study._export import write_csv, write_parquet
    from ..study.report import write_report

    for path in reports:
        write_report(results, path)
        tell(f"wrote {path}")
    for path in exports:
        write = write_csv if path.suffix.lower() == ".csv" else write_parquet
        write([dict(row) for row in results.rows], path)
        tell(f"wrote {path}")


def _print_results(results: StudyResults, progress: Progress, file: Path, as_json: bool) -> None:
    from ..study._render import markdown, own_text
    from ..study.report import plain_values
    from ..study.tables import comparison_tables, own_tables

    tables, beside = own_tables(results), comparison_tables(results)
    if as_json:
        print_json(
            {
                "study": results.name,
                "store": str(file),
                "units": progress.total,
                "finished": progress.finished,
                "failed": progress.failed,
                "tables": plain_values(tables),
            }
        )
        return
    for table in tables:
        show(f"{markdown(own_text(table))}\n")
    for printed in beside:
        if printed.counts.compared:
            show(f"{printed.id}: {printed.counts}.")
    show(f"{progress.finished} of {progress.total} units are in {file}.")
