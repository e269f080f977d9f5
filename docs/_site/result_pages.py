"""Pages of the studies' results, made from the committed CSV files."""

from __future__ import annotations

import csv
import shutil
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from polychotomy.plots.critical_difference import CriticalDifferenceDisplay

FIGURES = {"error": "Error, in per cent", "nll": "Negative log-likelihood"}
SCALES = {"error": 100.0, "nll": 1.0}
MOST_RANKED = 14

Means = dict[str, dict[str, list[float]]]


def write(folder: Path, studies: Path) -> None:
    """Write a page for every study."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = []
    for path in sorted(studies.glob("*.csv")):
        names.append(f"study_{path.stem}")
        (folder / f"{names[-1]}.md").write_text(_study(path, folder), encoding="utf-8")
    text = "# Results from the committed files\n\nMeans over the partitions, computed from the CSV "
    text += "files when this site is built.\n\n```{toctree}\n" + "\n".join(names) + "\n```\n"
    (folder / "results.md").write_text(text, encoding="utf-8")


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _study(path: Path, folder: Path) -> str:
    rows = _read(path)
    lines = [f"# {path.stem}", "", f"{len(rows):,} results of `{path.name}`.", ""]
    for figure, title in FIGURES.items():
        values: Means = defaultdict(lambda: defaultdict(list))
        for row in rows:
            if row[figure]:
                values[row["method"]][_part(row)].append(float(row[figure]) * SCALES[figure])
        if not values:
            continue
        lines += [f"## {title}", ""]
        picture = _ranks(values, folder / f"{path.stem}_{figure}.png")
        if picture:
            alt = f"Mean ranks of the methods by {figure}, with the critical difference"
            lines += [f"![{alt}]({picture}){{.on-white}}", ""]
        lines += [*_table(values), ""]
    return "\n".join(lines)


def _part(row: dict[str, str]) -> str:
    """Return the data set, with the training size where a study has several."""
    import json

    size = json.loads(row["definition"] or "{}").get("train")
    return f"{row['dataset']} ({size})" if row["study"] == "duan2005" else row["dataset"]


def _table(values: Means) -> list[str]:
    """Return a table: a row for every method, a column for every data set, the least in bold."""
    sets = sorted({name for by_set in values.values() for name in by_set})
    least = {
        name: min(np.mean(by_set[name]) for by_set in values.values() if name in by_set)
        for name in sets
    }
    lines = ["| method | " + " | ".join(sets) + " |", "|---|" + "---:|" * len(sets)]
    for method in sorted(values):
        cells = []
        for name in sets:
            runs = values[method].get(name)
            mean = np.mean(runs) if runs else np.nan
            digits = 1 if least[name] > 1 else 3
            text = f"{mean:.{digits}f}" if runs else ""
            if runs and len(runs) > 1:
                text += f" ± {np.std(runs, ddof=1) / np.sqrt(len(runs)):.{digits}f}"
            cells.append(f"**{text}**" if runs and mean == least[name] else text)
        lines.append(f"| `{method}` | " + " | ".join(cells) + " |")
    return lines


def _ranks(values: Means, path: Path) -> str | None:
    """Draw the mean ranks of the methods that have every data set; the best of very many."""
    sets = sorted({name for by_set in values.values() for name in by_set})
    complete = [method for method in sorted(values) if set(values[method]) == set(sets)]
    if len(sets) < 3 or len(complete) < 3:
        return None
    means = np.array([[np.mean(values[method][name]) for method in complete] for name in sets])
    if len(complete) > MOST_RANKED:
        order = np.argsort(np.argsort(np.argsort(means, axis=1), axis=1).mean(axis=0))
        means = means[:, order[:MOST_RANKED]]
        complete = [complete[place] for place in order[:MOST_RANKED]]
    display = CriticalDifferenceDisplay.from_scores(means, complete)
    display.figure_.savefig(path, dpi=110)
    plt.close(display.figure_)
    return path.name
