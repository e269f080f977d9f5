"""The table of docs/scale.md is the one that the benchmark writes from its results."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_table_of_many_rows_is_that_of_the_results():
    path = ROOT / "benchmarks" / "scale.py"
    spec = importlib.util.spec_from_file_location("scale", path)
    scale = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scale)
    text = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    begin, end = "<!-- python benchmarks/scale.py --table -->\n", "<!-- end -->"
    shown = text.split(begin)[1].split(end)[0].strip()
    assert shown == scale.table()
    assert all(row["version"] for row in scale.known())
