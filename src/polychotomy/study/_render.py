"""Tables as text: Markdown and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.words import duration
from ..statistics import Printed, Summary
from .tables import (
    Cell,
    ComparisonTable,
    OwnTable,
    PMatrix,
    PValueTable,
    TimeComparison,
    TimeRow,
)

MINUS = "\N{MINUS SIGN}"
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    Parameters
    ----------
    caption : str
        What it shows.
    header : tuple of str
        The heads of its columns.
    body : tuple of tuple of str
        Its rows.
    notes : tuple of str
        Notes below it.
    labels : int
        The number of columns, from the left, that are words; the others are numbers.
    """

    caption: str
    header: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    labels: int = 1


def mean_and_deviation(value: Summary | Printed | None, decimals: int) -> str:
    """Write ``7.66 ± 0.73``, with a mark for runs that failed.

    Examples
    --------
    >>> from polychotomy.study._render import mean_and_deviation
    >>> from polychotomy.statistics import Summary
    >>> mean_and_deviation(Summary(7.657, 0.731, 19, n_failed=1), 2)
    '7.66 ± 0.73 (1 failed)'
    """
    if value is None:
        return NOTHING
    n_failed = value.n_failed if isinstance(value, Summary) else 0
    failed = f" ({n_failed} failed)" if n_failed else ""
    if math.isnan(value.mean):
        return f"{NOTHING}{failed}"
    deviation = "" if math.isnan(value.deviation) else f" ± {value.deviation:.{decimals}f}"
    return f"{value.mean:.{decimals}f}{deviation}{failed}"


def printed_text(cell: Cell, decimals: int) -> str:
    """Write what a paper prints, with a star if that is doubtful.

    Examples
    --------
    >>> from polychotomy.study._render import corrected_text, printed_text
    >>> from polychotomy.statistics import Printed
    >>> from polychotomy.study.tables import Cell
    >>> cell = Cell(None, Printed(1.2, 0.0061, 20), Printed(1.2, 0.61, 20), None, ("A slip.",))
    >>> printed_text(cell, 2), corrected_text(cell, 2)
    ('1.20 ± 0.0061*', '(1.20 ± 0.61)')
    """
    text = mean_and_deviation(cell.printed, decimals)
    deviation = cell.printed.deviation
    if not math.isnan(deviation) and round(deviation, decimals) != deviation:
        text = f"{cell.printed.mean:.{decimals}f} ± {deviation}"
    return f"{text}*" if cell.doubts else text


def corrected_text(cell: Cell, decimals: int) -> str:
    """Write the correction of a printed number in brackets, or an empty text."""
    # Not by equality: if no deviation is printed both have NaN.
    if str(cell.compared) == str(cell.printed):
        return ""
    return f"({mean_and_deviation(cell.compared, decimals)})"


def signed(value: float, decimals: int = 1) -> str:
    """Write a difference with its sign, a dash for NaN.

    Examples
    --------
    >>> from polychotomy.study._render import signed
    >>> signed(1.26), signed(-0.01), signed(float("nan"))
    ('+1.3', '0.0', '–')
    """
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "+∞" if value > 0 else f"{MINUS}∞"
    rounded = round(value, decimals) + 0.0  # no minus zero
    return f"{rounded:+.{decimals}f}".replace("-", MINUS) if rounded else f"{0:.{decimals}f}"


def p_text(value: float | None) -> str:
    """Write a p-value with two digits, or as below .0001.

    Examples
    --------
    >>> from polychotomy.study._render import p_text
    >>> p_text(0.0123), p_text(3e-7), p_text(0.7166), p_text(0.99997)
    ('.012', '<.0001', '.72', '1')
    """
    if value is None or math.isnan(value):
        return NOTHING
    if value < 1e-4:
        return "<.0001"
    text = f"{value:.2g}" if value < 0.0995 else f"{value:.2f}"
    text = f"{float(text):.4f}".rstrip("0").rstrip(".") if "e" in text else text
    return "1" if float(text) == 1 else text.lstrip("0")


def unit_words(table: ComparisonTable | OwnTable) -> str:
    """Return the unit of a table as it is written after its title."""
    return ", in percent" if table.unit == "percent" else ""


def comparison_text(table: ComparisonTable) -> TextTable:
    """Write a table of a paper with three lines per data set: ours, the paper's, the difference."""
    body = []
    for label, cells in zip(table.paper_rows, table.cells, strict=True):
        ours = [mean_and_deviation(cell.ours, table.decimals) for cell in cells]
        printed = [
            f"{printed_text(cell, table.decimals)} {corrected_text(cell, table.decimals)}".rstrip()
            for cell in cells
        ]
        apart = [signed(cell.standard_errors) for cell in cells]
        body += [(label, "ours", *ours), ("", "paper", *printed), ("", "difference", *apart)]
    notes = [
        "Mean and deviation over the partitions; the difference is in standard errors.",
        f"{table.counts}.",
        *(f"* In doubt, and the correction in brackets if known: {d}" for d in table.doubts),
        *table.notes,
    ]
    caption = f"{table.id}: {table.title}{unit_words(table)}"
    return TextTable(caption, ("data set", "", *table.columns), tuple(body), tuple(notes), labels=2)


def own_text(table: OwnTable) -> TextTable:
    """Write the table of our results, a row for each method."""
    body = tuple(
        (method, *(mean_and_deviation(cell, table.decimals) for cell in cells))
        for method, cells in zip(table.methods, table.cells, strict=True)
    )
    caption = f"Our {table.title}{unit_words(table)}: mean and deviation over the partitions"
    return TextTable(caption, ("method", *table.datasets), body)


