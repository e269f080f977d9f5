"""What the README says of a comparison and of other files fits together."""

import re
from pathlib import Path

import pytest

from polychotomy.compare import candidates, default_names

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def answer():
    """The answer of `polychotomy compare iris`, as `benchmarks/readme.py` prints it."""
    (found,) = re.findall(r"<!-- its answer -->\n```\n(.*?)```", TEXT, re.DOTALL)
    return found


@pytest.fixture(scope="module")
def rows(answer):
    """Titles of the methods, with their figures and how far they are behind."""
    line = re.compile(
        r"^ *(?:\d+ )? *(\S.*?\(\w+\)) +(\d\.\d{4}) .*?  (best|[+-]\d\.\d{4} .*)$", re.M
    )
    return line.findall(answer)


def test_the_methods_are_those_that_the_command_compares(rows):
    known = candidates()
    always = [known[name] for name in default_names(150, 3)]
    expected = {one.title for one in always if one.family in ("polychotomy", "scikit-learn")}
    assert {title for title, *_ in rows} - {"the shares of the classes (majority)"} == expected


def test_methods_are_ranked_and_differences_are_to_the_best(rows):
    losses = [float(nll) for _, nll, _ in rows]
    assert losses == sorted(losses)
    assert rows[0][2] == "best"
    for _, nll, behind in rows[1:]:
        # Of figures with four digits after the point.
        assert float(behind.split()[0]) == pytest.approx(float(nll) - losses[0], abs=1.1e-4)


def test_the_recommendation_is_one_of_the_rows(answer, rows):
    title, nll = re.search(r"^Recommended: (.*?\(\w+\)).*? (\d\.\d{4})", answer, re.M).groups()
    assert (title, nll) in [row[:2] for row in rows]


def test_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\((?!https?:|\.\./)([^)#]+)(#[^)]*)?\)", TEXT)
    assert len(links) > 15
    for path, anchor in links:
        assert (ROOT / path).exists(), path
        if anchor:
            heads = re.findall(r"^#+ (.*)$", (ROOT / path).read_text("utf-8"), re.M)
            slugs = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
            assert anchor[1:] in slugs, anchor


def test_figures_of_the_paper_are_those_of_the_results():
    import csv

    lines = (ROOT / "benchmarks" / "results" / "grid_500.csv").read_text("utf-8").splitlines()
    means = {row[0]: float(row[-1].split()[0]) for row in csv.reader(lines[3:])}
    paper = (ROOT / "paper" / "paper.md").read_text("utf-8")
    assert f"a {means['`GridSearchCV(SVC)`']:.0f}th of the time" in paper
    assert f"{means['LIBSVM on a Gram matrix shared by hand']:.0f}" == "12"
    assert "twelfth of that of LIBSVM on a Gram matrix shared by hand" in " ".join(paper.split())
