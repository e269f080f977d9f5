"""What reaches a terminal, a spreadsheet, or the user after Ctrl-C."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import polychotomy_command
from commands import Commands
from polychotomy.tables import spreadsheet_safe

EVIL = "\x1b]0;owned\x07\x1b[2J"
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
CLASSES = [f"a{EVIL}", "b\x9b31m", "=HYPERLINK(1)"]


def table():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 90)
    return pd.DataFrame(
        {
            f"width{EVIL}": (kind + rng.normal(0, 0.4, 90)).round(3),
            f"col\u202eour{EVIL}": np.array([f"red{EVIL}", "blue", "green"])[kind],
            "one": [f"only{EVIL}"] * 90,
            f"kind{EVIL}": np.array(CLASSES)[kind],
            "@note": np.array(["-1.5", "-x", "+1"])[kind],
        }
    )


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    server = Commands(tmp_path_factory.mktemp("terminal"))
    frame = table()
    frame.to_csv(server.folder / "table.csv", index=False)
    frame.assign(**{f"col\u202eour{EVIL}": f"new{EVIL}"}).to_csv(server.folder / "new.csv")
    fitted = server.run(
        *("fit", "table.csv", "-t", f"kind{EVIL}", "-m", "PWC_PSVM", "-o", "m.model"),
        *("--drop", "@note"),
    )
    assert fitted.code == 0, fitted.err
    assert not OBEYED.search(fitted.err)
    return server


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "m.model", "table.csv"),
        ("evaluate", "m.model", "table.csv", "--json"),
        ("evaluate", "m.model", "new.csv"),
        ("explain", "m.model", "table.csv"),
        ("explain", "m.model", "table.csv", "--json"),
        ("predict", "m.model", "table.csv", "--json"),
        ("predict", "m.model", "new.csv", "-o", "out.csv"),
        ("predict", "m.model", "table.csv", "--copy", f"no{EVIL}"),
        ("compare", "table.csv", "-t", f"kind{EVIL}", "--methods", "MWV_SVM", "--splits", "2"),
        ("compare", "table.csv", "-t", f"other{EVIL}"),
        ("fit", f"none{EVIL}.csv", "-t", "x"),
        (f"evil{EVIL}",),
    ],
)
def test_no_command_prints_what_a_terminal_obeys(commands, arguments):
    said = commands.run(*arguments)
    assert said.out + said.err
    assert not OBEYED.search(said.out)
    assert not OBEYED.search(said.err)
    assert "Traceback" not in said.err


def test_json_reads_back_the_same(commands):
    said = commands.run("evaluate", "m.model", "table.csv", "--json")
    assert said.json["classes"] == sorted(CLASSES)


def test_a_csv_file_has_the_labels_as_they_are(commands):
    said = commands.run("predict", "m.model", "table.csv", "--labels-only")
    assert set(pd.read_csv(io.BytesIO(said.raw))["predicted"]) == set(CLASSES)


def test_a_csv_on_a_terminal_is_shown(commands):
    ours, theirs = pty.openpty()
    arguments = ("predict", "m.model", "table.csv", "--labels-only")
    done = commands.run(*arguments, stdout=os.ttyname(theirs))
    os.close(theirs)
    said = b""
    try:
        while block := os.read(ours, 4096):
            said += block
    except OSError:  # the end, on Linux
        pass
    os.close(ours)
    assert done.code == 0
    assert not OBEYED.search(said.decode().replace("\r\n", "\n"))
    assert r"a\x1b]0;owned\x07" in said.decode()


def test_safe_predictions_hold_no_formula(commands):
    said = commands.run("predict", "m.model", "table.csv", "--safe", "--copy", "@note")
    rows = pd.read_csv(io.BytesIO(said.raw), dtype=str)
    assert list(rows)[:2] == ["'@note", "predicted"]
    assert set(rows["'@note"]) == {"-1.5", "'-x", "+1"}
    assert "'=HYPERLINK(1)" in set(rows["predicted"])
    plain = commands.run("predict", "m.model", "table.csv", "--copy", "@note")
    assert "'" not in plain.out
    refused = commands.run("predict", "m.model", "table.csv", "--safe", "--json")
    assert refused.code == 2
    assert "--safe is for CSV" in refused.err


def test_numbers_and_missing_values_stay_as_they_are():
    frame = pd.DataFrame({"n": [-1.5, 2.0], "t": ["=1", None], "-c": [True, False]})
    safe = spreadsheet_safe(frame)
    assert list(safe) == ["n", "t", "'-c"]
    assert safe["n"].tolist() == [-1.5, 2.0]
    assert safe["t"][0] == "'=1"
    assert pd.isna(safe["t"][1])
    assert list(frame) == ["n", "t", "-c"]


# Every command is forked from a process that has imported what all commands begin with.
SCRIPT = """
import json, os, sys
from polychotomy import cli

