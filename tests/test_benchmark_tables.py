"""Tables of benchmarks in the documentation are those of the files in benchmarks/results."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
DOCS = BENCHMARKS.parent / "docs"


@pytest.fixture(scope="module")
def tables():
    """The module that fills the pages, with the folder of benchmarks on the path as for scripts."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("tables")
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_pages_have_the_tables_of_the_files(tables):
    assert {"benchmarks.md", "install.md", "onnx.md"} <= {page.name for page in tables.pages()}
    for page in tables.pages():
        text = page.read_text("utf-8")
        assert text == tables.filled(text), f"run benchmarks/tables.py: {page.name} is out of date"


def test_another_table_in_a_page_is_replaced(tables):
    text = tables.filled("<!-- table: reading -->\n| by hand |\n<!-- end -->\n")
    assert "by hand" not in text
    assert "`pandas.read_csv`" in text


def test_no_table_of_the_benchmarks_page_is_written_by_hand(tables):
    text = (DOCS / "benchmarks.md").read_text("utf-8")
    text = tables.MARKED.sub("", text)
    text = re.sub(
        r"<!-- quality.py: from here -->.*?<!-- quality.py: to here -->", "", text, flags=re.S
    )
    for section in text.split("\n## "):
        assert "\n|" not in section, section[:80]


def test_every_file_says_what_it_is_and_when_it_was_measured():
    for path in (BENCHMARKS / "results").glob("*.csv"):
        lines = path.read_text("utf-8").splitlines()
        head = next(line for line in lines if not line.startswith("#")).split(",")
        if {"code", "version"} & set(head):  # each row has the code that it is from
            continue
        assert re.match(r"# .*benchmarks/\w+\.py", lines[0]), path.name
        assert re.match(r"# (Measured|Copied)", lines[1]), path.name


def test_a_table_is_written_as_it_is_read(tmp_path, tables, capsys):
    from _table import Table, read_table

    table = Table("one", "Words.", ["a", "b"])
    table.add("x, y", 1.5)
    table.save(None)
    table.save(tmp_path)
    words, rows = read_table(tmp_path / "one.csv")
    assert words[0] == "Words."
    assert words[1].startswith("Measured on ")
    assert rows == [["a", "b"], ["x, y", "1.5"]]
    assert capsys.readouterr().out == "\n| a | b |\n|---|---|\n| x, y | 1.5 |\n"


def test_the_tables_against_a_stack_are_those_of_the_results():
    """`quality.py --write` has written them from results/quality.csv."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("quality", BENCHMARKS / "quality.py")
        quality = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(quality)
        frame = quality.pd.DataFrame(quality.read(quality.KEPT))
    finally:
        sys.path.remove(str(BENCHMARKS))
    text = (DOCS / "benchmarks.md").read_text("utf-8")
    shown = text.split(quality.BEGIN)[1].split(quality.END)[0]
    assert shown.strip() == quality.in_docs(frame).strip()


def test_benchmarks_import_what_is_there():
    """A script that nobody runs for a while must not break unseen."""
    for path in sorted(BENCHMARKS.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("polychotomy"):
                module = importlib.import_module(node.module)
                missing = [one.name for one in node.names if not hasattr(module, one.name)]
                assert not missing, f"{path.name}: {node.module} has no {missing}"
