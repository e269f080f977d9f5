"""The report of a study: one HTML file, or its tables as Markdown, LaTeX or JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from ..core import files
from ..core.checks import listed
from ..core.extras import needed
from ..core.words import duration
from ..statistics import MethodRanking
from . import _render as render
from .provenance import Provenance, departures, provenance_of
from .results import StudyResults
from .tables import (
    FIGURE_WORDS,
    ComparisonTable,
    Counts,
    OwnTable,
    PMatrix,
    PValueTable,
    TimeComparison,
    TimeRow,
    comparison_tables,
    own_tables,
    p_matrices,
    p_value_tables,
    ranking,
    time_comparisons,
    time_tables,
)

__all__ = [
    "FORMATS",
    "Provenance",
    "Report",
    "departures",
    "html_report",
    "json_report",
    "latex_report",
    "make_report",
    "markdown_report",
    "plain_values",
    "report_format",
    "report_text",
    "write_report",
]

FORMATS = {"html": ".html", "markdown": ".md", "latex": ".tex", "json": ".json"}


@dataclass(frozen=True)
class Report:
    """The contents of a report, as values.

    Parameters
    ----------
    name, title, citation : str
        The study.
    notes : tuple of str
        The notes of its definition.
    comparisons : tuple of ComparisonTable
        The paper's tables together with ours.
    p_values : tuple of PValueTable
        The paper's p-values together with ours.
    own : tuple of OwnTable
        Our tables.
    matrices : tuple of PMatrix
        All methods against all others.
    rankings : dict of str to MethodRanking
        The methods ranked over the data sets, by "error" and "nll"; those that can be.
    time_by_dataset, time_by_sweep : tuple of TimeRow
        Where the time went.
    printed_times : tuple of TimeComparison
        The paper's times together with ours.
    failures, warnings : tuple of (str, int)
        The failures and warnings, with their numbers.
    left_out : tuple of str
        What else the store holds, and the report skips.
    provenance : Provenance
        How the results were computed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from polychotomy.study.report import make_report, markdown_report
    >>> from polychotomy.study.results import read_results
    >>> from polychotomy.study.store import Store
    >>> from polychotomy.execution.units import MethodResult, Outcome, Unit
    >>> definition = {"methods": [{"name": "VOTE"}]}
    >>> with TemporaryDirectory() as folder, Store(folder + "/study.db") as store:
    ...     for i, error in enumerate([0.04, 0.06]):
    ...         unit = Unit("demo", "iris", "0f3a", i, "svm", definition)
    ...         _ = store.record(unit, Outcome((MethodResult("VOTE", error=error),)))
    ...     report = make_report(read_results(store))
    >>> report.own[0].cells[0][0].mean
    5.0
    >>> print(markdown_report(report))  # doctest: +ELLIPSIS
    # demo
    ...
    | method |        iris |
    |:-------|------------:|
    | VOTE   | 5.00 ± 1.41 |
    ...
    """

    name: str
    title: str
    citation: str
    notes: tuple[str, ...]
    comparisons: tuple[ComparisonTable, ...]
    p_values: tuple[PValueTable, ...]
    own: tuple[OwnTable, ...]
    matrices: tuple[PMatrix, ...]
    rankings: dict[str, MethodRanking]
    time_by_dataset: tuple[TimeRow, ...]
    time_by_sweep: tuple[TimeRow, ...]
    printed_times: tuple[TimeComparison, ...]
    failures: tuple[tuple[str, int], ...]
    warnings: tuple[tuple[str, int], ...]
    left_out: tuple[str, ...]
    provenance: Provenance

    @property
    def counts(self) -> Counts:
        """How close our numbers are to the printed ones."""
        counts = (table.counts for table in self.comparisons)
        return reduce(Counts.__add__, counts, Counts(0, 0, 0, 0))


def make_report(results: StudyResults) -> Report:
    """Compute the contents of a report.

    Parameters
    ----------
    results : StudyResults
        The runs, from `read_results`.

    Returns
    -------
    report : Report
    """
    study = results.study
    ranked = {figure: ranking(results, figure) for figure in ("error", "nll")}
    by_dataset, by_sweep = time_tables(results)
    return Report(
        name=results.name,
        title=study.title if study else "",
        citation=study.citation if study else "",
        notes=study.notes if study else (),
        comparisons=comparison_tables(results),
        p_values=p_value_tables(results),
        own=own_tables(results),
        matrices=(*p_matrices(results, "error"), *p_matrices(results, "nll")),
        rankings={figure: found for figure, found in ranked.items() if found is not None},
        time_by_dataset=by_dataset,
        time_by_sweep=by_sweep,
        printed_times=time_comparisons(results),
        failures=results.failures,
        warnings=results.warnings,
        left_out=results.left_out,
        provenance=provenance_of(results),
    )


def html_report(report: Report, results: StudyResults) -> str:
    """Write a report as one self-contained HTML page, without network access or scripts.

    Parameters
    ----------
    report : Report
        The contents.
    results : StudyResults
        The runs, for the boxplots.

    Returns
    -------
    page : str
    """
    needed("jinja2", "tool", "The HTML report needs jinja2", instead="write Markdown")
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    from . import _figures

    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("polychotomy.study"), PackageLoader("polychotomy.plots")]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        numbers=render.mean_and_deviation,
        printed=render.printed_text,
        corrected=render.corrected_text,
        signed=render.signed,
        p=render.p_text,
        duration=duration,
        unit_words=render.unit_words,
        breakable=_breakable,
        nearness=_nearness,
        significance=_significance,
    )
    boxes = {name: _figures.box_plot(results, name) for name in results.datasets}
    page = environment.get_template("report.html").render(
        report=report,
        words=FIGURE_WORDS,
        boxes={name: Markup(svg) for name, svg in boxes.items() if svg},
        ranks={
            figure: Markup(_figures.critical_difference(ranked, figure))
            for figure, ranked in report.rankings.items()
        },
        printed_times=[render.printed_time_text(one) for one in report.printed_times],
        times={
            "data set": (report.time_by_dataset, _time_figure(report.time_by_dataset, "data set")),
            "sweep": (report.time_by_sweep, _time_figure(report.time_by_sweep, "sweep")),
        },
    )
    return page + "\n"


def _time_figure(rows: tuple[TimeRow, ...], what: str) -> Any:
    from markupsafe import Markup

    from . import _figures

    return Markup(_figures.time_bars(rows, what))


def _breakable(name: str) -> Any:
    """Allow a long name to break after its underscores."""
    from markupsafe import Markup

    return Markup("_<wbr>").join(name.split("_"))


def _nearness(standard_errors: float) -> str:
    """Return the CSS class of a difference."""
    if math.isnan(standard_errors):
        return "unknown"
    far = abs(standard_errors)
    return "near" if far <= 2 else "off" if far <= 3 else "far"


def _significance(p_value: float | None) -> str:
    """Return the CSS class of a p-value."""
    if p_value is None or math.isnan(p_value):
        return ""
    return "small" if p_value < 0.05 else "large" if p_value > 0.95 else ""


def _text_tables(report: Report) -> list[render.TextTable]:
    return [
        *map(render.comparison_text, report.comparisons),
        *map(render.p_value_text, report.p_values),
        *map(render.own_text, report.own),
        *(
            render.matrix_text(matrix, test)
            for matrix in report.matrices
            for test in matrix.tests
            if len(matrix.methods) <= 16  # wider ones do not fit a page; HTML and JSON have them
        ),
        render.time_text(report.time_by_dataset, "data set"),
        render.time_text(report.time_by_sweep, "sweep"),
        *map(render.printed_time_text, report.printed_times),
    ]


def markdown_report(report: Report) -> str:
    """Write the tables of a report as Markdown.

    Parameters
    ----------
    report : Report
        The contents.

    Returns
    -------
    text : str
    """
    escaped = render.escaped_markdown
    texts = [f"# {escaped(report.name)}{f': {escaped(report.title)}' if report.title else ''}"]
    if report.citation:
        texts.append(escaped(report.citation))
    if report.comparisons:
        texts.append(f"All tables: {report.counts}.")
    for heading, lines in (
        ("Differences from the study", report.provenance.departures),
        ("Skipped", report.left_out),
        ("Failures", tuple(f"{text} ({n} times)" for text, n in report.failures)),
    ):
        if lines:
            texts.append("\n".join([f"{heading}:", "", *(f"- {escaped(line)}" for line in lines)]))
    texts += [render.markdown(table) for table in _text_tables(report)]
    texts += [
        f"Ranks by {FIGURE_WORDS[figure]}:\n\n```\n{ranked}\n```"
        for figure, ranked in report.rankings.items()
    ]
    return "\n\n".join(texts) + "\n"


def latex_report(report: Report) -> str:
    """Write the tables of a report as LaTeX, to be included in a document that uses booktabs.

    Parameters
    ----------
    report : Report
        The contents.

    Returns
    -------
    text : str
    """
    head = f"% {report.name}; needs \\usepackage{{booktabs}}"
    return "\n\n".join([head, *(render.latex(table) for table in _text_tables(report))]) + "\n"


def json_report(report: Report) -> str:
    """Write all values of a report as JSON; NaN and infinite values are null.

    Parameters
    ----------
    report : Report
        The contents.

    Returns
    -------
    text : str
    """
    return json.dumps(plain_values(report), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plain_values(value: Any) -> Any:
    """Return dataclasses, and what is in them, as JSON's types; None for NaN and infinity.

    Examples
    --------
    >>> from polychotomy.study.report import plain_values
    >>> from polychotomy.statistics import summarise
    >>> plain_values(summarise([1.0]))
    {'mean': 1.0, 'deviation': None, 'n_runs': 1, 'n_failed': 0}
    """
    if is_dataclass(value) and not isinstance(value, type):
        shallow = {name: getattr(value, name) for name in value.__dataclass_fields__}
        return plain_values(shallow)
    if isinstance(value, Mapping):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def report_text(results: StudyResults, form: str) -> str:
    """Write the report of a study.

    Parameters
    ----------
    results : StudyResults
        The runs, from `read_results`.
    form : {"html", "markdown", "latex", "json"}
        The format.

    Returns
    -------
    text : str
    """
    report = make_report(results)
    if form == "html":
        return html_report(report, results)
    return {"markdown": markdown_report, "latex": latex_report, "json": json_report}[form](report)


def report_format(path: str | os.PathLike[str]) -> str:
    """Return the format for the suffix of a file name.

    Examples
    --------
    >>> from polychotomy.study.report import report_format
    >>> report_format("study.tex")
    'latex'
    """
    ends = {end: form for form, end in FORMATS.items()} | {".htm": "html"}
    suffix = Path(path).suffix.lower()
    if suffix not in ends:
        raise ValueError(
            f"The name of a report must end in {listed(FORMATS.values())}, got {str(path)!r}."
        )
    return ends[suffix]


def write_report(results: StudyResults, path: str | os.PathLike[str]) -> None:
    """Write the report of a study into a file, in the format of its suffix.

    Parameters
    ----------
    results : StudyResults
        The runs, from `read_results`.
    path : path-like
        The file, ending in .html, .md, .tex or .json; it is replaced when everything is written.
    """
    text = report_text(results, report_format(path))
    files.write(path, text.encode())