run = cli._run

def ready(given):
    print("ready", os.getpid(), flush=True)
    return run(given)

cli._run = ready
for line in iter(sys.stdin.readline, ""):
    child = os.fork()
    if child == 0:
        # The input stays open, so that nothing but the interrupt ends it.
        os.dup2(os.pipe()[0], 0)
        os.dup2(os.open(".stopped", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 2)
        sys.stdin = os.fdopen(0)
        sys.exit(cli.main(json.loads(line)))
    _, status = os.waitpid(child, 0)
    print("ended", os.waitstatus_to_exitcode(status), flush=True)
"""


@pytest.fixture(scope="module")
def beginnings(commands):
    """Start commands with a line of JSON; say the number of each process, and its exit code."""
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        cwd=commands.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        yield server
        server.stdin.close()


@pytest.mark.parametrize(
    ("command", "wait"),
    [("fit", 0.0), ("fit", 0.15), ("fit", 0.6), ("predict", 0.05), ("predict", 0.3)],
)
def test_an_interrupt_while_modules_are_imported_is_one_line(commands, beginnings, command, wait):
    more = {
        "fit": ["table.csv", "-t", f"kind{EVIL}", "-o", "never.model", "--time", "none"],
        "predict": ["m.model", "-"],
    }[command]
    beginnings.stdin.write(json.dumps([command, *more]) + "\n")
    beginnings.stdin.flush()
    word, process = beginnings.stdout.readline().split()
    assert word == "ready"  # a number of the other kind must not be sent signals
    process = int(process)
    time.sleep(wait)
    os.kill(process, signal.SIGINT)
    hung = threading.Timer(60.0, os.kill, (process, signal.SIGKILL))
    hung.start()
    ended = beginnings.stdout.readline()
    hung.cancel()
    said = (commands.folder / ".stopped").read_text()
    assert "Traceback" not in said
    assert said.splitlines()[-1] == "polychotomy: stopped."
    assert ended == "ended 130\n"
    assert not (commands.folder / "never.model").exists()


SLOW = """
import time
from pathlib import Path

print("ready", flush=True)
try:
    time.sleep(60)
except BaseException as error:  # as some compiled modules do
    raise ImportError("interrupted") from error
"""


def test_an_interrupt_while_the_library_is_imported_is_one_line(tmp_path):
    (tmp_path / "polychotomy").mkdir()
    (tmp_path / "polychotomy" / "__init__.py").write_text(SLOW)
    source = str(Path(polychotomy_command.__file__).parent.parent)
    start = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {source!r}]; sys.meta_path[:] = "
    # Without the finder of an editable install, which would find the real library.
    start += "[each for each in sys.meta_path if 'editable' not in str(each).lower()]; "
    with subprocess.Popen(
        [sys.executable, "-c", start + "import polychotomy_command as c; sys.exit(c.main())"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        said = process.stderr.read().decode()
        process.wait(60)
    assert said == "polychotomy: stopped.\n"
    assert process.returncode == 130
