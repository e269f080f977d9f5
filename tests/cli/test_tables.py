"""The commands for tables, end to end."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import polychotomy
from browser import CHROMIUM, Browser
from commands import Commands, options_of
from polychotomy.compare import compare_methods, html_card
from polychotomy.persistence import describe

N = 120
DOCS = Path(__file__).parents[2] / "docs"


def animals():
    """A table with all that is odd: an id, categories, missing values, names to be quoted."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, N)
    other = rng.random(N) < 0.2
    frame = pd.DataFrame(
        {
            "id": np.arange(5000, 5000 + N),
            "Größe, in cm": (kind + rng.normal(0, 0.6, N)).round(2),
            "Farbe": np.array(["röt", "grün", "blau"])[(kind + other) % 3],
            "noise": rng.normal(0, 1, N).round(3),
            "Art": np.array(["Fuchs", "Häse", "Igel"])[kind],
        }
    )
    frame.loc[::9, "Größe, in cm"] = np.nan
    frame.loc[::11, "Farbe"] = None
    return frame


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    server = Commands(tmp_path_factory.mktemp("tables"))
    frame = animals()
    folder = server.folder
    frame.to_csv(folder / "plain.csv", index=False)
    frame.to_csv(folder / "semicolons.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    frame.to_csv(folder / "quoted.csv", index=False, quoting=1, encoding="utf-8-sig")
    frame.to_csv(folder / "tabs.tsv", index=False, sep="\t", encoding="utf-16")
    frame.to_csv(folder / "packed.csv.gz", index=False)
    frame.to_parquet(folder / "columns.parquet")
    return server


@pytest.fixture(scope="module")
def model(commands):
    """A model of the animals."""
    made = commands.run("fit", "plain.csv", "-t", "Art", "-m", "PWC_PSVM", "-o", "animals.model")
    assert made.code == 0, made.err
    return "animals.model"


FORMS = [
    "plain.csv",
    "semicolons.csv",
    "quoted.csv",
    "tabs.tsv",
    "packed.csv.gz",
    "columns.parquet",
]


def test_all_ways_to_write_a_table_give_the_same_predictions(commands, model):
    outputs = [commands.run("predict", model, name, "--copy", "id") for name in FORMS]
    assert all(one.code == 0 for one in outputs)
    assert len({one.out for one in outputs}) == 1
    rows = pd.read_csv(commands.folder / ".out")
    assert list(rows) == [
        "id",
        "predicted",
        *(f"probability_{k}" for k in ("Fuchs", "Häse", "Igel")),
    ]
    assert np.allclose(rows.iloc[:, 2:].sum(axis=1), 1.0)
    assert (rows["predicted"] == animals()["Art"]).mean() > 0.7


def test_predictions_are_those_of_the_model_in_python(commands, model):
    said = commands.run("predict", model, "plain.csv", "--json")
    rows = [json.loads(line) for line in said.out.splitlines()]
    loaded = polychotomy.load(commands.folder / model)
    p = loaded.predict_proba(animals())
    assert np.array_equal([list(row.values())[1:] for row in rows], p)
    assert [row["predicted"] for row in rows] == loaded.classes_[p.argmax(axis=1)].tolist()


def test_the_model_file_knows_its_columns(commands, model):
    header = describe(commands.folder / model)
    types = {one["name"]: one["type"] for one in header["features"]}
    assert types == {"Größe, in cm": "number", "Farbe": "category", "noise": "number"}
    table = header["metadata"]["table"]
    assert table["target"] == "Art"
    assert table["columns"][1]["categories"] == ["blau", "grün", "röt"]
    assert header["metadata"]["method"] == "PWC_PSVM"


@pytest.fixture(scope="module")
def copies(commands):
    """A table of ten nearly equal rows of everyone, whose kinds have nothing to do with them."""
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(30), 10)
    numbers = rng.normal(size=(30, 2))[who] + 1e-3 * rng.normal(size=(300, 2))
    frame = pd.DataFrame(numbers, columns=["length", "weight"])
    frame["who"] = [f"number {one}" for one in who]
    frame["kind"] = rng.permutation(np.arange(30) % 2)[who]
    frame.to_csv(commands.folder / "copies.csv", index=False)
    return "copies.csv"


def test_a_pool_learns_nothing_from_others_of_a_group(commands, copies):
    losses = {}
    for name, options in (("alone", ("--drop", "who")), ("groups", ("--groups", "who"))):
        args = "-t", "kind", "-m", "LS2", "-o", f"{name}.model", *options
        said = commands.run("fit", copies, *args)
        assert said.code == 0, said.err
        losses[name] = polychotomy.load(commands.folder / f"{name}.model")[-1].nll_
    assert losses["alone"] < 0.05
    assert losses["groups"] > 0.5


