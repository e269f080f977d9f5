"""Large tables: fitted piece by piece, and predicted piece by piece."""

import numpy as np
import pandas as pd
import pytest

import polychotomy
from polychotomy.blocks.first_reading import hashed
from polychotomy.cli import _streaming, comparisons, main
from polychotomy.execution.deadline import Clock
from polychotomy.persistence import describe
from polychotomy.tables import _sample, _streamed, _table, read_table, stream_table
from polychotomy.tables._streamed import n_fields


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(_streamed, "LARGE", 1000)
    monkeypatch.setattr(_streamed, "TYPED_ROWS", 200)
    monkeypatch.setattr(_streamed, "BYTES_A_FIELD", 1)
    monkeypatch.setattr(_streaming, "LANDMARKS", (40, 20))
    monkeypatch.setattr(_streaming, "SMALL", 0)
    monkeypatch.setattr(_streamed, "PIECE_ROWS", 130)


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    number = random.integers(0, 3, 900)
    kinds = np.array(["cat", "dog", "owl"])[number].astype(object)
    kinds[[5, 700]] = None
    width = random.normal(size=900) + 2.0 * number
    width[10] = np.nan
    colour = np.where(random.random(900) < 0.6, np.array(["red", "blue", "green"])[number], "red")
    return pd.DataFrame(
        {
            "width": width,
            "height": random.normal(size=900) - number,
            "colour": colour,
            "weight": random.uniform(0.5, 2.0, 900),
            "kind": kinds,
        }
    )


