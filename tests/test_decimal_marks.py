"""Decimal points and commas: a model reads the numbers of new rows as they were written."""

import io

import numpy as np
import pandas as pd
import pytest

from polychotomy.tables import TableError, TableSchema, matched_pieces, open_table, read_table

PRICES = [286.80, 270.02, 1812.90, 11450.72, 3.5, 12.25]
AMOUNTS = [-1.26, 0.83, 1.2, 0.64, 2.5, 7.75]
WITH_COMMAS = str.maketrans(".,", ",.")


def written(prices=PRICES, amounts=AMOUNTS, comma=False, form="{:,.2f} €"):
    """Return a table with numbers that are texts."""
    frame = pd.DataFrame({"price": map(form.format, prices), "amount": map(str, amounts)})
    return frame.map(lambda text: text.translate(WITH_COMMAS)) if comma else frame


def as_csv(frame, separator):
    return io.BytesIO(frame.to_csv(index=False, sep=separator).encode())


def as_excel(frame):
    file = io.BytesIO()
    frame.to_excel(file, index=False)
    return io.BytesIO(file.getvalue())


def as_lines(frame):
    return io.BytesIO(frame.to_json(orient="records", lines=True, force_ascii=False).encode())


def model(comma):
    """Return the schema of a model of a CSV file, as it comes from the model file."""
    separator = ";" if comma else ","
    table = read_table(
        as_csv(written(comma=comma).assign(kind=list("ababab")), separator), "kind", keep=["price"]
    )
    assert np.allclose(table.X, np.transpose([PRICES, AMOUNTS]))
    return TableSchema.from_dict(table.schema.to_dict())


@pytest.fixture(scope="module", params=[True, False], ids=["commas", "points"])
def learned(request):
    return request.param, model(request.param)


def values(schema, file):
    with open_table(file) as opened:
        (found,) = [matched for matched, _, _ in matched_pieces(opened, schema)]
    return found.to_numpy(dtype=float)


FILES = {
    "csv": lambda frame: as_csv(frame, ";"),
    "quoted csv": lambda frame: as_csv(frame, ","),
    "excel": as_excel,
    "json lines": as_lines,
}


@pytest.mark.parametrize("kind", FILES)
def test_texts_are_read_with_the_mark_of_the_training_rows(learned, kind):
    comma, schema = learned
    found = values(schema, FILES[kind](written(comma=comma)))
    assert np.array_equal(found, np.transpose([PRICES, AMOUNTS]))


@pytest.mark.parametrize("kind", FILES)
def test_what_could_be_either_is_what_the_training_rows_had(learned, kind):
    comma, schema = learned
    frame = written([1234, 2500], [1, 2], comma, "{:,.0f} €")
    assert frame["price"][0] == ("1.234 €" if comma else "1,234 €")
    if comma and kind == "quoted csv":
        frame["amount"] = ["0,5", "2"]  # or else the comma between fields speaks for points
    assert values(schema, FILES[kind](frame))[:, 0].tolist() == [1234, 2500]


def test_plain_numbers_that_could_be_either_too(learned):
    comma, schema = learned
    mark = "." if comma else ","
    file = io.BytesIO(f"price;amount\n1{mark}234;1\n2{mark}500;2\n".encode())
    assert values(schema, file)[:, 0].tolist() == [1234, 2500]


@pytest.mark.parametrize("separator", [";", ","])
def test_a_file_that_shows_its_own_mark_is_read_with_it(learned, separator):
    _, schema = learned
    exact = np.transpose([PRICES, AMOUNTS])
    assert np.array_equal(values(schema, as_csv(written(), separator)), exact)
    assert np.array_equal(values(schema, as_csv(written(comma=True), ";")), exact)
    plain = io.BytesIO(b"price,amount\n1.234,0.5\n2.500,1.5\n")
    assert values(schema, plain)[:, 0].tolist() == [1.234, 2.5]


@pytest.mark.parametrize("store", [as_excel, as_lines])
def test_numbers_are_taken_as_they_are(learned, store):
    comma, schema = learned
    prices = [1.234, 2.5, 1234.0]
    frame = pd.DataFrame({"price": prices, "amount": [1.125, 2, 3]})
    assert np.array_equal(values(schema, store(frame)), frame)
    # Also among texts.
    frame["price"] = [1.234, 2.5, "1.234 €" if comma else "1,234 €"]
    assert values(schema, store(frame))[:, 0].tolist() == prices


@pytest.mark.parametrize("store", [as_excel, as_lines])
def test_texts_with_the_other_mark_are_refused_by_name(learned, store):
    comma, schema = learned
    wanted = "decimal commas" if comma else "decimal points"
    with pytest.raises(TableError, match=f"'price', row 1, .* in '€' with {wanted}"):
        values(schema, store(written(comma=not comma)))


def test_a_model_file_without_the_mark_is_read_as_before():
    stored = model(comma=True).to_dict()
    assert stored.pop("decimal") == ","
    earlier = TableSchema.from_dict(stored)
    exact = np.transpose([PRICES, AMOUNTS])
    assert np.array_equal(values(earlier, as_csv(written(comma=True), ";")), exact)
    assert np.array_equal(values(earlier, as_excel(written())), exact)
    for wrong in ("x", 3, [","]):
        with pytest.raises(TableError, match="which columns"):
            TableSchema.from_dict({**stored, "decimal": wrong})


def test_a_file_without_texts_has_no_mark():
    frame = pd.DataFrame({"price": PRICES, "kind": list("ababab")})
    assert read_table(as_excel(frame), "kind").schema.decimal == ""