def test_compared_methods_learn_nothing_from_others_of_a_group(commands, copies):
    args = "-t", "kind", "--methods", "LS2,KMR", "--splits", "4", "--groups", "who", "--json"
    said = commands.run("compare", copies, *args)
    assert said.code == 0, said.err
    found = {row["method"]: row["nll"] for row in json.loads(said.out)["ranking"]}
    # A method that trusts what it has seen of a group is much worse than chance on other groups.
    assert 0.5 < found["LS2"] < 2.0
    assert 0.5 < found["KMR"] < 2.0


def test_lists_in_a_column_of_the_model_are_refused(commands, model):
    frame = animals()[:4]
    frame.assign(noise=[[1]] * 4).to_json(
        commands.folder / "lists.jsonl", orient="records", lines=True
    )
    refused(
        commands.run("predict", model, "lists.jsonl"),
        "lists.jsonl has lists or other objects in column 'noise'",
        "needs plain numbers",
    )


def test_parquet_and_standard_streams(commands, model):
    wrote = commands.run("predict", model, "plain.csv", "-o", "answers.parquet", "--copy", "Farbe")
    assert wrote.code == 0
    assert wrote.out == ""
    frame = pd.read_parquet(commands.folder / "answers.parquet")
    assert frame.shape == (N, 5)
    piped = commands.run("predict", model, "-", stdin=commands.folder / "columns.parquet")
    assert piped.out.splitlines()[1].split(",")[0] == frame["predicted"][0]
    on_stdout = commands.run("fit", "plain.csv", "-t", "Art", "-m", "logistic", "-o", "-")
    loaded = polychotomy.load(io.BytesIO(on_stdout.raw))
    assert loaded.classes_.tolist() == ["Fuchs", "Häse", "Igel"]


def test_new_columns_lacking_ones_and_new_categories(commands, model):
    frame = animals().drop(columns=["Art", "id"])[:3]
    frame["new"] = 1
    frame.loc[0, "Farbe"] = "lila"
    frame.to_csv(commands.folder / "new.csv", index=False)
    said = commands.run("predict", model, "new.csv")
    assert said.code == 0
    assert len(said.out.splitlines()) == 4
    assert "'lila'" in said.err
    frame.drop(columns="noise").to_csv(commands.folder / "new.csv", index=False)
    lacking = commands.run("predict", model, "new.csv", "-o", "none.csv")
    refused(lacking, "does not have the column 'noise'")
    frame["noise"] = ["1.5", "much", "2"]
    frame.to_csv(commands.folder / "new.csv", index=False)
    wrong = commands.run("predict", model, "new.csv", "-o", "none.csv")
    refused(wrong, "'much' in column 'noise', row 2")
    assert not (commands.folder / "none.csv").exists()


def test_a_wrong_field_far_down_leaves_no_file(commands, model):
    good = animals()[["Größe, in cm", "Farbe", "noise"]].to_csv(index=False).splitlines()
    lines = [good[0], *good[2:3] * 30_000, '1.0,röt,"1,5"']
    (commands.folder / "long.csv").write_text("\n".join(lines))
    before = sorted(os.listdir(commands.folder))
    wrong = commands.run("predict", model, "long.csv", "-o", "long_answers.csv")
    refused(wrong, "'1,5' in column 'noise', row 30001")
    assert sorted(os.listdir(commands.folder)) == before


def test_evaluate(commands, model):
    found = commands.run("evaluate", model, "quoted.csv", "--json").json
    p = polychotomy.load(commands.folder / model).predict_proba(animals())
    y = np.unique(animals()["Art"], return_inverse=True)[1]
    assert found["rows"] == N
    assert found["error"] == pytest.approx(np.mean(p.argmax(axis=1) != y))
    assert found["nll"] == pytest.approx(-np.log(p[np.arange(N), y]).mean())
    assert np.sum(found["confusion"]) == N
    text = commands.run("evaluate", model, "quoted.csv").out
    assert f"{found['nll']:.4f}" in text


def test_evaluate_with_a_class_that_the_model_does_not_know(commands, model):
    frame = animals()
    frame.loc[0, "Art"] = "Maus"
    frame.to_csv(commands.folder / "mouse.csv", index=False)
    found = commands.run("evaluate", model, "mouse.csv", "--json").json
    assert found["unknown_classes"] == 1
    assert found["classes"][-1] == "Maus"


def test_explain_says_what_every_machine_said(commands, model):
    found = commands.run("explain", model, "plain.csv", "--row", "2", "--json").json
    (part,) = found["parts"]
    assert len(part["explanation"]["answers"]) == 3
    predicted = commands.run("predict", model, "plain.csv").out.splitlines()[2]
    assert predicted.split(",")[0] == found["prediction"]
    assert found["inputs"]["Farbe"] == animals()["Farbe"][1]
    text = commands.run("explain", model, "plain.csv", "--row", "2").out
    assert "decoded by PairwiseCoupling" in text
    refused(commands.run("explain", model, "plain.csv", "--row", "121"), "there is no row 121")


