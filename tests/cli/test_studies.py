"""The commands `study`, `report` and `studies`."""

import csv
import io
import json
import re
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress

import pytest

import fake_study
from polychotomy.cli import main
from polychotomy.cli._console import study_progress
from polychotomy.execution.units import Unit
from polychotomy.study.driver import Progress
from polychotomy.study.store import Store, StoreError

MINE = """
name = "mine"
title = "Trees and neighbours"
partitions = 2
methods = [
    {name = "trees", recipe = "VOTE", learner = "tree"},
    {name = "neighbours", recipe = "VOTE", learner = "knn"},
]
[[datasets]]
name = "wine"
train = 0.5
[[datasets]]
name = "balance-scale"
train = 60
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POLYCHOTOMY_DATA", raising=False)
    (tmp_path / "mine.toml").write_text(MINE)
    return tmp_path


@pytest.fixture
def duan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fake_study.fill(tmp_path / "duan2003.db", "duan2003", ["abe", "dna"], partitions=2)
    return tmp_path


def command(*arguments, **options):
    """Start the command line as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "polychotomy", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_a_study_of_ones_own_from_file_to_report(mine, capsys):
    files = ["--report", "mine.html", "--report", "mine.tex", "--export", "mine.csv"]
    assert main(["study", "mine.toml", "--workers", "1", *files]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"\| trees +\| +\d+\.\d\d ± \d+\.\d\d \|", out)
    assert "8 of 8 units are in mine.db." in out
    assert "wrote mine.html" in err
    page = (mine / "mine.html").read_text()
    assert "Trees and neighbours" in page
    assert "not the whole study" not in page
    with (mine / "mine.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert {row["method"] for row in rows} == {"trees", "neighbours"}

    # Again, it has nothing to do; a report of the store, without the file, has the same numbers.
    before = (mine / "mine.db").stat().st_mtime_ns
    assert main(["study", "mine.toml", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["finished"], values["failed"]) == (8, 0)
    assert (mine / "mine.db").stat().st_mtime_ns == before
    assert main(["report", "mine.db", "--json", "--study", "mine.toml"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["own"] == values["tables"]
    assert report["title"] == "Trees and neighbours"

    # Some of it, and anew: results depend on nothing but the units.
    some = ["--datasets", "wine", "--methods", "trees,neighbours", "--partitions", "1"]
    assert main(["study", "mine.toml", *some, "--no-resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["units"] == 2
    assert main(["report", "mine.db", "--study", "mine.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["own"] == report["own"]


def test_quick_takes_data_that_are_at_hand(mine, capsys):
    (mine / "far.toml").write_text(
        MINE.replace('name = "wine"', 'name = "dna"').replace("partitions = 2", "partitions = 9")
    )
    arguments = ["--quick", "--partitions", "1", "--methods", "trees", "--workers", "1"]
    assert main(["study", "far.toml", *arguments, "--report", "far.md"]) == 0
    out, _ = capsys.readouterr()
    assert "balance-scale" in out
    assert "3 of 3 units are in mine-quick.db." in out
    text = (mine / "far.md").read_text()
    assert "Data sets that were not run: dna." in text
    assert "iris is not a data set of the study." in text
    assert "steps 'coarse' instead of 'two'" in text


def test_failures_are_told_and_may_be_tried_again(mine, capsys):
    # Of two rows nothing can be learned in folds.
    text = MINE.replace("train = 60", "train = 2").replace(
        '{name = "neighbours", recipe = "VOTE", learner = "knn"}', '"MWV_SVM"'
    )
    (mine / "mine.toml").write_text(text + "[search]\nsteps = 'coarse'\n")
    one = ["study", "mine.toml", "--datasets", "balance-scale", "--partitions", "1"]
    assert main([*one, "--workers", "1"]) == 1
    out, err = capsys.readouterr()
    assert "failed)" in out
    (line,) = err.splitlines()
    assert line.startswith("polychotomy: error: ")
    assert "units failed; the first: balance-scale, partition 0" in line
    assert "Traceback" not in err
    with Store(mine / "mine.db") as store:
        before = {row["unit"] for row in store.failed()}
    assert main([*one, "--retry-failed", "--workers", "1"]) == 1
    with Store(mine / "mine.db") as store:
        assert {row["unit"] for row in store.failed()} == before


def test_reports_are_files_or_text(duan, capsys):
    assert main(["report", "duan2003.db", "-o", "a.md", "-o", "b.json"]) == 0
    assert capsys.readouterr().err.count("wrote") == 2
    assert not (duan / "duan2003.html").exists()
    assert main(["report", "duan2003.db", "--format", "latex"]) == 0
    out, err = capsys.readouterr()
    assert out.count(r"\begin{table}") == out.count(r"\end{table}") > 5
    assert err == ""
    assert main(["report", "duan2003.db"]) == 0
    assert (duan / "duan2003.html").read_text().startswith("<!DOCTYPE html>")


def test_studies_are_listed_and_shown(capsys, mine):
    assert main(["studies"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["duan2003", "duan2005", "galar", "vangestel2002"]
    assert main(["studies", "duan2003"]) == 0
    out = capsys.readouterr().out
    assert "  waveform    300   20  yes" in out
    assert "  PWC_PSVM" in out
    assert main(["studies", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == names
    assert main(["studies", "mine.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["methods"] == ["trees", "neighbours"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["study", "duan2004"], "Unknown study 'duan2004'. Did you mean"),
        (["study", "none.toml"], "There is no file 'none.toml'."),
        (["study"], "Missing argument"),
        (["study", "mine.toml", "--fast"], "No such option"),
        (["study", "mine.toml", "--partitions", "0"], "partitions"),
        (["study", "mine.toml", "--partitions", "3"], "--partitions must be at most 2"),
        (["study", "mine.toml", "--datasets", "wines"], "no data set 'wines'. Did you mean"),
        (["study", "mine.toml", "--datasets", "dna", "--quick"], "quick version of mine has no"),
        (["study", "mine.toml", "--methods", "tree"], "no method 'tree'"),
        (["study", "mine.toml", "--report", "a.pdf"], "must end in '.html'"),
        (["study", "mine.toml", "--report", "no/a.html"], "There is no folder"),
        (["study", "mine.toml", "--export", "a.xls"], "ends in .csv or .parquet"),
        (["study", "mine.toml", "--folder", "none"], "--folder names 'none', which is not"),
        (["study", "mine.toml", "--store", "no/x.db"], "cannot be opened"),
        (["study", "mine.toml", "--store", "mine.toml"], "not a SQLite database"),
        (["study", "mine.toml", "--cluster", "a", "--workers", "2"], "does not go with --cluster"),
        (["report", "none.db"], "There is no store 'none.db'"),
        (["report", "mine.toml"], "not a SQLite database"),
        (["report", "mine.toml", "--format", "pdf"], "Unknown format 'pdf'"),
        (["studies", "mine"], "must end in .toml"),
        (["stud"], "No such command 'stud'"),
    ],
)
def test_mistakes_get_one_line(mine, capsys, arguments, sentence):
    code = main(arguments)
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert line.startswith("polychotomy: error: ")
    assert sentence in line
    assert out == ""
    assert code == (1 if "--store" in arguments or "SQLite" in sentence else 2)
    assert [path.name for path in mine.glob("*.db")] == []


def test_what_nobody_foresaw_gets_one_line_too(monkeypatch, capsys):
    def broken():
        raise ZeroDivisionError("of all\nthings")

    monkeypatch.setattr("polychotomy.study.definition.study_names", broken)
    assert main(["studies"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("polychotomy: error: ZeroDivisionError: of all things.")
    monkeypatch.setenv("POLYCHOTOMY_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["studies"])


def test_a_broken_pipe_elsewhere_is_told(monkeypatch, capsys):
    def broken():
        raise BrokenPipeError("a worker is gone")

    monkeypatch.setattr("polychotomy.study.definition.study_names", broken)
    assert main(["studies"]) == 1
    assert capsys.readouterr().err.startswith("polychotomy: error: ")


def test_warnings_are_one_line(monkeypatch, capsys):
    def warn():
        # As warnings are written where no test collects them.
        sys.stderr.write(warnings.formatwarning("a\nb", UserWarning, "file.py", 1))
        return []

    before = warnings.formatwarning
    monkeypatch.setattr("polychotomy.study.definition.study_names", warn)
    assert main(["studies", "--json"]) == 0
    assert capsys.readouterr().err == "polychotomy: warning: a b\n"
    assert warnings.formatwarning is before


def test_help_has_examples(capsys):
    for name in ("study", "report", "studies"):
        assert main([name, "--help"]) == 0
        assert f"  polychotomy {name}" in capsys.readouterr().out
    assert main([]) == 0
    assert "study" in capsys.readouterr().out


def test_a_pipe_that_closes_is_no_error():
    with command("studies", "vangestel2002") as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 141


def test_ctrl_c_is_heard_and_work_goes_on_later(mine):
    (mine / "mine.toml").write_text(MINE.replace("partitions = 2", "partitions = 400"))
    process = command("study", "mine.toml", "--workers", "1")
    try:
        deadline = time.monotonic() + 120
        while _finished(mine / "mine.db") < 2:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert out == ""
    (line,) = err.splitlines()
    assert re.fullmatch(
        r"polychotomy: stopped; \d+ of 1600 units are in mine.db. "
        r"Run the same command to continue.",
        line,
    )
    with Store(mine / "mine.db") as store:
        assert store.claims() == {}


def _finished(path):
    if path.exists():
        with suppress(StoreError), Store(path, read_only=True) as store:  # it may be in the making
            return sum(family["n_units"] for family in store.families())
    return 0


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_with_the_time_left_is_shown_on_a_terminal(monkeypatch):
    units = [Unit("mine", "iris", "0f3a", i, "svm", {}, cost=1.0 + i) for i in range(4)]
    for terminal, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "120")
        with study_progress(units, {units[0].key}) as on_progress:
            assert (on_progress is not None) == shown
            for finished, unit in enumerate([None, *units[1:]] if shown else [], 1):
                on_progress(Progress(4, finished, 0, unit))
                time.sleep(0.01)
        text = terminal.getvalue()
        assert ("iris, partition 3, svm" in text) == shown
        assert ("4/4 units" in text) == shown
        assert bool(re.search(r"left.{0,20}0:00:00", text)) == shown


def test_what_was_finished_before_does_not_count_as_speed(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    units = [Unit("mine", "iris", "0f3a", i, "svm", {}, cost=1e6) for i in range(100)]
    with study_progress(units, {unit.key for unit in units[:99]}) as on_progress:
        on_progress(Progress(100, 99, 0))
    assert "-:--:--" in sys.stderr.getvalue()
