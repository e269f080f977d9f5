"""Warnings of what spoils a comparison: each is given where it should be, and not elsewhere."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from commands import options_of
from polychotomy.tables import TableError, TableSchema, read_table, table_of_frame, table_warnings

N = 300


def clean():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, N)
    return pd.DataFrame(
        {
            "width": kind + rng.normal(0, 0.8, N),
            "colour": np.array(["red", "green", "blue"])[(kind + (rng.random(N) < 0.3)) % 3],
            "kind": np.array(["fox", "hare", "owl"])[kind],
        }
    )


def warned(frame, **options):
    return table_warnings(table_of_frame(frame, "kind", **options))


def test_a_clean_table_has_none():
    assert warned(clean()) == ()
    iris = load_iris(as_frame=True).frame.rename(columns={"target": "kind"})
    iris["kind"] = np.array(["setosa", "versicolor", "virginica"])[iris["kind"]]
    assert not [text for text in warned(iris) if "alone tells" in text]


def leak_of_words(frame):
    return frame.assign(code=frame["kind"].str[:2])


def leak_of_numbers(frame):
    rng = np.random.default_rng(1)
    return frame.assign(code=frame["kind"].map({"fox": 5, "hare": 1, "owl": 9}) + rng.random(N))


def leak_of_gaps(frame):
    two = frame[frame["kind"] != "owl"]
    rng = np.random.default_rng(1)
    return two.assign(code=np.where(two["kind"] == "fox", np.nan, rng.normal(size=len(two))))


def leak_of_days(frame):
    day = frame["kind"].map({"fox": "2024-01-", "hare": "2024-02-", "owl": "2024-03-"})
    return frame.assign(code=day + [f"{k % 28 + 1:02}" for k in range(N)])


def test_a_column_that_names_what_rows_are_of_is_advised_for_groups():
    frame = clean()
    whose = np.random.default_rng(1).integers(0, 8, N)
    frame["patient"] = [
        f"P{kind[0]}{one:02d}" for kind, one in zip(frame["kind"], whose, strict=True)
    ]
    (text,) = warned(frame)
    assert text.startswith("Column 'patient' alone tells 'kind' in")
    assert "--drop patient; if rows with the same value belong together, --groups patient" in text
    # A value for each class is no name.
    (text,) = warned(leak_of_words(clean()))
    assert "--groups" not in text


@pytest.mark.parametrize("leak", [leak_of_words, leak_of_numbers, leak_of_gaps, leak_of_days])
def test_columns_that_tell_the_class(leak):
    (text,) = warned(leak(clean()))
    assert text.startswith("Column 'code' alone tells 'kind' in")
    assert "--drop code" in text


@pytest.mark.parametrize("leak", [leak_of_words, leak_of_numbers])
def test_a_leak_is_not_hidden_by_two_spellings_of_a_class(leak):
    frame = leak(clean())
    frame.loc[::5, "kind"] = frame.loc[::5, "kind"].str.upper()
    found = [text for text in warned(frame) if "alone tells" in text]
    assert len(found) == 1
    assert "'code' alone tells 'kind' in every row" in found[0]


def test_rows_that_occur_again():
    frame = clean()
    (text,) = warned(pd.concat([frame, frame[:20]]))
    assert text.startswith("20 rows occur again, class and all")
    table = table_of_frame(pd.concat([frame, frame[:20]], ignore_index=True), "kind", unique=True)
    assert len(table.y) == len(table.X) == len(table.rows) == N
    assert table.notes[-1] == "20 rows occur again, class and all: skipped."
    other = frame[:20].assign(kind=np.roll(frame["kind"][:20], 1))
    texts = warned(pd.concat([frame, other]))
    assert any("same inputs as another row, and another class" in text for text in texts)
    # A table of few values has many equal rows, and that is no mistake.
    assert warned(frame[["colour", "kind"]]) == ()


def test_numbers_that_may_mean_missing():
    frame = clean().assign(income=np.arange(N) * 7 % 211 * 10)
    assert warned(frame) == ()
    frame.loc[::20, "income"] = -999
    (text,) = warned(frame)
    assert "-999 in column 'income' (15 rows)" in text
    assert text.endswith("--missing -999.")
    assert warned(frame, missing=["-999"]) == ()


def test_spellings_of_a_class():
    frame = clean()
    frame.loc[:9, "kind"] = "Fox "
    frame.loc[10:19, "kind"] = "O_W-L"
    frame.loc[20:34, "kind"] = "o w l"
    # One letter, and a letter with an accent of its own.
    frame.loc[40:49, "kind"], frame.loc[50:59, "kind"] = "sa\u0300ni", "s\u00e0ni"
    first, second, third = warned(frame)
    assert "(10 rows) differ only in spelling" in third
    frame = frame.drop(index=range(40, 60))
    assert "'Fox' (10 rows) and 'fox'" in first
    assert "'O_W-L' (10 rows) and 'o w l' (15 rows)" in second
    table = table_of_frame(frame, "kind", merge_spellings=True)
    assert sorted(set(table.y)) == ["fox", "hare", "o w l", "owl"]
    assert TableSchema.from_dict(table.schema.to_dict()).true_labels(
        pd.Series(["FOX", "hare", "wolf"]), table.y
    ).tolist() == ["fox", "hare", "wolf"]


def test_a_target_of_numbers():
    rng = np.random.default_rng(0)
    frame = clean().assign(kind=rng.integers(1, 29, N))
    text = warned(frame)[0]
    assert "28 different numbers" in text
    assert "--bins 4" in text
    assert not any("numbers" in one for one in warned(frame, category=["kind"]))
    table = table_of_frame(frame, "kind", bins=4)
    labels, counts = np.unique(table.y, return_counts=True)
    assert len(labels) == 4
    assert counts.min() > N / 6
    assert labels[0].startswith("1: up to ")
    again = TableSchema.from_dict(table.schema.to_dict())
    assert again.true_labels(frame["kind"], labels).tolist() == table.y.tolist()


def test_a_quantity_is_cut_into_ranges():
    text = "n,kind\n" + "".join(f'{k % 7},"{k * 10.5:,.2f}"\n' for k in range(400))
    with pytest.raises(TableError, match=r"looks like a quantity.* --bins 4, .*--category kind"):
        read_table(io.BytesIO(text.encode()), "kind")
    table = read_table(io.BytesIO(text.encode()), "kind", bins=2)
    assert np.unique(table.y, return_counts=True)[1].tolist() == [200, 200]
    assert np.unique(table.y).tolist() == ["1: up to 2089.5", "2: over 2089.5"]
    with pytest.raises(TableError, match="'owl', which is not a number"):
        table_of_frame(clean(), "kind", bins=3)


def test_a_quantity_may_have_gaps():
    frame = clean().assign(kind=[f"{value:.4f}" for value in clean()["width"]])
    frame.loc[[3, 7], "kind"] = ["n/a", "?"]
    with pytest.raises(TableError, match=r"298 different numbers, .* --bins 4"):
        table_of_frame(frame, "kind")
    table = table_of_frame(frame, "kind", bins=4)
    assert len(table.y) == N - 2
    assert "2 rows have no 'kind': skipped." in table.notes
    frame.loc[9, "kind"] = "broken"
    with pytest.raises(TableError, match=r"'broken', which is not a number.* field empty"):
        table_of_frame(frame, "kind", bins=4)


def test_many_numbers_can_be_classes():
    frame = pd.DataFrame({"n": np.arange(5000) % 17 / 3, "kind": np.arange(5000) % 300})
    assert len(np.unique(table_of_frame(frame, "kind").y)) == 300


def test_classes_with_few_rows():
    frame = clean()
    frame.loc[:3, "kind"] = "newt"
    (text,) = warned(frame)
    assert "'newt' (4 rows)" in text
    frame.loc[4, "kind"] = "toad"
    (text,) = warned(frame)
    assert "'toad' (1 row)" in text
    assert "--rare merge" in text


def test_every_option_that_a_warning_names_exists():
    frame = leak_of_words(clean())
    frame.loc[0, "kind"] = "Fox"
    frame = pd.concat([frame, frame[:20]])
    texts = [*warned(frame), *warned(clean().assign(kind=np.arange(N) % 40))]
    named = {name for text in texts for name in re.findall(r"--[a-z-]+", text)}
    assert named >= {"--drop", "--unique", "--merge-spellings", "--bins", "--category", "--rare"}
    assert named <= options_of("compare")


@pytest.mark.parametrize(("rows", "advised"), [(3, True), (6, False)])
def test_rare_is_advised_where_it_changes_something(rows, advised):
    frame = clean()
    frame.loc[: rows - 1, "kind"] = "lynx"
    (text,) = [one for one in warned(frame) if "Too few rows to judge" in one]
    assert ("--rare" in text) == advised
