"""The commands that say what a model file holds: `show` and `card`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.words import counted
from ._console import naming_the_file, print_json, show, tell
from ._data import Json

Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="A file from 'polychotomy fit'; - for stdin.")
]
MOST_LINES = 20


def add_to(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.command("show")(show_model)
    app.command("card")(card)


def show_model(model: Model, as_json: Json = False) -> None:
    """Show what a model is, its columns, and how good it was.

    The file is described, not loaded.

    \b
    Examples:
      polychotomy show flowers.polychotomy
    """  # noqa: D301
    found = _described(model)
    if as_json:
        print_json(found)
        return
    show(_text(found))


def card(
    model: Model,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")
    ] = Path("card.html"),
) -> None:
    """Write a page that documents a model.

    It shows what the model is, its columns, how good it was and where not.

    \b
    Examples:
      polychotomy card flowers.polychotomy -o flowers.html
    """  # noqa: D301
    from ..compare import html_card
    from ..core import files
    from ..tables import whole_file

    files.refuse(output)
    page = html_card(_described(model))
    with whole_file(output) as stream:
        stream.write(page.encode())
    tell(f"wrote {output}")


def _described(path: str) -> dict[str, Any]:
    """Return the facts about a model file; nothing in it is executed."""
    from ..compare import candidates
    from ..persistence import describe
    from ..tables import TableSchema

    if path == "-":
        header = describe(io.BytesIO(sys.stdin.buffer.read()))
    elif not Path(path).is_file():
        raise ValueError(f"There is no model file {path!r}; write one with polychotomy fit.")
    else:
        with naming_the_file(path):
            header = describe(path)
    about = header["metadata"] if isinstance(header.get("metadata"), dict) else {}
    schema = TableSchema.from_dict(about.get("table"))
    name = str(about.get("method", ""))
    known = candidates()
    comparison = about.get("comparison")
    return {
        "method": name,
        "title": known[name].title if name in known else name,
        "data": str(about.get("data", "")),
        "rows": about.get("rows"),
        "trained_rows": about.get("trained_rows"),
        "classes": list(header.get("classes") or []),
        "target": schema.target,
        "columns": [{"name": one.name, "kind": one.kind} for one in schema.columns],
        "written": header.get("saved"),
        "model": header.get("model"),
        "comparison": comparison if isinstance(comparison, dict) else None,
        "training": str(about.get("training") or ""),
        "decisions": _decided(about.get("decisions")),
    }


def _decided(kept: Any) -> list[str]:
    """Return what the model decides with its probabilities, in sentences."""
    if not isinstance(kept, dict):
        return []
    said = []
    if isinstance(kept.get("costs"), dict):
        actions = {
            str(one) for row in kept["costs"].values() if isinstance(row, dict) for one in row
        }
        said.append(f"Costs are kept: it chooses the cheapest of {', '.join(sorted(actions))}.")
    if kept.get("reject_cost") is not None:
        said.append(f"A row that is left to somebody else costs {kept['reject_cost']}.")
    if kept.get("answered") is not None:
        said.append(f"It answers the surest {100 * float(kept['answered']):g} % of the rows.")
    if kept.get("sets") is not None:
        share = 100 * float(kept["sets"])
        said.append(
            f"It gives sets of classes that include the true one with {share:g} % probability."
        )
    return said


def _text(found: dict[str, Any]) -> str:
    from ..compare._card import fewer_rows, how_judged, was_judged

    classes = [str(label) for label in found["classes"]]
    some = ", ".join(classes[:MOST_LINES]) + (", ..." if len(classes) > MOST_LINES else "")
    lines = [
        f"method    {found['title']}",
        f"data      {found['data']}"
        + (f", {counted(found['rows'], 'row')}" if found["rows"] else ""),
        f"target    {found['target']}: {len(classes)} classes ({some})",
        "columns   "
        + ", ".join(f"{one['name']} ({one['kind']})" for one in found["columns"][:MOST_LINES])
        + (", ..." if len(found["columns"]) > MOST_LINES else ""),
    ]
    lines += [found["training"]] if found["training"] else []
    lines += found["decisions"]
    comparison = found["comparison"]
    if comparison is None:
        return "\n".join(
            [*lines, "", "It was not compared with others: polychotomy compare does that."]
        )
    judged = how_judged(comparison, found["method"]) + fewer_rows(found)
    if not was_judged(comparison, found["method"]):
        words = (
            "It was not judged: there was no time to train those methods that were. polychotomy "
            f"evaluate judges it on labelled rows. The others, on rows they had not seen: {judged}."
        )
        return "\n".join([*lines, "", words, "", *comparison["reasons"]])
    lines += ["", f"Judged on rows it had not seen ({judged}):"]
    rows = [row for row in comparison["ranking"] if row["method"] == found["method"]]
    for row in rows[:1]:
        for key in ("nll", "error", "brier", "calibration"):
            if row[key] is not None:
                lines.append(f"  {key:<12}{row[key]:.4f}")
    lines += ["", f"  {'class':<20}{'rows':>7}{'precision':>11}{'recall':>9}{'F1':>9}{'AUC':>9}"]
    for row in comparison["per_class"][:MOST_LINES]:
        figures = "".join(
            f"{'' if row[key] is None else format(row[key], '.3f'):>{width}}"
            for key, width in (("precision", 11), ("recall", 9), ("f1", 9), ("auc", 9))
        )
        lines.append(f"  {str(row['class'])[:20]:<20}{row['rows']:>7}{figures}")
    return "\n".join([*lines, "", *comparison["reasons"]])
