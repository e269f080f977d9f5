"""Units: keys that hash everything that determines a result."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polychotomy.execution.units import MethodResult, Outcome, Unit, canonical, plain

UNIT = Unit("trial", "wave", "c0ffee", 3, "svm", {"folds": 5, "grid": [0.1, 1.0]})
CHANGES = {
    "study": "other",
    "dataset": "other",
    "dataset_checksum": "other",
    "partition": 4,
    "sweep": "klr",
    "definition": {"folds": 5, "grid": [0.1, np.nextafter(1.0, 2.0)]},
    "results_version": 0,
    "numerics_version": 0,
}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
json_values = st.none() | st.booleans() | st.integers() | texts | st.floats(-1e9, 1e9)


def test_every_field_but_the_cost_changes_the_key():
    assert {field.name for field in fields(Unit)} == {*CHANGES, "cost"}
    keys = {replace(UNIT, **{name: value}).key for name, value in CHANGES.items()}
    assert len(keys | {UNIT.key}) == len(CHANGES) + 1
    assert replace(UNIT, cost=7.0).key == UNIT.key


def test_the_key_is_that_of_earlier_releases():
    # A store is resumed by these keys: a change here throws away everything finished.
    assert (
        replace(UNIT, results_version=1, numerics_version=None).key
        == "825d35efa5ad7bfdbb7338eea11b8ae61439207a828cb66fa74df621fc03d7aa"
    )


@settings(max_examples=30)
@given(st.dictionaries(texts, json_values | st.dictionaries(texts, json_values), min_size=2))
def test_the_order_of_the_definition_is_no_part_of_the_key(definition):
    backwards = dict(reversed(definition.items()))
    one, two = replace(UNIT, definition=definition), replace(UNIT, definition=backwards)
    assert one.key == two.key
    assert one == two
    assert hash(one) == hash(two)


def test_only_partitions_of_one_definition_are_a_family():
    assert replace(UNIT, partition=9).family == UNIT.family
    assert len({replace(UNIT, **{name: CHANGES[name]}).family for name in CHANGES}) == len(CHANGES)


def test_a_unit_does_not_follow_changes_of_the_dict_it_was_made_from():
    definition = {"grid": [1.0]}
    unit = replace(UNIT, definition=definition)
    definition["grid"].append(2.0)
    assert unit.definition == {"grid": [1.0]}


def test_a_unit_and_its_key_survive_the_way_to_a_worker():
    there = pickle.loads(pickle.dumps(UNIT))
    assert there == UNIT
    assert there.key == UNIT.key


def test_seeds_depend_on_partition_purpose_and_seed_but_not_on_the_sweep():
    seed = UNIT.seed("folds")
    assert 0 <= seed < 2**32
    assert replace(UNIT, sweep="klr").seed("folds") == seed
    assert UNIT.seed("split") != seed
    assert replace(UNIT, partition=4).seed("folds") != seed
    assert replace(UNIT, definition={"seed": 1}).seed("folds") != seed


def test_numpy_scalars_and_tuples_are_written_as_plain_values():
    value = {"C": np.float64(0.1), "n": np.int64(3), "on": np.True_, "grid": (1, 2)}
    assert canonical(plain(value, "x")) == '{"C":0.1,"grid":[1,2],"n":3,"on":true}'


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({"grid": [1.0, float("inf")]}, r"definition\['grid'\]\[1\] is inf"),
        ({"grid": {1: 2}}, r"definition\['grid'\] has the key 1"),
        ({"machine": object()}, r"definition\['machine'\] is a object"),
    ],
)
def test_what_json_lacks_is_refused_in_a_definition(definition, words):
    with pytest.raises((TypeError, ValueError), match=words):
        replace(UNIT, definition=definition)


def test_a_result_is_a_number_or_a_failure():
    with pytest.raises(ValueError, match="'vote' has no error; give it, or a failure"):
        MethodResult("vote")
    with pytest.raises(ValueError, match="'vote' has nll NaN"):
        MethodResult("vote", error=0.1, nll=float("nan"))
    assert MethodResult("vote", failure="one class only").error is None
    assert MethodResult("vote", error=0.5, nll=float("inf")).nll == float("inf")


def test_a_method_has_one_result_in_a_unit():
    result = MethodResult("vote", error=0.1)
    with pytest.raises(ValueError, match="'vote' has two results"):
        Outcome((result, result))
