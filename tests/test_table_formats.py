"""Tables in all formats that people have them in."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

from polychotomy.tables import TableError, matched_pieces, open_table, read_table

ROWS = 40


def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "width": rng.normal(size=ROWS).round(3),
            "colour": np.array(["red", "NA", "blue"])[np.arange(ROWS) % 3],
            "kind": np.array(["None", "b"])[np.arange(ROWS) % 2],
        }
    )


def zipped(content, *names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, content)
    return file.getvalue()


CSV = table().to_csv(index=False).encode()
LINES = table().to_json(orient="records", lines=True).encode()


def feather(frame):
    file = io.BytesIO()
    frame.to_feather(file)
    return file.getvalue()


def excel(frame, **more):
    file = io.BytesIO()
    with pd.ExcelWriter(file) as writer:
        frame.to_excel(writer, sheet_name="data", index=False)
        for name, other in more.items():
            other.to_excel(writer, sheet_name=name, index=False)
    return file.getvalue()


FORMS = {
    "csv": CSV,
    "separator line": b"\xef\xbb\xbfsep=;\r\n" + table().to_csv(index=False, sep=";").encode(),
    "quoted separator line": b'"SEP=\t"\n' + table().to_csv(index=False, sep="\t").encode(),
    "gzip": gzip.compress(CSV),
    "bz2": bz2.compress(CSV),
    "xz": lzma.compress(CSV),
    "zip": zipped(CSV, "data/export.csv", "__MACOSX/._export.csv"),
    "json lines": LINES,
    "packed json lines": gzip.compress(LINES),
    "feather": feather(table()),
    "excel": excel(table()),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_formats_hold_the_same(form):
    found = read_table(io.BytesIO(FORMS[form]), "kind")
    wanted = read_table(io.BytesIO(CSV), "kind")
    pd.testing.assert_frame_equal(found.X, wanted.X)
    assert found.y.tolist() == wanted.y.tolist() == table()["kind"].tolist()
    assert found.schema.columns == wanted.schema.columns
    with open_table(io.BytesIO(FORMS[form])) as file:
        pieces = [piece for piece, _, _ in matched_pieces(file, wanted.schema, rows=7)]
    assert len(pieces) > 4
    pd.testing.assert_frame_equal(pd.concat(pieces, ignore_index=True), wanted.X)


def test_parquet_files_in_a_folder_are_one_table(tmp_path):
    table()[:15].to_parquet(tmp_path / "part-0.parquet")
    table()[15:].to_parquet(tmp_path / "part-1.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    wanted = read_table(io.BytesIO(CSV), "kind")
    for source in (tmp_path, str(tmp_path / "*.parquet"), str(tmp_path / "part-[0-9].parquet")):
        pd.testing.assert_frame_equal(read_table(source, "kind").X, wanted.X)
    table().rename(columns={"width": "Width"}).to_parquet(tmp_path / "part-2.parquet")
    with pytest.raises(TableError, match="The column 'Width' is not in all Parquet files"):
        read_table(tmp_path, "kind")


def test_folders_that_stand_for_columns(tmp_path):
    for year, part in ((2023, table()[:15]), (2024, table()[15:])):
        (tmp_path / f"year={year}").mkdir()
        part.to_parquet(tmp_path / f"year={year}" / "0.parquet")
    found = read_table(tmp_path, "kind")
    assert found.X["year"].tolist() == [2023] * 15 + [2024] * 25


def test_other_sheets_are_mentioned():
    more = pd.DataFrame({"a": [1]})
    found = read_table(io.BytesIO(excel(table(), second=more, third=more)), "kind")
    assert "Read the sheet 'data', not 'second' and 'third'" in found.notes[0]


BAD = {
    "two files": (zipped(CSV, "a.csv", "b.csv"), "an archive of 2 files"),
    "no files": (zipped(CSV), "cannot be|an archive of 0 files|binary"),
    "list": (b'[{"a": 1}]', "is a JSON list; write one object per line"),
    "page": (b"<!DOCTYPE html><html>", "a web page"),
    "old excel": (b"\xd0\xcf\x11\xe0" + b"\0" * 50, r"an old Excel file \(.xls\)"),
    "half excel": (excel(table())[:-300], "cannot be decompressed"),
    "half xz": (lzma.compress(CSV)[:-40], "cannot be decompressed"),
    "half bz2": (bz2.compress(CSV)[:-40], "cannot be decompressed"),
    "half feather": (feather(table())[:-300], "a damaged Feather file"),
    "bad line": (LINES + b"{'a'\n", f"Line {ROWS + 1} of The file is not JSON"),
    "no object": (LINES + b"3\n", f"Line {ROWS + 1} of The file is not a JSON object"),
    "lists": (b'{"a": [1], "kind": "x"}\n{"a": [2], "kind": "y"}\n', "'a' holds list objects"),
    "packed parquet": (gzip.compress(b"PAR1" + b"\0" * 9), "decompress it first"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_get_a_sentence(name):
    content, words = BAD[name]
    with pytest.raises(TableError, match=words) as error:
        read_table(io.BytesIO(content), "kind")
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "address", ["https://example.org/a.csv", "s3://bucket/a.parquet", "file:///tmp/a.csv"]
)
def test_addresses_are_refused(address):
    with pytest.raises(TableError, match="download the file and give its path"):
        read_table(address, "kind")


def test_a_separator_line_decides(tmp_path):
    # Without it, the commas of the texts would separate columns.
    lines = [f"{k % 7},5, or so;{'ab'[k % 2]}" for k in range(20)]
    found = read_table(io.BytesIO("\n".join(["sep=;", "n, roughly;kind", *lines]).encode()), "kind")
    assert found.schema.names == ["n, roughly"]
    assert len(found.y) == 20
    with pytest.raises(TableError, match="is empty"):
        read_table(io.BytesIO(b"sep=;\n"), "kind")


def test_a_title_above_the_header_of_an_excel_sheet_is_named():
    whole = pd.DataFrame([*[["Animals of 2024", "", ""]], list(table()), *table().to_numpy()])
    file = io.BytesIO()
    whole.to_excel(file, index=False, header=False)
    with pytest.raises(TableError, match=r"'kind' in a line further down.* remove the lines above"):
        read_table(file, "kind")


def test_folders_and_patterns_without_parquet(tmp_path):
    with pytest.raises(TableError, match="directory without Parquet"):
        read_table(tmp_path, "kind")
    (tmp_path / "a.csv").write_bytes(CSV)
    with pytest.raises(TableError, match=r"fits 1 file, and '.*a\.csv' is not a Parquet file"):
        read_table(str(tmp_path / "*.csv"), "kind")
    with pytest.raises(TableError, match="There is no file"):
        read_table(str(tmp_path / "*.tsv"), "kind")
    (tmp_path / "b.csv").write_bytes(CSV)
    with pytest.raises(TableError, match=r"fits 2 files, and '.*a\.csv' is not a Parquet file"):
        read_table(str(tmp_path / "*.csv"), "kind")
    odd = tmp_path / "odd[1].csv"
    odd.write_bytes(CSV)
    assert len(read_table(str(odd), "kind").y) == ROWS


@pytest.mark.parametrize("missing", [False, True])
def test_excel_texts_of_digits_are_words_and_its_numbers_and_dates_are_not(missing):
    frame = pd.DataFrame(
        {
            "zip": np.array(["00501", "10001", "02134"])[np.arange(ROWS) % 3],
            "width": np.arange(ROWS) * 1.5,
            "count": np.arange(ROWS) % 7,
            "amount": [f"{k}.50" for k in range(ROWS)],
            "day": pd.date_range("2024-05-17", periods=ROWS),
            "sold": np.arange(ROWS) % 2 == 0,
            "kind": np.array(["None", "b"])[np.arange(ROWS) % 2],
        }
    ).astype(object)
    if missing:
        frame.iloc[4, :-1] = None
    found = read_table(io.BytesIO(excel(frame)), "kind")
    kinds = {one.name: one.kind for one in found.schema.columns}
    words = {"zip": "category", "day": "date", "sold": "category"}
    assert kinds == {"width": "number", "count": "number", "amount": "number", **words}
    assert sorted(set(found.X["zip"].dropna())) == ["00501", "02134", "10001"]
    assert found.X["count"].dropna().max() == 6
    assert any("'zip' has numbers that begin with 0" in note for note in found.notes)
