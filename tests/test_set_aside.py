"""Columns that are no inputs: groups, order and weights."""

import io

import numpy as np
import pandas as pd
import pytest

from polychotomy.compare import evaluate_labels
from polychotomy.tables import TableError, read_table


def read(content, **options):
    return read_table(io.BytesIO(content.encode()), "kind", **options)


TEXT = "n,who,when,w,kind\n" + "".join(
    f"{k * 7 % 5},{who},{day}.5.2024,{k},{kind}\n"
    for k, (who, day, kind) in enumerate(
        [("bo", 3, "a"), ("al", 2, "b"), ("", 9, "a"), ("bo", 1, "b"), ("", 4, "a"), ("al", 5, "")]
    )
)


def test_columns_are_set_aside():
    table = read(TEXT, groups="who", order="when", weights="w")
    assert table.schema.names == ["n"]
    first, second, third, fourth, fifth = table.groups.tolist()
    assert first == fourth
    assert len({first, second, third, fifth}) == 4
    assert (table.order - table.order.min()).tolist() == [172800, 86400, 691200, 0, 259200]
    assert table.weights.tolist() == [0, 1, 2, 3, 4]
    plain = read(TEXT)
    assert plain.groups is plain.order is plain.weights is None


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ((",1,b", ",-1,b"), {"weights": "w"}, "has -1 in row 2; a weight cannot be negative"),
        ((",1,b", ",,b"), {"weights": "w"}, "--weights is empty in row 2"),
        ((",1,b", ",x,b"), {"weights": "w"}, "does not hold numbers"),
        (("", ""), {"weights": "when"}, "'when' of --weights does not hold numbers"),
        ((",when,", ",When,"), {"order": "when"}, "order names 'when'.* Did you mean|Choose"),
        (("", ""), {"order": "who"}, "--order is empty in row 3"),
        (("", ""), {"order": "kind"}, "of --order holds words"),
    ],
)
def test_what_cannot_be_set_aside_gets_its_row(change, options, words):
    with pytest.raises(TableError, match=words):
        read(TEXT.replace(*change, 1) if change[0] else TEXT, **options)


def evaluated(**options):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 60)
    labels = pd.Series(rng.choice(list("abcd"), 60))
    return p, labels, evaluate_labels(
        np.array(list("abc")), [labels], [(p.argmax(axis=1), p)], {}, **options
    )  # fmt: skip


def test_weights_are_rows_that_occur_often():
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, 60)
    p, labels, found = evaluated(weights=weights.astype(float))
    often = np.repeat(np.arange(60), weights)
    again = evaluate_labels(
        np.array(list("abc")), [labels[often]], [(p[often].argmax(axis=1), p[often])], {}
    )
    for name in ("error", "nll", "brier", "calibration"):
        assert getattr(found, name) == pytest.approx(getattr(again, name))


def test_standard_errors_are_those_of_means():
    _, _, found = evaluated()
    wanted = np.sqrt(found.error * (1 - found.error) / 59)
    assert found.standard_errors["error"] == pytest.approx(wanted)
    assert set(found.standard_errors) == {"error", "nll", "brier"}
    assert "±" in str(found)


def test_rows_that_are_copies_say_nothing_new():
    p, labels, once = evaluated()
    many = np.tile(np.arange(60), 5)
    copies = evaluate_labels(
        np.array(list("abc")), [labels[many]], [(p[many].argmax(axis=1), p[many])], {}, groups=many
    )
    for name, error in once.standard_errors.items():
        assert copies.standard_errors[name] == pytest.approx(error)


def test_periods():
    order = np.arange(60.0)[::-1]
    p, labels, found = evaluated(order=order)
    assert [one["rows"] for one in found.periods] == [15] * 4
    wrong = labels.to_numpy() != np.array(list("abc"))[p.argmax(axis=1)]
    assert found.periods[0]["error"] == pytest.approx(wrong[-15:].mean())
    assert np.mean([one["nll"] for one in found.periods]) == pytest.approx(found.nll)
    assert found.to_dict()["periods"] == found.periods
    assert "in the order of time:" in str(found)