def test_fit_and_predict(frame, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    frame.to_parquet("big.parquet", row_group_size=250)
    assert n_fields("big.parquet") == 4500
    shared = ["--target", "kind", "--weights", "weight", "--time", "none"]
    assert main(["fit", "big.parquet", *shared, "-o", "a.model"]) == 0
    said = capfd.readouterr().err
    assert "is large and is not read whole: its columns were looked at in" in said
    assert "wrote a.model: LS-SVM with 40 landmarks, 898 rows, 3 classes." in said
    about = describe("a.model")
    assert about["metadata"]["rows"] == 898
    assert about["classes"] == ["cat", "dog", "owl"]
    assert main(["predict", "a.model", "big.parquet", "-o", "answers.csv"]) == 0
    answers = pd.read_csv("answers.csv")
    here = frame["kind"].notna()
    assert (answers["predicted"] == frame["kind"])[here].mean() > 0.85
    # The same rows and pieces give the same model, whatever the format.
    frame.to_csv("big.csv", index=False)
    assert main(["fit", "big.csv", *shared, "-o", "b.model"]) == 0
    X = frame.drop(columns=["kind", "weight"])[here]
    p = polychotomy.load("a.model").predict_proba(X)
    np.testing.assert_allclose(polychotomy.load("b.model").predict_proba(X), p, atol=1e-6)


def test_it_is_the_pipe_on_the_encoded_rows(frame, tmp_path):
    frame.to_parquet(tmp_path / "big.parquet")
    table = stream_table(str(tmp_path / "big.parquet"), "kind", drop=["weight"])
    assert len(table.sample.y) <= 200
    assert [column.kind for column in table.schema.columns] == ["number", "number", "category"]
    here = frame["kind"].notna().to_numpy()
    expected = table.encoder.transform(frame[["width", "height", "colour"]][here])
    blocks = list(table.rows().blocks())
    np.testing.assert_allclose(np.concatenate([b.X for b in blocks]), expected, atol=1e-6)
    assert np.concatenate([b.y for b in blocks]).tolist() == frame["kind"][here].tolist()


def test_landmarks_as_many_as_there_is_time_for():
    assert _streaming._n_landmarks(Clock(None), 10**9, 1e6) == 40
    assert _streaming._n_landmarks(Clock(100.0), 1000, 0.1) == 40
    assert _streaming._n_landmarks(Clock(100.0), 1000, 99.0) == 20
    assert _streaming._n_landmarks(Clock(60.0), 2 * 10**9, 0.1) == 20


def test_a_named_method_reads_the_table_whole(frame, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    frame[:120].to_parquet("big.parquet")
    arguments = ["fit", "big.parquet", "-t", "kind", "-m", "PWC_PSVM", "--drop", "weight"]
    monkeypatch.setattr(_streamed, "LARGE", 100)
    assert main(arguments) == 0
    assert "not read whole" not in capfd.readouterr().err


def test_what_the_sample_does_not_show_is_named(frame, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    wide = frame.drop(columns="weight").assign(kind=np.arange(900) % 3)
    drawn = set(np.argsort(hashed(np.arange(900)))[:210].tolist())
    row = next(row for row in range(600, 900) if row not in drawn)
    wrong = wide.astype({"width": object, "kind": object})
    wrong.loc[row, "width"] = "broad"
    wrong.to_csv("big.csv", index=False)
    assert main(["fit", "big.csv", "-t", "kind"]) == 2
    assert f"has 'broad' in column 'width', row {row + 1}, where" in capfd.readouterr().err
    wrong = wide.astype({"kind": object})
    wrong.loc[row, "kind"] = "x"
    wrong.to_csv("big.csv", index=False)
    assert main(["fit", "big.csv", "-t", "kind"]) == 2
    said = capfd.readouterr().err
    assert f"has the class 'x' in row {row + 1}, but the classes of the rows" in said
    assert main(["fit", "big.csv", "-t", "species"]) == 2
    assert "has no column 'species'" in capfd.readouterr().err


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_sample_of_a_table_is_some_of_its_rows(frame, tmp_path, form):
    path = str(tmp_path / f"big.{form}")
    getattr(frame, f"to_{form}")(path, index=False)
    whole, some = read_table(path, "kind"), read_table(path, "kind", most_rows=200)
    assert "200 of its 900 rows, drawn at random" in some.notes[0]
    # Those with the smallest hashes, in their order; rows without a class are skipped afterwards.
    near = np.sort(np.argsort(hashed(np.arange(900)))[:200])
    near = near[frame["kind"].notna()[near]]
    assert some.rows.tolist() == (near + 1).tolist()
    at = np.searchsorted(whole.rows, some.rows)
    pd.testing.assert_frame_equal(some.X, whole.X.iloc[at].reset_index(drop=True))
    assert some.y.tolist() == whole.y[at].tolist()
    # A table with fewer rows is read whole, and nothing is said.
    assert read_table(path, "kind", most_rows=900).notes == whole.notes


def test_a_sample_of_what_there_was_time_to_read(frame, tmp_path, monkeypatch):
    frame.to_parquet(tmp_path / "big.parquet")
    monkeypatch.setattr(_table, "PIECE_ROWS", 130)
    some = read_table(str(tmp_path / "big.parquet"), "kind", most_rows=100, until=0.0)
    assert "100 of its first 130 rows, drawn at random" in some.notes[0]
    assert "--time" in some.notes[0]
    assert some.rows.max() <= 130


def test_a_sample_of_a_column_that_turns_out_to_be_words(frame, tmp_path):
    mixed = frame.astype({"width": object})
    mixed.loc[895, "width"] = "1.5 kg"
    mixed.to_csv(tmp_path / "big.csv", index=False)
    table = read_table(str(tmp_path / "big.csv"), "kind", most_rows=899)
    assert table.X["width"].dtype.kind == "f"
    assert table.X["width"].to_numpy()[table.rows == 896] == 1.5


@pytest.mark.parametrize("decimal", [".", ","])
def test_reading_does_not_begin_again_without_time(tmp_path, monkeypatch, decimal):
    """Sorted by class, with a word in the third piece of four: all that was read is kept."""
    width = pd.Series(np.arange(520) / 4 + 0.25)
    words = width.astype(str).str.replace(".", decimal)
    words[300] = f"1{decimal}5 kg"
    height, kind = np.arange(520) % 50, np.repeat([*"abcd"], 130)
    wide = pd.DataFrame({"width": words, "height": height, "kind": kind})
    wide.to_csv(tmp_path / "big.csv", index=False, sep=";")
    monkeypatch.setattr(_table, "PIECE_ROWS", 130)

    def read(times, until):
        times = iter(times)
        monkeypatch.setattr(_sample, "perf_counter", lambda: next(times))
        return read_table(str(tmp_path / "big.csv"), "kind", most_rows=520, until=until)

    # Time is up after the third piece, which is kept; or three pieces more would take too long.
    some = read([0, 1, 2, 9], until=5)
    assert "390 of its first 390 rows" in some.notes[1]
    whole = read([0, 1, 2, 3, 4], until=5)
    again = read([0, 1, 2, 3, *range(3, 8)], until=10)
    expected = width.to_numpy().copy()
    expected[300] = 1.5
    for table, n_rows in ((some, 390), (whole, 520), (again, 520)):
        assert table.y.tolist() == kind[:n_rows].tolist()
        assert table.X["width"].tolist() == expected[:n_rows].tolist()
        assert table.X["height"].tolist() == height[:n_rows].tolist()


@pytest.mark.parametrize("piece_rows", [130, 2000])
def test_a_sample_keeps_rows_of_rare_classes(tmp_path, monkeypatch, piece_rows):
    kinds = np.array(["cat", "dog"])[np.arange(2000) % 2].astype(object)
    kinds[40::70], kinds[[7, 1900]], kinds[3] = "owl", "yak", None
    pd.DataFrame({"x": np.arange(2000) % 77, "kind": kinds}).to_parquet(tmp_path / "big.parquet")
    monkeypatch.setattr(_table, "PIECE_ROWS", piece_rows)
    table = read_table(str(tmp_path / "big.parquet"), "kind", most_rows=200)
    order = np.argsort(hashed(np.arange(2000)))
    first = set(order[:200].tolist())
    expected = first | {7, 1900} | set([row for row in order if kinds[row] == "owl"][:20])
    assert table.rows.tolist() == sorted(row + 1 for row in expected if kinds[row])
    assert table.y.tolist() == [kinds[row - 1] for row in table.rows]
    said = f"200 of its 2,000 rows, drawn at random, and {len(expected - first)} more so that"
    assert said in table.notes[0]
    # Rows of each of so many classes would be too many.
    table = read_table(str(tmp_path / "big.parquet"), "kind", most_rows=100)
    assert table.rows.tolist() == sorted(row + 1 for row in order[:100].tolist() if kinds[row])
    assert "rare ones have few rows here, or none" in table.notes[0]


def test_compare_draws_rows_of_a_large_table(frame, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparisons, "MOST_ROWS", 120)
    frame.to_parquet("big.parquet", row_group_size=250)
    arguments = ["compare", "big.parquet", "-t", "kind", "--methods", "logistic", "--splits", "1"]
    assert main(arguments) == 0
    assert "big.parquet is large: 120 of its 900 rows" in capfd.readouterr().err
