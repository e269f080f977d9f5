"""The report of a study, as text and in a real browser."""

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import fake_study
from browser import CHROMIUM, Browser
from polychotomy.execution.units import MethodResult, Outcome, Unit
from polychotomy.study.definition import load_study
from polychotomy.study.report import (
    departures,
    html_report,
    json_report,
    latex_report,
    make_report,
    markdown_report,
    report_format,
    write_report,
)
from polychotomy.study.results import StudyResults, read_results
from polychotomy.study.store import Store

HOSTILE = "<script>alert(\"x\")</script>$x$ & 'y'"


def read(path):
    with Store(path, read_only=True) as store:
        return read_results(store)


@pytest.fixture(scope="module")
def duan(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "duan2003.db"
    fake_study.fill(path, "duan2003", ["abe", "dna", "waveform"], partitions=3, fail={0})
    return read(path)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A study of a user's own, with names that are not kind."""
    path = tmp_path_factory.mktemp("store") / "own.db"
    methods = ["VOTE", HOSTILE]
    definition = {"methods": [{"name": name} for name in methods]}
    with Store(path) as store:
        for dataset in ("iris", HOSTILE):
            for partition in range(4):
                unit = Unit("mine", dataset, "0f3a", partition, HOSTILE, definition)
                results = (
                    MethodResult("VOTE", error=0.04 + 0.01 * partition, warnings=(HOSTILE,)),
                    MethodResult(HOSTILE, error=0.05, nll=0.2),
                )
                store.record(unit, Outcome(results, seconds=1.0, versions={HOSTILE: HOSTILE}))
        unit = Unit("mine", "iris", "0f3a", 4, HOSTILE, definition)
        store.record(unit, Outcome(failure=HOSTILE))
    return read(path)


@pytest.fixture(scope="module")
def duan_report(duan):
    return make_report(duan)


@pytest.fixture(scope="module")
def duan_page(duan, duan_report):
    return html_report(duan_report, duan)


class Outline(HTMLParser):
    """The tags, ids and outward addresses of a page, and whether tags are closed in order."""

    VOID = frozenset({"meta", "link", "br", "wbr"})

    def __init__(self, page):
        super().__init__()
        self.tags, self.ids, self.addresses, self.open, self.text = [], [], [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "action", "data", "srcset"):
                self.addresses.append(value)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_a_page_holds_all_and_asks_for_nothing(duan_page):
    page = Outline(duan_page)
    # Boxplots, two rankings, time by data set and by sweep.
    assert page.tags.count("svg") == 3 + 2 + 2
    # 3 tables and 9 of p-values of the paper, 2 of ours, matrices, time, provenance.
    assert page.tags.count("table") == 3 + 9 + 2 + 2 * (1 + 3 * 3) + 2 + 3
    assert len(page.ids) == len(set(page.ids))
    inside = [address for address in page.addresses if address.startswith("#")]
    assert set(page.addresses) - set(inside) == {"data:,"}
    assert {address[1:] for address in inside} <= set(page.ids)
    assert "script" not in page.tags
    assert "url(http" not in duan_page
    assert not re.search(r"@import|https?://", duan_page)


def test_a_page_says_what_it_is_not(duan_page, duan):
    text = " ".join(Outline(duan_page).text)
    for sentence in departures(duan):
        assert sentence in text
    assert "Data sets that were not run: satimage, segment." in text
    assert "abe: 3 of 20 partitions." in text
    assert "MemoryError: <b>3 GB</b> wanted" in text
    assert "the digits exchanged" in text


def test_departures_name_the_search_and_the_rows(tmp_path):
    search = {"folds": 5, "ties": "duan2003", "steps": "coarse"}
    data = {"name": "waveform", "source": "generated"}
    path = tmp_path / "study.db"
    fake_study.fill(path, "duan2003", ["waveform"], search=search, train=90, data=data)
    found = departures(read(path))
    assert "The search of parameters has steps 'coarse' instead of 'two'." in found
    assert "waveform: 90 training rows instead of 300." in found
    assert "waveform: a fresh sample of the same law." in found


def test_the_whole_study_departs_in_nothing(tmp_path):
    path = tmp_path / "study.db"
    fake_study.fill(path, "duan2005", ["abe_280"])
    study = load_study("duan2005")
    abe = replace(study, datasets=study.datasets[:1])
    assert departures(replace(read(path), study=abe)) == ()
    assert len(departures(read(path))) == 1


def test_pages_are_the_same_each_time(duan, duan_report, duan_page):
    assert html_report(duan_report, duan) == duan_page


def test_all_text_is_escaped(own):
    report = make_report(own)
    outline = Outline(html_report(report, own))
    assert "script" not in outline.tags
    text = " ".join(outline.text)
    # As a data set, a method in a figure, a sweep, a warning and a reason.
    assert text.count(HOSTILE) > 10
    # In Markdown, HTML counts outside of blocks of code only.
    assert "<script" not in re.sub("```.*?```", "", markdown_report(report), flags=re.DOTALL)
    assert r"\$x\$ \& 'y'" in latex_report(report)


def test_a_study_without_printed_tables_has_ours_only(own):
    report = make_report(own)
    page = Outline(html_report(report, own))
    assert report.comparisons == report.p_values == ()
    assert "paper" not in page.ids
    assert "own" in page.ids
    table = json.loads(json_report(report))["own"][0]
    column = table["datasets"].index("iris")
    assert [cells[column]["n_failed"] for cells in table["cells"]] == [1, 1]


def test_a_study_of_one_method_on_one_data_set_has_a_report(tmp_path):
    unit = Unit("mine", "iris", "0f3a", 0, "svm", {"methods": [{"name": "VOTE"}]})
    with Store(tmp_path / "one.db") as store:
        store.record(unit, Outcome((MethodResult("VOTE", error=0.04),), versions={"numpy": "2"}))
        results = read_results(store)
    page = Outline(html_report(make_report(results), results))
    text = " ".join(page.text)
    assert "There are no two methods to compare." in text
    assert "Ranks need two methods" in text


def test_a_study_that_failed_altogether_has_a_report(own):
    rows = [row for row in own.rows if row["method"] is None]
    results = StudyResults("mine", rows)
    page = Outline(html_report(make_report(results), results))
    assert page.tags.count("svg") == 2  # where the time went; there is nothing else to draw
    json.loads(json_report(make_report(results)))


def test_texts_hold_the_same_numbers(duan_report, duan_page):
    values = json.loads(json_report(duan_report))
    cell = values["comparisons"][0]["cells"][4][0]
    shown = f"{cell['ours']['mean']:.2f} ± {cell['ours']['deviation']:.2f}"
    assert shown in markdown_report(duan_report)
    assert shown.replace("±", r"$\pm$") in latex_report(duan_report)
    assert shown in duan_page


def test_files_are_written_by_their_names(tmp_path, own):
    for name in ("a.md", "a.tex", "a.json"):
        write_report(own, tmp_path / name)
    assert (tmp_path / "a.md").read_text().startswith("# mine")
    assert r"\toprule" in (tmp_path / "a.tex").read_text()
    assert json.loads((tmp_path / "a.json").read_text())["name"] == "mine"
    assert report_format("x.HTML") == "html"
    with pytest.raises(ValueError, match=r"must end in '.html', '.md', '.tex' or '.json'"):
        write_report(own, tmp_path / "a.pdf")


def test_without_matplotlib_a_sentence_says_what_to_do(own, monkeypatch):
    report = make_report(own)
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"need matplotlib: pip install 'polychotomy\[plot\]'"):
        html_report(report, own)
    assert markdown_report(report)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_shows_the_page_without_complaint_or_request(tmp_path, duan_page, own):
    pages = ("duan", "own")
    (tmp_path / "duan.html").write_text(duan_page, encoding="utf-8")
    write_report(own, tmp_path / "own.html")
    with Browser(tmp_path / "profile") as browser:
        for name in pages:
            path = tmp_path / f"{name}.html"
            browser.open(path, width=400, height=800, dark=True)
            # The page is no wider than a phone: what is wider scrolls in its own box.
            assert browser.evaluate("document.documentElement.scrollWidth") == 400
            dark = browser.evaluate("getComputedStyle(document.body).backgroundColor")
            browser.open(path, width=1200)
            assert browser.evaluate("getComputedStyle(document.body).backgroundColor") != dark
            assert browser.evaluate("document.querySelectorAll('table tbody td').length") > 20
            small = "[...document.querySelectorAll('svg')].filter(s => s.clientHeight < 40).length"
            assert browser.evaluate("document.querySelectorAll('svg').length") >= 5
            assert browser.evaluate(small) == 0
            # A table that is wider than the page can be reached and scrolled by keyboard.
            boxes = "[...document.querySelectorAll('.scroll')].every(box => box.tabIndex === 0)"
            assert browser.evaluate(boxes)
        assert browser.complaints == []
        allowed = {(tmp_path / f"{name}.html").as_uri() for name in pages} | {"data:,"}
        assert set(browser.requests) <= allowed
        assert browser.requests


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_the_browser_would_have_noticed(tmp_path):
    path = tmp_path / "bad.html"
    path.write_text("<img src='https://example.org/x.png'><script>nowhere()</script>")
    with Browser(tmp_path / "profile") as browser:
        browser.open(path)
        assert "https://example.org/x.png" in browser.requests
        assert len(browser.complaints) == 2