def test_a_pool_is_saved_and_explained_member_by_member(commands):
    made = commands.run("fit", "plain.csv", "-t", "Art", "-m", "LS2", "-o", "pool.model")
    assert made.code == 0, made.err
    found = commands.run("explain", "pool.model", "plain.csv", "--json").json
    assert sum(part["weight"] for part in found["parts"]) == pytest.approx(1.0)
    assert all(len(part["explanation"]["answers"]) == 3 for part in found["parts"])
    said = commands.run("predict", "pool.model", "plain.csv").out.splitlines()[1]
    assert said.split(",")[0] == found["prediction"]
    assert "together: " in commands.run("explain", "pool.model", "plain.csv").out


def test_compare_prints_a_ranking_and_reasons(commands):
    few = ("--methods", "PWC_PSVM,MWV_SVM", "--splits", "2")
    said = commands.run("compare", "semicolons.csv", "--target", "Art", *few)
    assert said.code == 0
    assert "Recommended: SVM, pairs, coupled (PWC_PSVM)" in said.out
    assert "no probabilities" in said.out
    assert "'id' looks like an identifier" in said.err
    assert "the separator ';' and decimal commas" in said.err
    found = commands.run("compare", "semicolons.csv", "--target", "Art", *few, "--json").json
    assert [row["method"] for row in found["ranking"]] == ["PWC_PSVM", "majority", "MWV_SVM"]
    assert found["splits"] == 2
    assert np.sum(found["confusion"]) == 2 * 30


def test_compare_claims_nothing_that_two_splits_of_noise_cannot_show(commands):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(90, 3)), columns=["u", "v", "w"])
    kinds = np.array(["None", "nan", "null"])[np.arange(90) % 3]
    frame.assign(kind=kinds).to_csv(commands.folder / "noise.csv", index=False)
    options = ("-t", "kind", "--methods", "PWC_KLR,PWC_PSVM,logistic", "--splits", "2")
    said = commands.run("compare", "noise.csv", *options)
    assert said.code == 0, said.err
    rows = {row.split(")")[0].split("(")[1]: row for row in said.out.splitlines()[1:5]}
    assert set(rows) == {"majority", "PWC_KLR", "PWC_PSVM", "logistic"}
    assert rows["PWC_PSVM"].endswith("cannot tell, worse than the majority class")
    assert "cannot tell PWC_KLR from always answering with the shares of the classes" in said.out
    assert said.out.count("2 are few") == 1
    more = commands.run("compare", "noise.csv", *options[:3], "PWC_KLR,PWC_PSVM", "--splits", "6")
    assert "the columns may say nothing about the class." in more.out
    assert "(2 splits are few)" in said.out
    assert "As good as" not in said.out
    assert "If time matters" not in said.out
    alone = commands.run("compare", "noise.csv", *options[:2], "--methods", "PWC_PSVM")
    assert "no method has learned anything from these columns" in alone.out
    assert "cannot tell PWC" not in alone.out
    assert "No other method was judged with it" in alone.out


def test_compare_a_built_in_set(commands):
    found = commands.run("compare", "iris", "--methods", "MWV_SVM", "--splits", "1", "--json").json
    assert found["data"] == "iris"
    assert np.sum(found["confusion"]) == 38
    assert found["ranking"][0]["error"] < 0.2


@pytest.fixture(scope="module")
def small(commands):
    """A table so small that even a busy machine tunes a method in a second."""
    frame = animals().query("Art != 'Igel'")[["Größe, in cm", "noise", "Art"]][:40]
    frame.to_csv(commands.folder / "few.csv", index=False)
    return "few.csv"


def test_compare_within_a_budget(commands, small):
    options = ("--methods", "PWC_PSVM", "--time", "2s", "--splits", "900", "--json")
    said = commands.run("compare", small, "-t", "Art", *options)
    assert said.code == 0, said.err
    found = said.json
    assert 0 < found["splits"] < 900
    assert f"{found['splits']} of the 900 planned" in found["protocol"]


def test_fit_says_once_what_to_do_about_a_class_of_one_row(commands):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"u": rng.normal(size=41), "v": rng.normal(size=41)})
    frame.assign(kind=["a", "b"] * 20 + ["c"]).to_csv(commands.folder / "lone.csv", index=False)
    made = commands.run("fit", "lone.csv", "-t", "kind", "-m", "PSVC", "-o", "lone.model")
    assert made.code == 0, made.err
    assert "'c' (1 row). --rare drop skips classes" in made.err
    assert made.err.count("fold") == 1
    assert "Class 'c': fewer rows than the 5 folds that choose parameters" in made.err
    assert "stratified" not in made.err


