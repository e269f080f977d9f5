"""The commands that the page of a comparison advises run as they are written."""

import html
import itertools
import re
import shlex

import numpy as np
import pandas as pd
import pytest

from commands import Commands

N = 120


def rows():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, N)
    frame = pd.DataFrame({"width in cm": random.normal(size=N) + y})
    frame["code"] = random.integers(1, 4, N)
    frame["note"] = [f"a long text about thing {k} of kind {k % 7}" for k in range(N)]
    frame["who"] = random.integers(0, 30, N)
    frame["it's useless"] = random.normal(size=N)
    frame["w"] = random.uniform(0.5, 2.0, N).round(2)
    frame["size"] = np.where(np.arange(N) % 9 == 0, "n.k.", random.normal(size=N).round(2))
    frame["kind"] = np.array(["red", "Green", "blue"])[y]
    frame.loc[:9, "kind"] = frame.loc[:9, "kind"].str.upper()
    frame.loc[117:, "kind"] = "rare"
    return frame


OPTIONS = (
    *("--drop", "it's useless", "--category", "code", "--text", "note", "--missing", "n.k."),
    *("--groups", "who", "--weights", "w", "--merge-spellings", "--unique", "--rare", "merge"),
    *("--seed", "3"),
)


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    server = Commands(tmp_path_factory.mktemp("advised"))
    rows().to_csv(server.folder / "my table.csv", index=False)
    return server


def advised(commands, *options):
    """Return the command that trains the recommended method, from the page."""
    some = ("--methods", "PWC_PSVM", "--splits", "2", "--report", "page.html")
    made = commands.run("compare", *options, *some)
    assert made.code == 0, made.err
    page = html.unescape((commands.folder / "page.html").read_text(encoding="utf-8"))
    return shlex.split(re.search(r"polychotomy (fit .*)", page)[1])


def test_the_page_advises_the_options_that_were_given(commands):
    found = advised(commands, "my table.csv", "--target", "kind", *OPTIONS)
    for place, word in enumerate(OPTIONS):
        if word.startswith("--"):
            values = OPTIONS[place + 1 : place + 2]
            values = () if not values or values[0].startswith("--") else values
            at = found.index(word)
            assert tuple(found[at + 1 : at + 1 + len(values)]) == values
    made = commands.run(*found)
    assert made.code == 0, made.err
    assert "wrote model.polychotomy: PWC_PSVM" in made.err


def test_decisions_and_a_binned_target_are_advised_too(commands):
    options = ("--drop", "note", "--drop", "size", "--bins", "3", "--order", "w", "--sets", "0.9")
    found = advised(commands, "my table.csv", "-t", "width in cm", *options)
    for name, value in zip(options[::2], options[1::2], strict=True):
        assert (name, value) in itertools.pairwise(found)
    assert commands.run(*found).code == 0


def test_nothing_is_added_where_nothing_was_asked_for(commands):
    assert advised(commands, "iris") == [
        *("fit", "iris", "--target", "class", "--method", "PWC_PSVM"),
        *("--output", "model.polychotomy"),
    ]
