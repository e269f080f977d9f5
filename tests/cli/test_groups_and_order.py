"""Groups, times and weights of rows, through the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from commands import Commands
from polychotomy import load
from polychotomy.compare import Conditions, fit_method
from polychotomy.compare._encoding import fit_encoded
from polychotomy.compare._held_out_by_group import fit_held_out_by_group

N = 240


def rows():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, N)
    frame = pd.DataFrame(random.normal(size=(N, 2)) + 1.5 * np.eye(3)[y][:, :2], columns=["a", "b"])
    frame["kind"] = np.array(["red", "green", "blue"])[y]
    frame["who"] = random.integers(0, 30, N)
    frame["two"] = random.integers(0, 2, N)
    frame["same"] = 1
    frame["per_class"] = frame["kind"].str.upper()
    frame["day"] = pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d")
    frame["late"] = np.where(y == 2, 100, 0) + np.arange(N) % 50
    frame["week"] = np.repeat(np.arange(6), N // 6)
    frame["w"] = random.uniform(0.5, 2.0, N).round(2)
    return frame


ASIDE = ("who", "two", "same", "per_class", "day", "late", "week", "w")


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    server = Commands(tmp_path_factory.mktemp("groups"))
    rows().to_csv(server.folder / "t.csv", index=False)
    return server


def asked(command, *options):
    dropped = [part for one in ASIDE if one not in options for part in ("--drop", one)]
    return command, "t.csv", "-t", "kind", *options, *dropped


def compared(commands, *options):
    return commands.run(
        *asked("compare", "--methods", "logistic", "--splits", "4", "--json", *options)
    )


def test_the_same_split_is_not_counted_twice(commands):
    done = compared(commands, "--groups", "two")
    assert json.loads(done.out)["protocol"].startswith("2 splits by group")


REFUSED = {
    ("--groups", "same"): "groups must have at least two groups",
    ("--order", "same"): "order must have at least two different values",
}


@pytest.mark.parametrize("options", REFUSED)
def test_what_cannot_be_kept_apart_is_refused(commands, options):
    fit = asked("fit", "-m", "logistic", "-o", "no.model", *options)
    for done in (compared(commands, *options), commands.run(*fit)):
        assert done.code == 2
        assert done.err.splitlines()[-1].startswith(f"polychotomy: error: {REFUSED[options]}")
    assert not (commands.folder / "no.model").exists()


def test_windows_of_time_are_not_nested(commands):
    done = compared(commands, "--order", "day", "--nested")
    assert done.code == 2
    assert "order does not go with nested cross-validation" in done.err


def test_classes_in_one_group_each_cannot_be_judged(commands):
    done = compared(commands, "--groups", "per_class")
    assert done.code == 2
    assert "each class has rows in one group only" in done.err


def test_rows_that_are_not_judged_are_counted(commands):
    done = compared(commands, "--order", "late")
    assert done.code == 0
    assert "test rows are not judged, because no row of their class comes before them" in done.err


def test_warnings_of_training_are_lines_of_the_command(commands):
    done = commands.run(*asked("fit", "-m", "POOL", "--groups", "per_class", "-o", "warned.model"))
    assert done.code == 0
    assert "polychotomy: warning: Class" in done.err
    assert "UserWarning" not in done.err


def test_rows_of_the_same_time_are_judged_together(commands):
    made = commands.run(*asked("fit", "-m", "logistic", "-o", "it.model"))
    assert made.code == 0
    for column, sizes in {"same": [N], "week": [40, 80, 40, 80], "day": 4 * [60]}.items():
        done = commands.run("evaluate", "it.model", "t.csv", "--order", column, "--json")
        assert [one["rows"] for one in json.loads(done.out)["periods"]] == sizes


# The class is known from the group alone, which a new group does not help with.
@pytest.mark.parametrize("options", [("--groups", "who"), ("--order", "who")])
@pytest.mark.parametrize("method", ["logistic", "PWC_PSVM"])
def test_held_out_rows_are_of_other_groups(commands, options, method):
    random = np.random.default_rng(1)
    who = np.repeat(np.arange(40), 6)
    frame = pd.DataFrame(
        {
            "place": 100.0 * random.permutation(40)[who] + random.normal(size=240),
            "kind": np.array(["no", "yes"])[random.integers(0, 2, 40)[who]],
            "who": who,
        }
    )
    frame.to_csv(commands.folder / "known.csv", index=False)
    said = commands.run(
        *("fit", "known.csv", "-t", "kind", "-m", method, "--keep-held-out", "-o", "held.model"),
        *options,
    )
    assert said.code == 0, said.err
    held = load(commands.folder / "held.model").held_out()
    nll = -np.log(held.p[np.arange(240), held.y]).mean()
    assert len(held.y) == 240
    assert nll > 0.6


def test_rows_of_weight_0_are_not_learned_from_where_groups_are_held_out():
    frame, groups = rows(), np.arange(N) % 5
    weights = np.where((frame["kind"] == "blue") & (groups > 0), 0.0, 1.0)
    held = fit_held_out_by_group(
        *("logistic", frame[["a", "b"]], frame["kind"].to_numpy(), "scale", groups, None),
        sample_weight=weights,
    ).held_out()
    assert len(held.y) == np.count_nonzero(weights)
    # Outside their own group, the rows of the class have the weight 0.
    np.testing.assert_array_equal(held.p[held.y == 0, 0], 0.0)
    np.testing.assert_allclose(held.p.sum(axis=1), 1.0)


def encoded_by_class(n_rows):
    """Many categories that say nothing, and a number that does."""
    random = np.random.default_rng(2)
    y = random.integers(0, 2, n_rows)
    return pd.DataFrame(
        {
            "x": random.normal(size=n_rows) + 0.8 * y,
            "city": [f"c{k}" for k in random.integers(0, n_rows // 3, n_rows)],
            "kind": np.array(["no", "yes"])[y],
        }
    )


def test_a_model_is_as_good_as_the_comparison_said(commands):
    frame = encoded_by_class(900)
    frame[:450].to_csv(commands.folder / "first.csv", index=False)
    frame[450:].to_csv(commands.folder / "second.csv", index=False)
    options = ("first.csv", "-t", "kind", "--category", "city")
    told = commands.run("compare", *options, "--methods", "logistic", "--splits", "4", "--json")
    made = commands.run("fit", *options, "-m", "logistic", "-o", "city.model")
    assert made.code == 0, made.err
    judged = commands.run("evaluate", "city.model", "second.csv", "--json")
    promised = json.loads(told.out)["ranking"][0]["nll"]
    # Rows that saw their own class in the encoding made it 1.3 where 0.6 was promised.
    assert json.loads(judged.out)["nll"] < promised + 0.06


def test_encodings_by_class_keep_groups_together():
    pytest.importorskip("sklearn", minversion="1.9")
    from sklearn.preprocessing import TargetEncoder

    random = np.random.default_rng(3)
    groups = np.repeat(np.arange(60), 4)
    numbers = random.integers(0, 2, 60)[groups]
    X, labels = (groups % 25)[:, None].astype(str).astype(object), np.array(["no", "yes"])[numbers]
    conditions = Conditions(y=numbers, together=groups)
    _, encoded = fit_encoded(TargetEncoder(), X, labels, conditions)
    for train, test in conditions.splits(5):
        assert not set(groups[train]) & set(groups[test])
        alone = TargetEncoder(categories=[np.unique(X)]).fit(X[train], labels[train])
        assert encoded[test] == pytest.approx(alone.transform(X[test]))
    model = fit_method("logistic", X, labels, TargetEncoder(), groups=groups)
    assert model[0].cv == 5  # no numbers of rows stay in a model file


def test_what_is_done_with_rare_classes_is_said_and_judged(commands):
    frame = rows()
    frame.loc[:2, "kind"], frame.loc[3, "kind"] = "odd", "single"
    frame.to_csv(commands.folder / "rare.csv", index=False)
    options = ["rare.csv", "-t", "kind", *(part for one in ASIDE for part in ("--drop", one))]
    for rare, said in {"drop": "dropped", "merge": "merged into '(rare)'"}.items():
        for command in (("compare", "--methods", "logistic"), ("fit", "-m", "logistic")):
            more = ("-o", "rare.model") if command[0] == "fit" else ("--splits", "2")
            done = commands.run(*command, *options, "--rare", rare, *more)
            assert done.code == 0, done.err
            assert f"'odd' and 'single' have fewer than 5 rows: {said}." in done.err
            assert "--rare drop skips" not in done.err
    judged = json.loads(commands.run("evaluate", "rare.model", "rare.csv", "--json").out)
    assert judged["unknown_classes"] == 0
    assert np.sum(judged["confusion"], axis=1).tolist()[judged["classes"].index("(rare)")] == 4


def test_it_is_said_that_the_share_of_test_rows_does_not_count_with_an_order(commands):
    words = "--test-size has no effect with --order"
    assert words in compared(commands, "--order", "day", "--test-size", "0.4").err
    assert words not in compared(commands, "--order", "day").err
    assert words not in compared(commands, "--test-size", "0.4").err


def test_one_group_has_no_standard_errors_which_is_said(commands):
    made = commands.run(*asked("fit", "-m", "PWC_PSVM", "-o", "one.model"))
    assert made.code == 0, made.err
    words = "no standard errors: all rows are of one group"
    assert words in commands.run("evaluate", "one.model", "t.csv", "--groups", "same").out
    assert words not in commands.run("evaluate", "one.model", "t.csv", "--groups", "two").out