@pytest.mark.parametrize("rare", ["drop", "merge"])
def test_classes_that_are_all_rare_are_refused_with_an_option(commands, rare):
    frame = pd.DataFrame({"u": np.arange(40) % 7, "kind": [f"k{k % 20}" for k in range(40)]})
    frame.to_csv(commands.folder / "all_rare.csv", index=False)
    made = commands.run("fit", "all_rare.csv", "-t", "kind", "-m", "logistic", "--rare", rare)
    refused(made, f"With --rare {rare}, fewer than two classes of 'kind' are left; use --rare keep")


def test_fit_does_not_take_many_rare_classes_for_a_number(commands):
    frame = pd.DataFrame({"u": np.arange(40) % 7, "kind": [f"k{k % 25}" for k in range(40)]})
    frame.to_csv(commands.folder / "many_rare.csv", index=False)
    made = commands.run("fit", "many_rare.csv", "-t", "kind", "-m", "logistic", "-o", "rare.model")
    assert made.code == 0, made.err
    assert made.err.count("warning: ") == 1
    assert "regression" not in made.err


def test_fit_without_a_method_says_once_that_a_class_has_few_rows(commands):
    rng = np.random.default_rng(0)
    kind = np.array(["a"] * 30 + ["b"] * 30 + ["c"] * 6)
    frame = pd.DataFrame({"u": rng.normal(size=66) + (kind == "b"), "v": rng.normal(size=66)})
    frame.assign(kind=kind).to_csv(commands.folder / "six.csv", index=False)
    made = commands.run("fit", "six.csv", "-t", "kind", "--time", "15s", "-o", "six.model")
    assert made.code == 0, made.err
    assert made.err.count("Class 'c': fewer rows than the 5 folds") == 1
    assert "skips the cell" not in made.err
    assert "make_pipeline" not in made.err


def test_fit_without_a_method_takes_the_best_which_is_shown_and_documented(commands, small):
    made = commands.run("fit", small, "-t", "Art", "-m", "PWC_PSVM", "-o", "plain.model")
    assert made.code == 0, made.err
    text = commands.run("show", "plain.model").out
    assert "It was not compared with others: polychotomy compare does that." in text
    options = ("--time", "5m", "--rare", "merge", "-o", "judged.model", "--json")
    made = commands.run("fit", small, "-t", "Art", "--jobs", "1", *options)
    assert made.code == 0, made.err
    assert f"({made.json['method']}): " in made.err
    assert describe(commands.folder / "judged.model")["metadata"]["method"] == made.json["method"]
    assert re.search("a model file cannot hold (it|them): gradient boosting", made.err)
    text = commands.run("show", "judged.model").out
    for words in ("method ", "columns ", "recall", "Recommended: "):
        assert words in text
    facts = commands.run("show", "judged.model", "--json").json
    ranking = facts["comparison"]["ranking"]
    assert facts["method"] in [row["method"] for row in ranking]
    assert "majority" in [row["method"] for row in ranking]
    assert facts["comparison"]["described"] == facts["method"]
    assert facts["comparison"]["slices"] == []  # so few rows say nothing about slices
    assert commands.run("card", "judged.model", "-o", "card.html").code == 0
    page = (commands.folder / "card.html").read_text()
    assert "Columns it needs" in page
    assert facts["title"] in page
    rows = commands.run("predict", "judged.model", small, "--explain", "--json").out.splitlines()
    first = json.loads(rows[0])
    chances = sorted((value for key, value in first.items() if key.startswith("probability_")))
    assert first["decided_by"] == pytest.approx(chances[-1] - chances[-2])
    assert first["decided_against"] != first["predicted"]
    refused(commands.run("show", "nowhere.model"), "no model file")


def test_fit_advises_its_own_options(commands):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 2000)
    frame = pd.DataFrame(rng.normal(size=(2000, 12)) + kind[:, None], columns=list("abcdefghijkl"))
    frame.assign(kind=np.array(["u", "v", "w"])[kind]).to_csv(commands.folder / "wide.csv")
    # A second, in which POOL cannot be tuned.
    made = commands.run("fit", "wide.csv", "-t", "kind", "--time", "1s", "-o", "wide.model")
    assert made.code == 0, made.err
    assert "Allow more with --time, or name one with --method." in made.err
    shown = commands.run("show", "wide.model").out
    named = set(re.findall(r"--[a-z]+", made.err + shown))
    assert named <= options_of("fit")


def test_methods_are_listed_with_their_papers(commands):
    lines = commands.run("methods").out.splitlines()
    assert len(lines) > 55
    (line,) = (line for line in lines if "(PWC_KLR)" in line)
    assert "Duan and Keerthi (2005)" in line
    found = commands.run("methods", "--json").json
    assert all(one["paper"] not in ("", "other") for one in found)
    assert len({one["words"] for one in found}) == len(found)
    (one,) = commands.run("methods", "pwc-psvm", "--json").json
    assert one["name"] == "PWC_PSVM"


