"""Reading tables and finding out what their columns hold."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import polychotomy
from polychotomy.tables import (
    Column,
    TableError,
    TableSchema,
    check_classes,
    infer_column,
    matched_pieces,
    open_table,
    read_table,
    table_of_frame,
    whole_file,
)


def read(text, target="kind", encoding="utf-8", **options):
    return read_table(io.BytesIO(text.encode(encoding)), target, **options)


def is_utf8(data):
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


names = st.text(st.characters(codec="cp1252", exclude_categories=["C"]), min_size=1, max_size=8)
words = st.sampled_from(["röt", "a,b", "x;y", 'say "no"', "two words", "tab\tbed", "-", "0x"])


@settings(max_examples=15, deadline=None)
@example("Â", [("-", 0.0)] * 4, ",", "cp1252", False)
@given(
    names.map(str.strip).filter(lambda name: name and name not in ("n", "kind")),
    st.lists(st.tuples(words, st.floats(-1e6, 1e6)), min_size=4, max_size=8),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    st.booleans(),
)
def test_what_is_written_is_read(name, rows, separator, encoding, comma):
    frame = pd.DataFrame(rows, columns=[name, "n"])
    frame["n"] = frame["n"].round(3) + 0.5
    frame["kind"] = ["a", "b"] * (len(rows) // 2) + ["a"] * (len(rows) % 2)
    decimal = "," if comma and separator != "," else "."
    text = frame.to_csv(index=False, sep=separator, decimal=decimal, quoting=2)
    # Two letters of cp1252 may be the bytes of one in UTF-8: nobody can tell.
    assume(encoding != "cp1252" or not is_utf8(text.encode("cp1252")) or text.isascii())
    with open_table(io.BytesIO(text.encode(encoding))) as file:
        assert file.names == (name, "n", "kind")
        found = file.read()
        assert file.dialect.separator == separator
    assert found[name].tolist() == frame[name].tolist()
    schema = TableSchema("kind", (Column("n", "number"),))
    matched, _ = schema.matched(found, file.dialect.decimal)
    assert np.allclose(matched["n"], frame["n"])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2.5", "-3e2", None], "number"),
        ([1, 2, 2], "number"),
        ([1.5, np.nan, 2.0], "number"),
        (["yes", "no", "yes"], "category"),
        ([True, False, True], "category"),
        (["1", "2", "b"], "category"),
        (pd.Categorical(["u", "v", "u"]), "category"),
        ([None, None, None], "left out"),
        (["x", "x", "x"], "left out"),
        ([7, 7, 7], "left out"),
        (["x", None, "x"], "category"),
        (["2024-05-17", "2024-05-18"], "date"),
        (["17.5.2024", "18.5.2024", None], "date"),
        (["5/17/24 10:00", "5/18/24 11:00"], "date"),
        (pd.date_range("2024-01-01", periods=3), "date"),
        (pd.to_timedelta([1, 2], "D"), "number"),
        ([f"w{k // 2}" for k in range(3000)], "category"),
    ],
)
def test_types(values, kind):
    assert infer_column(pd.Series(values, name="c")).kind == kind


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("id", np.random.default_rng(0).permutation(900)[:30], "left out"),
        ("customerId", np.arange(30) * 7, "left out"),
        ("weight", np.arange(30) * 7, "number"),
        ("weight", np.arange(30)[::-1], "left out"),
        ("id", np.arange(30) % 5, "number"),
        ("id", np.arange(30) / 7, "number"),
        ("name", [f"K{k}" for k in range(30)], "left out"),
        ("idle", np.arange(30) * 7, "number"),
    ],
)
def test_identifiers_are_pointed_out(name, values, kind):
    column = infer_column(pd.Series(values, name=name))
    assert column.kind == kind
    assert (column.note is not None) == (kind == "left out")
    if name != "name":
        assert infer_column(pd.Series(values, name=name), keep=True).kind == "number"


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([[1, 2], [3]], "list objects"),
        ([1.0, np.inf], "infinite"),
        ([f"a text of many words, {k}" for k in range(60)], "free text"),
        ([*(f"{k}.5" for k in range(30)), "n.a"], "'n.a' in row 31"),
    ],
)
def test_what_cannot_be_used_gets_a_sentence(values, word):
    with pytest.raises(TableError, match=word) as error:
        infer_column(pd.Series(values, name="c"))
    assert "'c'" in str(error.value)


def test_numbers_that_look_like_dates_are_numbers():
    assert infer_column(pd.Series(["20240517", "20240518", "20240518"], name="c")).kind == "number"
    assert infer_column(pd.Series(["1.5", "2.12", "2.12"], name="c")).kind == "number"


def test_labels_keep_their_form():
    assert read("a,kind\n1,01\n2,02\n3,01\n").y.tolist() == ["01", "02", "01"]
    assert read("a,kind\n1,1\n2,2\n3,1\n").y.tolist() == [1, 2, 1]
    frame = pd.DataFrame({"a": [1, 2, 5], "kind": [1.0, np.nan, 2.0]})
    table = table_of_frame(frame, "kind")
    assert table.y.tolist() == [1, 2]
    assert table.rows.tolist() == [1, 3]
    assert "no 'kind'" in table.notes[0]


def test_options():
    text = "a,b,kind\n" + "".join(f"{k},{k % 3},{'xy'[k % 2]}\n" for k in range(20))
    assert read(text).schema.names == ["b"]
    assert read(text, keep=["a"]).schema.names == ["a", "b"]
    assert read(text, keep=["a"], drop=["b"]).schema.names == ["a"]
    assert read(text, category=["b"]).schema.columns[0].categories == ("0", "1", "2")
    with pytest.raises(TableError, match="drop names 'c'"):
        read(text, drop=["c"])


def test_preprocessing_fills_scales_and_encodes():
    table = read("u,v,kind\n1,r,x\n3,,y\n,s,x\n8,r,y\n", "kind")
    X = table.schema.preprocessor().fit_transform(table.X)
    filled = np.array([1.0, 3.0, 3.0, 8.0])
    assert np.allclose(X[:, 0], (filled - filled.mean()) / filled.std())
    assert X[:, 1:].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_a_category_that_is_new_counts_as_none():
    table = read("u,v,kind\n1,r,x\n3,t,y\n2,s,x\n8,r,y\n", "kind")
    before = table.schema.preprocessor().fit(table.X)
    frame, unseen = table.schema.matched(pd.DataFrame({"v": ["q"], "u": [1], "more": [2]}))
    assert unseen == {"v": ["q"]}
    assert before.transform(frame)[0, 1:].tolist() == [0, 0, 0]


def test_the_schema_survives_its_file():
    table = read("u,v,kind\n1,r,x\n3,,y\n,s,x\n8,r,y\n", "kind")
    again = TableSchema.from_dict(table.schema.to_dict())
    assert again.names == table.schema.names
    assert again.columns[1].categories == ("r", "s")
    for bad in (None, {}, {"target": "a", "columns": [{"name": 1}]}, {"target": "a", "columns": 3}):
        with pytest.raises(TableError, match="which columns"):
            TableSchema.from_dict(bad)


def test_a_pipeline_with_the_preprocessor_can_be_saved():
    table = read("u,v,kind\n" + "1,r,x\n3,,y\n,s,x\n8,r,y\n" * 3, "kind")
    model = make_pipeline(table.schema.preprocessor(), LogisticRegression()).fit(table.X, table.y)
    file = io.BytesIO()
    polychotomy.save(model, file)
    file.seek(0)
    assert np.array_equal(
        polychotomy.load(file).predict_proba(table.X), model.predict_proba(table.X)
    )


def test_pieces_are_the_whole():
    text = "u,v,kind\n" + "".join(f"{k / 3:.4f},{'rst'[k % 3]},x\n" for k in range(50))
    schema = TableSchema("kind", (Column("v", "category", ("r", "s")), Column("u", "number")))
    found = {}
    for rows in (7, 100):
        with open_table(io.BytesIO(text.encode())) as file:
            pieces = list(matched_pieces(file, schema, ["kind"], rows))
        found[rows] = pd.concat([matched for matched, _, _ in pieces], ignore_index=True)
        assert pieces[0][1] == {"v": ["t"]}
    pd.testing.assert_frame_equal(found[7], found[100])


def test_classes_that_cannot_be_learnt():
    with pytest.raises(TableError, match="only one class, 3"):
        check_classes(np.array([3, 3]), "kind")
    with pytest.raises(TableError, match="Class 'b' has 1 row"):
        check_classes(np.array(["a", "b", "a"]), "kind")


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("before")

    def fail():
        with whole_file(path) as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["out.csv"]


# Long lines.


def wide(n_columns, n_rows, name="inner band {}"):
    lines = [",".join([name.format(i) for i in range(n_columns)] + ["kind"])]
    for row in range(n_rows):
        values = [f"{(i * 7 + row * 13) % 101}.5" for i in range(n_columns)]
        lines.append(",".join([*values, "ab"[row % 2]]))
    return "\n".join(lines) + "\n"


def test_a_table_with_many_columns_is_read():
    name = "the inner band number {} of the sensor that has many of them"
    text = wide(5_000, 10, name)
    assert text.index("\n") > 1 << 18
    narrow = read(text, drop=[name.format(i) for i in range(100, 5_000)])
    assert narrow.X.shape == (10, 100)
    with open_table(io.BytesIO(text.encode())) as file:
        whole = file.read()
    assert whole.shape == (10, 5_001)
    assert whole[name.format(4_999)][9] == (4_999 * 7 + 9 * 13) % 101 + 0.5
    table = read(wide(4_500, 10, "a longer name for number {}"))
    assert table.X.shape == (10, 4_500)
    np.testing.assert_array_equal(table.X.iloc[1], (np.arange(4_500) * 7 + 13) % 101 + 0.5)


def test_a_wide_table_has_its_own_separator_and_decimal_point():
    text = wide(6_000, 4).replace(",", ";").replace(".5", ",5")
    with open_table(io.BytesIO(text.encode())) as file:
        assert (file.dialect.separator, file.dialect.decimal) == (";", ",")


def test_a_long_field_is_no_end_of_the_table():
    text = "n,text,kind\n" + "".join(f"{i / 3},{'x' * 200_000},{'ab'[i % 2]}\n" for i in range(4))
    assert read(text, drop=["text"]).X.shape == (4, 1)


@pytest.mark.parametrize("start", ["", "a,b,kind\n"])
def test_a_file_without_lines_gets_a_sentence(monkeypatch, start):
    class Counted(io.BytesIO):
        def read(self, size=-1, /):
            assert 0 <= size <= 1 << 20
            return super().read(size)

    monkeypatch.setattr("polychotomy.tables._dialect.MOST_LOOKED_AT", 1 << 18)
    file = Counted(start.encode() + b"1.5," * (1 << 20))
    with pytest.raises(TableError, match=r"no two lines in its first 262,144 characters; give a"):
        read_table(file, "kind")


def test_lines_as_on_old_macs():
    assert read("a,kind\r0.5,x\r1.5,y\r4.0,x\r").X["a"].tolist() == [0.5, 1.5, 4.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Report,,\n,,\na,b,kind\n1,2,x\n", "in a line further down"),
        ("# a comment\na,kind\n1,x\n", r"\('# a comment'\) has one field"),
        ("a kind\n1 x\n2 y\n", "separate columns by commas"),
    ],
)
def test_lines_above_the_header_get_a_sentence(text, words):
    with pytest.raises(TableError, match=words):
        read(text)


def test_spaces_around_classes_are_mentioned():
    table = read("a,kind\n1,x\n2,y\n4,x \n8,y\n")
    assert table.y.tolist() == list("xyxy")
    assert table.notes[0].startswith("Spaces around the classes in 'kind' were removed")


def test_a_cut_second_line_of_a_short_file_is_read():
    assert read("a,kind\n" + "\n".join(f"{i / 3},{'ab'[i % 2]}" for i in range(4))).X.shape == (
        4,
        1,
    )


# Parquet.


def parquet(frame):
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


def test_a_damaged_parquet_file_gets_a_sentence():
    rng = np.random.default_rng(0)
    letters = np.array(["a", "b", "c"])
    whole = parquet(
        pd.DataFrame(
            {"n": rng.normal(size=30), "word": letters[np.arange(30) % 3], "kind": ["a", "b"] * 15}
        )
    )
    sentences = []
    for _ in range(250):
        damaged = bytearray(whole)
        for at in rng.integers(len(whole), size=rng.choice([1, 1, 3])):
            damaged[at] = rng.integers(256)
        try:
            read_table(io.BytesIO(damaged), "kind")
        except TableError as error:
            sentences.append(str(error))
    assert len(sentences) > 100
    assert all(len(sentence.splitlines()) == 1 for sentence in sentences)


def test_parquet_columns_have_the_names_that_the_file_has():
    frame = pd.DataFrame({0: [0.5, 1.5, 2.0, 4.0], "kind": list("abab")}, index=[3, 1, 4, 2])
    table = read_table(io.BytesIO(parquet(frame.rename(columns=str))), "kind")
    assert list(table.X) == ["0"]
    named = frame.rename(columns=str).set_index("kind")
    assert read_table(io.BytesIO(parquet(named)), "kind").y.tolist() == list("abab")


@pytest.mark.parametrize("most_rows", [0, -3, 2.5, True])
def test_a_number_of_rows_is_checked(most_rows):
    with pytest.raises(ValueError, match="most_rows must be a whole number of at least 1"):
        read_table(io.BytesIO(b"a,kind\n1,x\n2,y\n"), "kind", most_rows=most_rows)


@pytest.mark.parametrize("rows", [3, 20_000])
@pytest.mark.parametrize("packed", [False, True])
def test_the_line_with_another_encoding_is_named(rows, packed):
    # With 20,000 rows, the line is behind those that are looked at to find the format.
    content = "\ufeffn;kind\n" + "1;größer\n2;kleiner\n" * rows
    content = content.encode() + b"5 \x80;\xdf\n"
    file = io.BytesIO(gzip.compress(content, 1) if packed else content)
    line = f"begins as utf-8, but line {2 * rows + 2} has the byte 0x80, .* save the file as UTF-8"
    with pytest.raises(TableError, match=f"mixes several encodings: it {line}"):
        read_table(file, "kind")
