"""Columns as they are exported: numbers with marks and units, dates, markers, words, text."""

import datetime
import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from polychotomy.tables import (
    DateParts,
    TableError,
    TableSchema,
    infer_column,
    read_table,
    table_warnings,
)
from polychotomy.tables._dates import parse_dates
from polychotomy.tables._numbers import LOOKED_AT, parse_numbers


def texts(*words):
    return np.array(words, dtype=object)


def read(content, target="kind", **options):
    return read_table(io.BytesIO(content.encode()), target, **options)


def column(values, **options):
    return infer_column(pd.Series(values, name="c"), **options)


# Numbers.

WRITTEN = {
    "$1,234.50 | $7 | -$3.25": [1234.5, 7, -3.25],
    "1,234 | 12,500 | 3": [1234, 12500, 3],
    "1,234,567 | 3": [1234567, 3],
    "1.234.567 | 3": [1234567, 3],
    "1.234,50 € | 12 €": [1234.5, 12],
    "1,5 | 2,25": [1.5, 2.25],
    "45% | 3.5 %": [45, 3.5],
    "3.1 kg | 5kg | 10 kg": [3.1, 5, 10],
    "(17.50) | 12.00": [-17.5, 12],
    "12- | 3": [-12, 3],
    "1'234.50 | 3": [1234.5, 3],
    "1 234,5 | 3 000": [1234.5, 3000],
    "USD 5 | USD 7.5": [5, 7.5],
    "\u22125 kg | 3 kg": [-5, 3],
    "1.5e3 m | 2 m": [1500, 2],
    "1,23,456 | 5.5": [123456, 5.5],
    "0,123 | 0,5": [0.123, 0.5],
}
WORDS = ["10.0.0.1 | 10.0.0.2", "1,2,3 | 4,5", "12:30 | 9:15", "555-1234 | 555-99", "12/5 | 3/7"]


@pytest.mark.parametrize("line", WRITTEN)
def test_numbers_as_they_are_written(line):
    parsed = parse_numbers(texts(*line.split(" | ")))
    assert parsed.values.tolist() == WRITTEN[line]