def refused(result, *words):
    """Check for one line on standard error, no traceback, and a code of 2."""
    assert result.code == 2, result
    last = result.err.splitlines()[-1]
    assert last.startswith("polychotomy: error: "), result.err
    assert "Traceback" not in result.err
    assert result.out == ""
    for word in words:
        assert word in last


BAD = {
    "empty.csv": (b"", "is empty"),
    "spaces.csv": (b"\n \n\n", "is empty"),
    "header.csv": (b"a,kind\n", "no rows"),
    "one_column.csv": (b"kind\nx\ny\n", "only one column"),
    "no_target.csv": (b"a,kinds\n1,x\n2,y\n", "no column 'kind'. Did you mean 'kinds'?"),
    "no_header.csv": (b"5.1,3.5,x\n4.9,3.0,y\n", "first line looks like data"),
    "one_class.csv": (b"a,kind\n1,x\n2,x\n", "only one class, 'x'"),
    "no_labels.csv": (b"a,kind\n1,\n2,\n", "No row of no_labels.csv has a class"),
    "junk.csv": (bytes(range(256)) * 20, "binary data"),
    "sheet.xlsx": (b"PK\x03\x04" + b"\0" * 50, "cannot be decompressed"),
    "broken.parquet": (b"PAR1" + b"\0" * 50, "damaged Parquet"),
    "broken.csv.gz": (b"\x1f\x8b\x08\0" + b"\1" * 30, "cannot be decompressed"),
    "ragged.csv": (b"a,kind\n1,x\n2,y,3\n", "Row 2"),
    "ragged_far.csv": (b"a,kind\n" + b"1,x\n" * 30_000 + b"2,y,3\n", "30002"),
    "twice.csv": (b"a,a,kind\n1,2,x\n3,4,y\n", "'a' twice"),
    "marks.csv": (b"d,kind\n" + b'1.5,x\n"2,5",y\n' * 5, "decimal points and with commas"),
    "infinite.csv": (b"a,kind\n" + b"1,x\ninf,y\n" * 5, "infinite"),
    "nothing_left.csv": (b"a,kind\n" + b"1,x\n1,y\n" * 5, "no column to learn from"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_get_one_line(commands, name):
    content, words = BAD[name]
    (commands.folder / name).write_bytes(content)
    result = commands.run("fit", name, "-t", "kind", "-m", "logistic", "-o", "bad.model")
    refused(result, words)
    assert not (commands.folder / "bad.model").exists()


def test_free_text_and_quantities_are_refused(commands):
    texts = [f"this is text number {k} of many" for k in range(60)]
    frame = pd.DataFrame({"t": texts, "n": np.arange(60) % 7, "kind": ["a", "b"] * 30})
    frame.to_csv(commands.folder / "texts.csv", index=False)
    refused(commands.run("compare", "texts.csv", "-t", "kind"), "free text")
    frame["n"] = np.random.default_rng(0).random(60)
    frame[["kind", "n"]].to_csv(commands.folder / "texts.csv", index=False)
    refused(commands.run("compare", "texts.csv", "-t", "n"), "looks like a quantity")


def test_bad_places_and_options(commands, model):
    (commands.folder / "folder").mkdir()
    run = commands.run
    refused(run("compare", "folder", "-t", "kind"), "is a directory")
    refused(run("predict", "folder", "plain.csv"), "is a directory")
    refused(run("compare", "nowhere.csv", "-t", "kind"), "no file 'nowhere.csv'")
    refused(run("compare", "plain.csv"), "--target")
    refused(run("compare", "plain.csv", "-t", "Art", "--time", "soon"), "--time")
    refused(run("compare", "plain.csv", "-t", "Art", "--methods", "PWC_SVMM"), "Did you mean")
    refused(run("compare", "plain.csv", "-t", "Art", "--drop", "farbe"), "'farbe'")
    refused(run("compare", "plain.csv", "-t", "Art", "--report", "no/where.html"), "no directory")
    refused(run("fit", "plain.csv", "-t", "Art", "-m", "boosting"), "cannot be kept")
    refused(run("fit", "plain.csv", "-t", "Art", "-o", "folder"), "is a directory")
    refused(
        run("predict", "plain.csv", "plain.csv"),
        "plain.csv: The file is not a polychotomy model file",
    )
    refused(run("predict", "nothing.model", "plain.csv"), "no model file")
    refused(run("predict", model, "plain.csv", "-o", "answers.xlsx"), ".parquet")
    refused(run("predict", "-", "-"), "both")


def test_files_that_may_not_be_read(commands, model, monkeypatch, capsys):
    secret = commands.folder / "secret.csv"
    secret.write_bytes(b"a,kind\n1,x\n")
    secret.chmod(0)
    if os.access(secret, os.R_OK):  # the superuser may read everything
        from pathlib import Path

        def refuse(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
        from polychotomy.cli import main

        assert main(["fit", str(secret), "-t", "kind"]) == 2
        text = capsys.readouterr().err
    else:
        result = commands.run("fit", secret, "-t", "kind")
        refused(result)
        text = result.err
    assert "permission denied" in text


def test_a_million_rows_in_bounded_memory(commands):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 1000)
    block = "".join(
        f"{k + u:.2f},c{k}\n" for k, u in zip(kind, rng.normal(0, 0.5, 1000), strict=True)
    )
    small, big = commands.folder / "small.csv", commands.folder / "big.csv"
    small.write_text("u,kind\n" + block)
    with big.open("w") as file:
        file.write("u,kind\n")
        for _ in range(1000):
            file.write(block)
    assert commands.run("fit", small, "-t", "kind", "-m", "logistic", "-o", "line.model").code == 0
    one = commands.run("predict", "line.model", small, "-o", "small.parquet")
    many = commands.run("predict", "line.model", big, "-o", "big.parquet")
    assert many.code == 0, many.err
    # All at once they would take 24 bytes for the numbers alone, and as much again for labels.
    assert many.kilobytes - one.kilobytes < 40_000
    import pyarrow.parquet

    assert pyarrow.parquet.ParquetFile(commands.folder / "big.parquet").metadata.num_rows == 10**6


def test_a_real_pipe(commands, model):
    """The reader of the output goes away: no traceback, and the program stops."""
    program = f"'{sys.executable}' -m polychotomy"
    pipe = f"cat plain.csv | {program} predict {model} - --labels-only | head -n 2"
    done = subprocess.run(
        ["sh", "-c", pipe], cwd=commands.folder, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines()[0] == "predicted"
    assert done.stderr == ""


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_the_page_in_a_browser(commands, tmp_path):
    wide = animals()
    wide.columns = ["id", "<b>Größe</b>", "Farbe", "noise", "Art"]
    wide.to_csv(commands.folder / "wide.csv", index=False)
    options = ("--methods", "PWC_PSVM,MWV_SVM", "--splits", "2", "--report", "page.html")
    made = commands.run("compare", "wide.csv", "-t", "Art", *options)
    assert made.code == 0, made.err
    page = commands.folder / "page.html"
    assert page.stat().st_size < 500_000
    with Browser(tmp_path) as browser:
        for width, dark in ((400, False), (1200, True)):
            browser.open(page, width=width, dark=dark)
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
            ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
            light = sum(int(part) for part in ground.strip("rgba() ").split(",")[:3])
            assert (light < 200) == dark
        assert browser.complaints == []
        assert browser.requests == [page.as_uri()] * 2
        sections = browser.evaluate("[...document.querySelectorAll('section[id]')].map(e => e.id)")
        wanted = ["ranking", "classes", "reliability", "confusion", "pairs", "inputs", "curve"]
        assert [name for name in sections if name in wanted] == wanted
        assert sections[-3:] == ["doubtful", "use", "notes"]
        # The script sorts, hides and picks, by buttons and boxes that the keyboard reaches.
        assert browser.evaluate(
            "(() => { const b = document.querySelectorAll('#ranking .sort')[2]; b.focus();"
            " b.click(); const sorted = b.parentElement.getAttribute('aria-sort');"
            " return [document.activeElement === b, sorted]; })()"
        ) == [True, "ascending"]
        assert (
            browser.evaluate(
                "(() => { const i = document.querySelector('#ranking input'); i.click();"
                " return document.querySelectorAll('#ranking tbody tr[hidden]').length; })()"
            )
            == 1
        )
        assert (
            browser.evaluate(
                "(() => { const s = document.querySelector('#classes select'); s.value = '1';"
                " s.dispatchEvent(new Event('change'));"
                " return document.querySelectorAll('#classes tbody tr:not([hidden])').length; })()"
            )
            == 1
        )
        # Of the matrix, the row of that class is left.
        shown = "document.querySelectorAll('#confusion .heat tbody tr:not([hidden])').length"
        assert browser.evaluate(shown) == 1
        # A class without any of the worst confusions is said to have none.
        said = browser.evaluate(
            "(() => { const s = document.querySelector('#classes select');"
            " const list = document.querySelector('#confusion table.sortable');"
            " for (const row of list.tBodies[0].rows) row.dataset.class = '0 2';"
            " return ['1', '2', ''].map(value => { s.value = value;"
            " s.dispatchEvent(new Event('change'));"
            " return document.querySelector('#confusion').innerText"
            ".includes('None of these is of this class.'); }); })()"
        )
        assert said == [True, False, False]
        assert browser.complaints == []
        # What scrolls can be reached by the keyboard.
        unreachable = browser.evaluate(
            "[...document.querySelectorAll('.scroll, pre')].filter(e => e.tabIndex < 0).length"
        )
        assert unreachable == 0
        assert browser.evaluate("document.querySelectorAll('td b, th b').length") == 0
        assert browser.evaluate("document.querySelectorAll('#reliability svg').length") == 4


LONG = (
    "a complaint about a delayed delivery to another country",
    "a_word_of_more_than_sixty_letters_without_any_space_between_them",
    "other",
)


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_long_names_and_narrow_screens(commands, tmp_path):
    """Pages do not scroll sideways; tables do, with a cue, and their figures are in sight."""
    random = np.random.default_rng(0)
    number = random.integers(0, 3, 90)
    frame = pd.DataFrame({"a column with a name of many words": number + random.normal(size=90)})
    frame["kind"] = np.array(LONG)[number]
    frame.to_csv(commands.folder / "long.csv", index=False)
    options = ("--methods", "PWC_PSVM,logistic", "--splits", "2", "--report", "long.html")
    assert commands.run("compare", "long.csv", "-t", "kind", *options).code == 0
    found = compare_methods(frame.iloc[:, :1], frame["kind"], ["logistic"], n_splits=2, n_jobs=1)
    facts = {"method": "logistic", "title": "logistic regression", "data": "long.csv", "rows": 90}
    facts |= {"classes": LONG, "target": "kind", "columns": [], "comparison": found.summary()}
    (commands.folder / "long-card.html").write_text(html_card(facts))
    with Browser(tmp_path) as browser:
        for name in ("long.html", "long-card.html"):
            browser.open(commands.folder / name, width=400)
            assert browser.evaluate("document.documentElement.scrollWidth") <= 400
            wide = browser.evaluate(
                "[...document.querySelectorAll('.scroll')]"
                ".filter(e => e.scrollWidth > e.clientWidth)"
                ".map(e => getComputedStyle(e).backgroundImage.includes('gradient'))"
            )
            assert wide
            assert all(wide)
            widest = browser.evaluate(
                "Math.max(...[...document.querySelectorAll('.scroll tr > :first-child')]"
                ".map(e => e.getBoundingClientRect().width))"
            )
            assert widest < 200
        assert browser.complaints == []


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_the_page_by_keyboard_and_without_script(commands, tmp_path):
    options = ("--methods", "PWC_PSVM,MWV_SVM", "--splits", "2", "--report", "keys.html")
    assert commands.run("compare", "plain.csv", "-t", "Art", *options).code == 0
    page = commands.folder / "keys.html"
    column = (
        "[...document.querySelectorAll('#ranking tbody tr')].map(row => row.cells[1].textContent)"
    )
    hidden = "[...document.querySelectorAll('#ranking tbody tr')].map(row => row.hidden)"
    focused = "document.activeElement.closest('#ranking th')?.cellIndex ?? -1"
    with Browser(tmp_path) as browser:
        browser.open(page)
        # The boxes come before the table.
        for _ in range(60):
            browser.press("Tab")
            if browser.evaluate("document.activeElement.type") == "checkbox":
                break
        browser.press(" ")
        assert browser.evaluate(hidden) == [True, False, False]
        browser.press(" ")
        assert browser.evaluate(hidden) == [False] * 3
        for _ in range(60):
            browser.press("Tab")
            if browser.evaluate(focused) == 1:
                break
        # MWV_SVM has no probabilities: it is last, in both directions.
        for _ in range(2):
            browser.press("Enter")
            figures = browser.evaluate(column)
            assert figures[-1] == ""
        assert float(figures[0]) > float(figures[1])
        # Every number of a chart is under the pointer: those of reliability, inputs and others.
        out_of_reach = browser.evaluate(
            "[...document.querySelectorAll('svg title')].map(e => e.parentElement).filter(e => {"
            " e.scrollIntoView({block: 'center'}); const box = e.getBoundingClientRect();"
            " const x = box.x + box.width / 2, y = box.y + box.height / 2;"
            " return !e.contains(document.elementFromPoint(x, y)); }).length"
        )
        assert out_of_reach == 0
        for name in ("ranking", "reliability", "inputs", "curve"):
            assert browser.evaluate(f"document.querySelectorAll('#{name} svg title').length") > 0
        browser.call("Emulation.setScriptExecutionDisabled", value=True)
        browser.open(page)
        assert browser.evaluate("document.querySelectorAll('.sort, input, select').length") == 0
        text = browser.evaluate("document.body.innerText")
        for words in ("PWC_PSVM", "Häse", "precision", "Which inputs matter", "Notes"):
            assert words in text
        assert browser.evaluate("document.querySelectorAll('[hidden], noscript').length") == 0
        assert browser.complaints == []


def test_a_wrong_option_points_to_the_help_of_its_command(commands):
    found = commands.run("compare", "plain.csv", "--taget", "Art")
    assert found.code == 2
    assert "Try 'polychotomy compare --help'." in found.err
    for options in (("--splits", "0"), ("--splits", "x"), ("--splits",), ()):
        found = commands.run("compare", *(("plain.csv", *options) if options else ()))
        refused(found)
        assert re.search(r"\w['\w)]*[.?] Try 'polychotomy( compare)? --help'\.$", found.err.strip())


def test_all_names_in_json_are_documented(commands):
    text = (DOCS / "tool.md").read_text(encoding="utf-8")
    table = text.partition("<!-- names of the figures -->")[2].partition("<!-- end -->")[0]
    documented = {
        name
        for line in table.strip().splitlines()[2:]
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    options = ("--methods", "PWC_PSVM,logistic", "--splits", "2", "--sets", "0.9", "--json")
    made = commands.run("compare", "plain.csv", "-t", "Art", *options)
    assert made.code == 0, made.err
    found = json.loads(made.out, parse_constant=pytest.fail)  # NaN is not JSON
    assert set(found) == documented
    for key in ("per_class", "importance", "learning_curve", "calibration", "worst_confusions"):
        assert found[key], key


def test_slices_are_in_json(commands):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"u": random.normal(size=240), "shop": ["north", "south"] * 120})
    lost = frame["shop"] == "south"
    frame["kind"] = np.where(np.where(lost, random.normal(size=240), frame["u"]) > 0, "a", "b")
    frame.to_csv(commands.folder / "shops.csv", index=False)
    options = ("--methods", "logistic", "--splits", "3", "--json")
    found = commands.run("compare", "shops.csv", "-t", "kind", *options).json
    worst = {(one["column"], one["where"]) for one in found["slices"]}
    assert ("shop", "south") in worst
    assert ("shop", "north") not in worst


def test_explain_shows_dates_as_dates(commands):
    days = pd.date_range("2023-01-30", periods=40).strftime("%d/%m/%Y")
    frame = pd.DataFrame({"day": days, "x": np.arange(40) % 7, "kind": ["a", "b"] * 20})
    frame["time"] = [f"{k % 24:02}:{k:02}" for k in range(40)]
    frame.to_csv(commands.folder / "days.csv", index=False)
    made = commands.run("fit", "days.csv", "-t", "kind", "-m", "logistic", "-o", "days.model")
    assert made.code == 0, made.err
    assert "Dates ('day'): used as year, month" in made.err
    assert "Times of day ('time'): used as hours." in made.err
    found = commands.run("explain", "days.model", "days.csv", "--row", "3")
    assert "day: 2023-02-01\n" in found.out
    assert "time: 02:02:00\n" in found.out


def test_the_page_shows_dates_as_dates(commands):
    random = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=160, freq="D")
    late = np.arange(160) >= 120
    frame = pd.DataFrame({"day": days.strftime("%d.%m.%Y"), "kind": np.where(late, "b", "a")})
    frame.loc[late, "kind"] = random.choice(["a", "b"], late.sum())
    frame["at"] = np.where(late, "07:", "19:") + np.char.mod("%02d", np.arange(160) % 60)
    frame.loc[[3, 130], ["day", "at"]] = ""
    frame.assign(u=random.normal(size=160)).to_csv(commands.folder / "days.csv", index=False)
    options = ("--methods", "PWC_PSVM,logistic", "--splits", "4", "--report", "days.html")
    made = commands.run("compare", "days.csv", "-t", "kind", *options)
    assert made.code == 0, made.err
    page = (commands.folder / "days.html").read_text(encoding="utf-8")
    doubtful = page[page.index('id="doubtful"') :]
    assert re.search(r"<td>2024-0\d-\d\d</td>", doubtful)
    assert re.search(r"2024-0\d-\d\d to 2024-0\d-\d\d", page[: page.index('id="doubtful"')])
    assert "e+09" not in page
    assert "NaT" not in page
    assert re.search(r"<td>07:\d\d:00</td>", doubtful)
    assert re.search(r"07:\d\d:00 to 07:\d\d:00", page[: page.index('id="doubtful"')])
    assert "1900-01-01" not in page


def test_the_list_of_commands_is_not_cut_off(commands):
    found = commands.run("--help")
    assert found.code == 0
    assert "Judge a model on labelled rows.\n" in found.out
    assert "...\n" not in found.out.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--rare", "skip"), "Unknown --rare 'skip'. Choose 'keep', 'drop' or 'merge'."),
        (("--groups", "id", "--order", "noise"), "--groups and --order do not go together"),
    ],
)
@pytest.mark.parametrize("command", [("compare",), ("fit", "-o", "never.model")])
def test_options_that_cannot_be_used_are_named_before_the_table_is_read(
    commands, command, options, words
):
    made = commands.run(*command, "plain.csv", "-t", "Art", *options)
    assert made.code == 2
    assert words in made.err
    assert len(made.err.splitlines()) == 1
    assert not (commands.folder / "never.model").exists()