def p_value_text(table: PValueTable) -> TextTable:
    """Write a table of p-values with four lines per data set: the paper's, and our three tests."""
    body = []
    for label, cells in zip(table.paper_rows, table.cells, strict=True):
        printed = [p_text(cell.printed) + ("*" if cell.doubts else "") for cell in cells]
        body += [
            (label, "paper, paired t-test", *printed),
            ("", "ours, paired t-test", *(p_text(cell.paired) for cell in cells)),
            ("", "ours, corrected t-test", *(p_text(cell.corrected) for cell in cells)),
            ("", "ours, Wilcoxon", *(p_text(cell.wilcoxon) for cell in cells)),
        ]
    notes = (
        f"One-sided, small where {table.first} is better than the method of the column.",
        *(f"* {doubt}" for doubt in table.doubts),
        *table.notes,
    )
    caption = f"{table.id}: {table.title}"
    return TextTable(caption, ("data set", "test", *table.columns), tuple(body), notes, labels=2)


def matrix_text(matrix: PMatrix, test: str) -> TextTable:
    """Write the p-values of all methods against all others."""
    body = tuple(
        (method, *(p_text(value) for value in row))
        for method, row in zip(matrix.methods, matrix.values[test], strict=True)
    )
    caption = f"{matrix.dataset}, {matrix.figure}: p-values of the {test}"
    note = "One-sided, small where the method of the row is better."
    return TextTable(caption, ("", *matrix.methods), body, (note,))


def time_text(rows: Sequence[TimeRow], what: str) -> TextTable:
    """Write where the time went."""
    body = tuple(
        (row.name, str(row.n_units), *map(duration, (row.total, row.shared, row.own, row.other)))
        for row in rows
    )
    header = (what, "units", "all", "shared machines", "methods' own", "other")
    return TextTable(f"Time of work by {what}", header, body)


def printed_time_text(times: TimeComparison) -> TextTable:
    """Write printed times and ours, one machine in each column."""
    printed = times.printed
    rows = {
        **{f"paper: {step}": seconds for step, seconds in printed.parts.items()},
        "paper: together": printed.totals(),
        "ours: together": times.ours,
        "ratio": times.ratios,
    }
    body = tuple(
        (name, *(f"{value:,.3g}" if value < 100 else f"{value:,.0f}" for value in values))
        for name, values in rows.items()
    )
    return TextTable(f"{printed.id}: {printed.title}", ("", *printed.methods), body, printed.notes)


def markdown(table: TextTable) -> str:
    r"""Write a table as Markdown.

    Examples
    --------
    >>> from polychotomy.study._render import TextTable, markdown
    >>> body = (("a|b", "4.0 ± 1.0"),)
    >>> print(markdown(TextTable("Errors", ("method", "iris"), body, ("A note.",))))
    **Errors**
    <BLANKLINE>
    | method |      iris |
    |:-------|----------:|
    | a\|b   | 4.0 ± 1.0 |
    <BLANKLINE>
    A note.
    """
    cells = [[_plain_cell(text) for text in row] for row in (table.header, *table.body)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.header))]

    def line(row: Sequence[str]) -> str:
        texts = (
            text.ljust(width) if i < table.labels else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        return f"| {' | '.join(texts)} |"

    rules = (
        ":" + "-" * (w + 1) if i < table.labels else "-" * (w + 1) + ":"
        for i, w in enumerate(widths)
    )
    lines = [line(cells[0]), f"|{'|'.join(rules)}|", *map(line, cells[1:])]
    notes = [part for note in table.notes for part in ("", escaped_markdown(note))]
    return "\n".join([f"**{escaped_markdown(table.caption)}**", "", *lines, *notes])


def _plain_cell(text: str) -> str:
    return escaped_markdown(" ".join(text.split())).replace("|", r"\|")


def escaped_markdown(text: str) -> str:
    """Escape the special characters of Markdown and HTML."""
    for mark in "\\`*[]":
        text = text.replace(mark, "\\" + mark)
    return text.replace("&", "&amp;").replace("<", "&lt;")


_LATEX = {
    "\\": r"\textbackslash{}",
    "±": r"$\pm$",
    MINUS: "$-$",
    NOTHING: "--",
    "∞": r"$\infty$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: "\\" + mark for mark in "&%$#_{}"},
}


def latex(table: TextTable) -> str:
    r"""Write a table as LaTeX, for the package booktabs.

    Examples
    --------
    >>> from polychotomy.study._render import TextTable, latex
    >>> print(latex(TextTable("Errors", ("method", "iris"), (("MWV_SVM", "4.0 ± 1.0"),))))
    \begin{table}
    \centering
    \caption{Errors}
    \begin{tabular}{lr}
    \toprule
    method & iris \\
    \midrule
    MWV\_SVM & 4.0 $\pm$ 1.0 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    columns = "l" * table.labels + "r" * (len(table.header) - table.labels)
    notes = [rf"\par\smallskip\footnotesize {_escaped_latex(note)}" for note in table.notes]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped_latex(table.caption)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(table.header),
        r"\midrule",
        *map(_latex_row, table.body),
        r"\bottomrule",
        r"\end{tabular}",
        *notes,
        r"\end{table}",
    ]
    return "\n".join(lines)


def _latex_row(row: Sequence[str]) -> str:
    return " & ".join(map(_escaped_latex, row)) + r" \\"


def _escaped_latex(text: str) -> str:
    # A bracket after the end of a row would be read as its argument.
    escaped = "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))
    return "{" + escaped + "}" if escaped.startswith(("[", "*")) else escaped
