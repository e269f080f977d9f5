"""Dirty exports through the command line: every trap alone, and many together."""

import io

import numpy as np
import pandas as pd
import pytest

from commands import Commands
from dirty_tables import REFUSED, TRAPS, clean, together, written


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    server = Commands(tmp_path_factory.mktemp("dirty"))
    written(clean()).to_csv(server.folder / "clean.csv", index=False)
    return server


def fitted(commands, name, *options):
    """Fit a model to a table; return the messages."""
    made = commands.run("fit", name, "-t", "kind", "-m", "PWC_PSVM", "-o", "it.model", *options)
    assert made.code == 0, made.err
    return made.err


def answers(commands, name):
    """Return the answers of the model about a table."""
    said = commands.run("predict", "it.model", name)
    assert said.code == 0, said.err
    return pd.read_csv(io.StringIO(said.out), keep_default_na=False)


@pytest.fixture(scope="module")
def wanted(commands):
    fitted(commands, "clean.csv")
    return answers(commands, "clean.csv")


def test_a_class_may_be_called_none(wanted):
    assert set(wanted["predicted"]) == {"None", "NA", "red fox"}
    assert (wanted["predicted"] == clean()["kind"]).mean() > 0.7


@pytest.mark.parametrize("name", TRAPS)
def test_traps_alone(commands, wanted, name):
    trap = TRAPS[name]
    trap.change(written(clean())).to_csv(commands.folder / "dirty.csv", index=False)
    said = fitted(commands, "dirty.csv", *trap.options)
    for words in trap.said:
        assert words in said
    if trap.same:
        found = answers(commands, "dirty.csv")
        pd.testing.assert_frame_equal(found[: len(wanted)], wanted)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_the_fix(commands, name):
    change, said = REFUSED[name]
    change(written(clean())).to_csv(commands.folder / "dirty.csv", index=False)
    result = commands.run("fit", "dirty.csv", "-t", "kind", "-m", "PWC_PSVM", "-o", "no.model")
    assert result.code == 2
    line = result.err.splitlines()[-1]
    assert line.startswith("polychotomy: error: ")
    for words in said:
        assert words in line


def test_traps_together(commands):
    frame, options, said = together()
    frame.to_csv(commands.folder / "all.csv", index=False, sep=";", encoding="cp1252")
    compared = commands.run(
        *("compare", "all.csv", "-t", "kind", "--methods", "logistic,PWC_PSVM", "--splits", "2"),
        *("--jobs", "1", "--report", "all.html", "--json", *options),
    )
    assert compared.code == 0, compared.err
    for words in said:
        assert words in compared.err
        assert any(words in note for note in compared.json["data_notes"])
    assert compared.json["classes"] == ["NA", "None", "red fox"]
    assert "Dates (&#39;day&#39;)" in (commands.folder / "all.html").read_text()
    fitted(commands, "all.csv", *options)
    found = answers(commands, "all.csv")
    judged = commands.run("evaluate", "it.model", "all.csv", "--json")
    assert judged.code == 0, judged.err
    assert judged.json["unknown_classes"] == 0
    assert judged.json["rows"] == len(found) == len(frame)
    wrong = (
        found["predicted"] != frame["kind"].str.strip().str.replace("RED FOX", "red fox")
    ).mean()
    assert judged.json["error"] == pytest.approx(wrong)
    explained = commands.run("explain", "it.model", "all.csv", "--row", "3")
    assert explained.code == 0, explained.err
    assert "price: " in explained.out


def test_rows_without_a_class_are_counted(commands, wanted):
    frame = clean().assign(day=lambda each: each["day"].dt.strftime("%Y-%m-%d"))
    fitted(commands, "clean.csv")
    frame["kind"] = ["", " ", "None", *frame["kind"][3:]]
    frame.to_json(commands.folder / "gaps.jsonl", orient="records", lines=True)
    judged = commands.run("evaluate", "it.model", "gaps.jsonl", "--json")
    assert judged.code == 0, judged.err
    assert "2 rows have no 'kind': skipped." in judged.err
    assert judged.json["rows"] == len(frame) - 2
    assert judged.json["unknown_classes"] == 0


def test_gaps_in_a_target_that_is_cut_into_ranges(commands):
    frame = written(clean())
    frame.loc[[3, 7, 9], "price"] = ["n/a", "", "-"]
    frame.to_csv(commands.folder / "prices.csv", index=False)
    options = ("-t", "price", "--bins", "3", "-m", "PWC_PSVM", "-o", "price.model")
    made = commands.run("fit", "prices.csv", *options)
    assert made.code == 0, made.err
    judged = commands.run("evaluate", "price.model", "prices.csv", "--json")
    for said in (made.err, judged.err):
        assert "3 rows have no 'price': skipped." in said
    assert np.sum(judged.json["confusion"], axis=1).tolist() == [24, 24, 24]


@pytest.mark.parametrize("rare", ["merge", "drop"])
def test_rare_classes_that_are_numbers(commands, rare):
    frame = clean()
    numbers = frame["kind"].map({"None": 1, "NA": 2, "red fox": 30}).to_numpy(copy=True)
    numbers[:5] = [7, 7, 8, 9, 9]
    written(frame.assign(kind=numbers)).to_csv(commands.folder / "numbers.csv", index=False)
    fitted(commands, "numbers.csv", "--rare", rare)
    judged = commands.run("evaluate", "it.model", "numbers.csv", "--json")
    assert judged.code == 0, judged.err
    rare_words = numbers.astype(str)
    rare_words[:5] = "(rare)" if rare == "merge" else "?"
    found = answers(commands, "numbers.csv")["predicted"].astype(str)
    assert judged.json["error"] == pytest.approx(np.mean(found != rare_words))
    assert judged.json["unknown_classes"] == (0 if rare == "merge" else 5)


def test_every_format_gives_the_same_answers(commands, wanted):
    frame, folder = (
        clean().assign(day=lambda each: each["day"].dt.strftime("%Y-%m-%d")),
        commands.folder,
    )
    frame.to_json(folder / "clean.jsonl", orient="records", lines=True)
    frame.to_excel(folder / "clean.xlsx", index=False)
    frame.to_feather(folder / "clean.feather")
    for packed in ("bz2", "xz", "zip"):
        written(clean()).to_csv(folder / f"clean.csv.{packed}", index=False)
    (folder / "parts").mkdir()
    clean()[:50].to_parquet(folder / "parts" / "a.parquet")
    clean()[50:].to_parquet(folder / "parts" / "b.parquet")
    fitted(commands, "clean.csv")
    names = [f"clean.{one}" for one in ("jsonl", "xlsx", "feather", "csv.bz2", "csv.xz", "csv.zip")]
    for name in (*names, "parts", "parts/*.parquet"):
        pd.testing.assert_frame_equal(answers(commands, name), wanted)
    refused = commands.run("predict", "it.model", "https://example.org/clean.csv")
    assert refused.code == 2
    assert "download the file" in refused.err