@pytest.mark.parametrize("line", WORDS)
def test_what_only_looks_like_numbers_is_words(line):
    assert np.isnan(parse_numbers(texts(*line.split(" | "))).values).any()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=12),
    st.sampled_from([(".", ","), (",", "."), (".", " "), (",", "\u00a0"), (".", "'"), (".", "")]),
    st.sampled_from(["", "$", "%", " kg", " km/h", " €"]),
    st.integers(1, 2),
)
def test_any_way_to_write_numbers_is_read(hundredths, marks, unit, digits):
    decimal, thousands = marks
    numbers = np.array(hundredths) / 100
    lines = [
        f"{value:,.{digits}f}".translate(str.maketrans({",": thousands, ".": decimal})) + unit
        for value in numbers.tolist()
    ]
    wanted = [round(value, digits) for value in numbers.tolist()]
    # Many, so that both the quick and the general way are taken.
    for repeated in (1, 1 + LOOKED_AT // len(lines)):
        parsed = parse_numbers(texts(*lines * repeated))
        np.testing.assert_allclose(parsed.values, wanted * repeated)
        assert parsed.style.unit == unit.strip()


def test_the_quick_way_is_the_general_way():
    rng = np.random.default_rng(0)
    lines = [f"${value:,.2f}" for value in rng.normal(0, 1e4, LOOKED_AT + 500)]
    lines[-3:] = ["($5.00)", "7", "1,2,3"]
    whole = parse_numbers(texts(*lines)).values
    for start in range(0, len(lines), LOOKED_AT // 2):
        some = parse_numbers(texts(*lines[start : start + LOOKED_AT // 2]), sure=True).values
        np.testing.assert_array_equal(whole[start : start + LOOKED_AT // 2], some)
    assert np.isnan(whole[-1])


def test_one_comma_does_not_change_what_points_mean():
    with pytest.raises(TableError, match=r"points and with commas \('1\.234' and '1,5'\)"):
        column(["1.234", "2.345", "1,5"])
    schema = read("n,kind\n" + "0.5,a\n1.234,b\n" * 3).schema
    with pytest.raises(TableError, match="'1,5' in column 'n', row 2"):
        schema.matched(pd.DataFrame({"n": ["1.234", "1,5"]}))


def test_units_are_one():
    found = column(["3.1 kg", "4 kg", "5"])
    assert (found.kind, found.unit) == ("number", "kg")
    assert "'3.1 kg' was read as 3.1" in found.note
    with pytest.raises(TableError, match="the units 'kg' and 'g'"):
        column(["3.1 kg", "4 kg", "500 g"])
    with pytest.raises(TableError, match="'%' and none"):
        column(["45%", "0.45"])
    assert column(["12a", "12b", "7c"]).kind == "category"
    with pytest.raises(TableError, match="the units 'K' and none"):
        column(["1.2K", "3K", "500"])
    years = column(["1 year", "2 years", "7 years"])
    assert (years.kind, years.unit) == ("number", "year")


def test_a_bound_is_read_as_the_number():
    found = column(["<0.5", "0.7", "1.2", "> 30"])
    assert found.kind == "number"
    assert "'<0.5' was read as 0.5" in found.note


def test_numbers_whose_sign_is_a_guess_are_pointed_out():
    assert "'(17.5)' was read as -17.5" in column(["(17.5)", "12.25", "3.5"]).note
    assert "'12-' was read as -12" in column(["12-", "3", "5"]).note
    assert column(["-12", "3", "5"]).note is None


def test_numbers_that_begin_with_0_are_words():
    lines = "".join(f"{k % 7:03},{'ab'[k % 2]}\n" for k in range(30))
    (code,) = read("code,kind\n" + lines).schema.columns
    assert code.categories == tuple(f"{k:03}" for k in range(7))
    assert "begin with 0" in code.note
    assert column(["0.5", "0", "10"]).kind == "number"


def test_words_among_numbers_are_mentioned():
    values = [*(f"{k}.5" for k in range(30)), *["broken"] * 9]
    found = column(values)
    assert found.kind == "category"
    assert "numbers and words ('broken' for example)" in found.note


def test_a_model_asks_for_the_unit_it_has_learned():
    table = read("n,kind\n3.1 kg,a\n4 kg,b\n5.5 kg,a\n")
    schema = TableSchema.from_dict(table.schema.to_dict())
    matched, _ = schema.matched(pd.DataFrame({"n": ["2 kg", "7", None]}))
    assert matched["n"].tolist()[:2] == [2, 7]
    with pytest.raises(TableError, match=r"'300 g' in column 'n', row 2, .* finite number in 'kg'"):
        schema.matched(pd.DataFrame({"n": ["2 kg", "300 g"]}))


# Dates.

MOMENT = datetime.datetime(2024, 5, 17, 12, 30, 15, tzinfo=datetime.UTC)
FORMATS = [
    "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y", "%m/%d/%y", "%d/%m/%Y %H:%M", "%d %B %Y",
    "%b %d, %Y", "%m/%d/%Y, %I:%M:%S %p", "%d-%b-%y", "%Y/%m/%d",
]  # fmt: skip


@pytest.mark.parametrize("written", FORMATS)
def test_dates_as_they_are_written(written):
    days = [MOMENT + datetime.timedelta(days=17 * k, minutes=k) for k in range(30)]
    lines = [day.strftime(written) for day in days]
    dates = parse_dates(texts(*lines))
    wanted = [
        datetime.datetime.strptime(line, written).replace(tzinfo=datetime.UTC) for line in lines
    ]
    np.testing.assert_allclose(dates.values, [day.timestamp() for day in wanted])
    assert column(lines).kind == "date"


def test_days_and_months_that_can_be_either_are_pointed_out():
    found = column(["05/06/2024", "07/08/2024"])
    assert "'05/06/2024' was read as 2024-05-06, but could be 2024-06-05" in found.note
    assert column(["05/06/2024", "17/08/2024"]).note is None
    assert column(["05/05/2024", "08/08/2024"]).note is None


def test_date_parts():
    moments = pd.date_range(pd.Timestamp("1965-03-01 05:00"), periods=500, freq="1234567s")
    parts = DateParts().fit_transform(
        moments.to_numpy().astype("datetime64[s]").astype(float)[:, None]
    )
    np.testing.assert_array_equal(parts[:, 0], moments.year)
    np.testing.assert_array_equal(parts[:, 1], moments.month)
    np.testing.assert_array_equal(parts[:, 2], moments.day_of_week)
    floored = moments.floor("s")
    np.testing.assert_allclose(
        parts[:, 3], floored.hour + floored.minute / 60 + floored.second / 3600
    )
    np.testing.assert_allclose(parts[:, 4], (floored - floored[0]).total_seconds())
    assert np.isnan(DateParts().fit([[1.0], [2.0]]).transform([[np.nan]])).all()
    assert DateParts().fit([[1.0]]).get_feature_names_out(["day"])[0] == "day: year"


@parametrize_with_checks([DateParts()])
def test_date_parts_are_an_estimator(estimator, check):
    check(estimator)


def test_a_wrong_date_gets_its_row():
    days = [f"2024-05-{day:02}" for day in range(1, 29)]
    with pytest.raises(TableError, match=r"'2024-02-31' in row 29; .* --missing 2024-02-31"):
        column([*days, "2024-02-31"])
    assert column([*days, "2024-02-31"], missing=["2024-02-31"]).missing == 1


def test_dates_in_several_formats_are_refused():
    days = [f"2024-05-{day:02}" for day in range(1, 15)]
    with pytest.raises(TableError, match=r"several ways \('2024-05-01' and '01/05/2024'\)"):
        column([*days, *(f"{day:02}/05/2024" for day in range(1, 15))])


def test_durations():
    table = read("t,kind\n75:12:07,a\n5:30,b\n1:00:00,a\n")
    assert table.X["t"].tolist() == [270727, 330, 3600]
    schema = TableSchema.from_dict(table.schema.to_dict())
    matched, _ = schema.matched(pd.DataFrame({"t": ["0:01:00", None]}))
    assert matched["t"].tolist()[0] == 60
    with pytest.raises(TableError, match="durations"):
        schema.matched(pd.DataFrame({"t": ["late"]}))


@pytest.mark.parametrize("longest", [40, 120, 2000])
def test_durations_however_few_could_be_times_of_day(longest):
    hours = np.linspace(0, longest, 120).astype(int)
    found = column([f"{hour}:{k % 60:02}:00" for k, hour in enumerate(hours)])
    assert (found.kind, found.format) == ("number", "duration")


# Missing values and classes.


@pytest.mark.parametrize("label", ["None", "nan", "NA", "null", "N/A", "-", "?", "NaN", "n/a"])
def test_any_word_can_be_a_class(label):
    table = read(f"n,kind\n1,{label}\n2,b\n4,{label}\n7,\n")
    assert table.y.tolist() == [label, "b", label]
    assert "1 row has no 'kind'" in table.notes[0]


def test_what_was_read_as_missing_is_said():
    table = read("n,word,kind\n1,-,a\n?,x,b\n4,y,a\nNA,y,b\n9.5,None,a\n")
    assert table.X["n"].isna().tolist() == [False, True, False, True, False]
    assert table.X["word"].isna().tolist() == [True, False, False, False, True]
    (note,) = (note for note in table.notes if note.startswith("Read as missing"))
    assert "'?' in 'n' (1 row), 'NA' in 'n' (1 row)" in note
    assert "'None' in 'word'" in note
    assert "--missing" in note


def test_a_word_among_numbers_is_refused_with_options_that_work():
    lines = [f"{k}.5,{'ab'[k % 2]}" for k in range(40)]
    text = "\n".join(["n,kind", *lines, "?,a", "N/A,b", "unknown,a"])
    with pytest.raises(TableError, match="'unknown' in row 43") as caught:
        read(text)
    # --missing takes the place of the usual texts.
    named = ["?", "N/A", "unknown"]
    for one in ("--missing '?'", "--missing N/A", "--missing unknown"):
        assert one in str(caught.value)
    assert read(text, missing=named).X["n"].isna().sum() == 3


ODD = {
    "a word among numbers": ["broken"],
    "words among numbers": ["n/k"] * 9,
    "an infinite value": ["inf"],
    "a number far from all others": ["-999"] * 9,
    "a date that does not exist": ["2024-02-31"],
}


@pytest.mark.parametrize("what", ODD)
def test_the_advice_to_read_a_text_as_missing_keeps_what_was_missing_elsewhere(what):
    usual = [f"2024-05-{k % 28 + 1:02}" if "date" in what else f"{k / 7:.2f}" for k in range(60)]
    odd = [*usual[: -len(ODD[what])], *ODD[what]]
    other = ["NA" if k % 9 == 0 else f"{k}.5" for k in range(60)]
    word = [["u", "?", "v"][k % 3] for k in range(60)]
    frame = pd.DataFrame({"word": word, "odd": odd, "other": other, "kind": list("abc") * 20})
    text = frame.to_csv(index=False)
    try:
        table = read(text)
        said = [*table.notes, *table_warnings(table)]
    except TableError as error:
        said = [str(error)]
    (advice,) = (one for one in said if ODD[what][0] in one)
    named = re.findall(r"--missing (\S+?)[.,]?(?= |$)", advice)
    table = read(text, missing=[one.strip("'") for one in named])
    assert table.X.isna().sum().to_dict() == {"word": 20, "odd": len(ODD[what]), "other": 7}
    assert not [one for one in table.notes if "used as words" in one]


def test_markers_can_be_set():
    text = "n,word,kind\n1,-,a\n-999,x,b\n4,y,a\n-999,None,b\n"
    table = read(text, missing=["-999"])
    assert table.X["n"].isna().sum() == 2
    assert table.schema.columns[1].categories == ("-", "None", "x", "y")
    again = TableSchema.from_dict(table.schema.to_dict())
    matched, _ = again.matched(pd.DataFrame({"n": [-999, 3], "word": ["-", ""]}))
    assert matched.isna().to_numpy().tolist() == [[True, False], [False, True]]
    assert read(text, missing=[""]).X["n"].tolist() == [1, -999, 4, -999]


def test_words_stay_as_they_are_in_the_file():
    lines = "".join(f"{word},{code},{'ab'[k % 2]}\n" for k, (word, code) in enumerate(
        [("TRUE", "01"), ("false", "02"), ("TRUE", "01"), ("false", "x")]))  # fmt: skip
    table = read("yes,code,kind\n" + lines)
    assert [one.categories for one in table.schema.columns] == [
        ("TRUE", "false"),
        ("01", "02", "x"),
    ]
    numbers = read("code,kind\n01,a\n02,b\n01,a\n", category=["code"])
    assert numbers.schema.columns[0].categories == ("01", "02")


# Many words, and text.


def test_many_categories_are_encoded_by_the_classes():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 200, 2000)
    kind = np.where(rng.random(2000) < 0.9, town % 3, rng.integers(0, 3, 2000))
    lines = [f"t{a},{'abc'[b]}\n" for a, b in zip(town, kind, strict=True)]
    table = read("town,kind\n" + "".join(lines))
    assert any("Many categories ('town' 200)" in note for note in table.notes)
    before = table.schema.preprocessor()
    X = before.fit_transform(table.X, table.y)
    assert X.shape == (2000, 3)
    assert np.mean(np.array(list("abc"))[X.argmax(axis=1)] == table.y) > 0.85
    # The classes of the rows themselves are not in the numbers: noise stays noise.
    shuffled = rng.permutation(table.y)
    noise = before.fit_transform(table.X, shuffled)
    assert abs(np.corrcoef(noise[:, 0], shuffled == "a")[0, 1]) < 0.15


def test_text_is_refused_or_used():
    said = [f"{'good fine nice' if k % 2 else 'bad poor sad'} thing {k}" for k in range(60)]
    lines = "".join(f"{one},{'ab'[k % 2]}\n" for k, one in enumerate(said))
    with pytest.raises(TableError, match=r"free text .* --text 'what they said', .* --drop"):
        read("what they said,kind\n" + lines)
    table = read("what they said,kind\n" + lines, text=["what they said"])
    X = table.schema.preprocessor().fit_transform(table.X)
    far = np.linalg.norm(X[::2].mean(axis=0) - X[1::2].mean(axis=0))
    assert far > np.linalg.norm(X[::4].mean(axis=0) - X[2::4].mean(axis=0)) * 5


def test_a_hostile_schema_is_refused():
    stored = read("n,kind\n1 kg,a\n2 kg,b\n").schema.to_dict()
    for change in ({"kind": "code"}, {"unit": 3}, {"decimal": "x"}, {"format": "%s" * 9}):
        column_ = {**stored["columns"][0], **change}
        with pytest.raises(TableError, match="which columns"):
            TableSchema.from_dict({**stored, "columns": [column_]})
    with pytest.raises(TableError, match="which columns"):
        TableSchema.from_dict({**stored, "missing": [3]})
