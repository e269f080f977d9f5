"""Many classes through the command line: 28 of which some have one row, 300, and a thousand."""

import numpy as np
import pandas as pd
import pytest

from commands import Commands


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    return Commands(tmp_path_factory.mktemp("many"))


def table(sizes):
    """Return rows of classes that lie apart; `sizes` are their numbers of rows."""
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(len(sizes)), sizes)
    X = 4 * rng.normal(size=(len(sizes), 6))[kind] + rng.normal(size=(len(kind), 6))
    frame = pd.DataFrame(X.round(3), columns=list("uvwxyz"))
    return frame.assign(kind=[f"k{number}" for number in kind])


SIZES = {
    "28": [*[1] * 4, *range(2, 26)],
    "300": [4] * 300,
}


@pytest.mark.parametrize("name", SIZES)
def test_many_classes_with_few_rows(commands, name):
    sizes = SIZES[name]
    frame = table(sizes)
    frame.to_csv(commands.folder / "many.csv", index=False)
    # The other methods need minutes; that they do not, within a limit, is tested elsewhere.
    options = ("-t", "kind", "--jobs", "1")
    some = ("--methods", "LSL", "--splits", "2", "--json")
    made = commands.run("compare", "many.csv", *options, *some)
    assert made.code == 0, made.err
    assert "warning: Too few rows to judge how well these classes are recognised" in made.err
    found = made.json
    assert found["recommended"] == "LSL"
    assert len(found["classes"]) == len(sizes)
    ours, none = (row["nll"] for row in found["ranking"])
    assert ours < 0.7 * none
    # Rows of classes with one row train, and are never tested.
    tested = {one["class"]: one["tested"] for one in found["per_class"]}
    assert not any(tested[f"k{k}"] for k, size in enumerate(sizes) if size == 1)
    assert all(tested[f"k{k}"] for k, size in enumerate(sizes) if size > 3)
    assert ("learned, but not judged" in made.err) == (1 in sizes)
    fitted = commands.run("fit", "many.csv", *options, "-m", "LSL", "-o", "many.model")
    assert fitted.code == 0, fitted.err
    assert f"{len(sizes)} classes" in fitted.err
    said = commands.run("predict", "many.model", "many.csv", "-o", "said.csv")
    assert said.code == 0, said.err
    answers = pd.read_csv(commands.folder / "said.csv")
    assert len(answers.columns) == 1 + len(sizes)
    wrong = (answers["predicted"] != frame["kind"]).mean()
    assert wrong < 0.4
    judged = commands.run("evaluate", "many.model", "many.csv")
    assert f"error        {wrong:.4f}" in judged.out
    # A matrix of 300 classes is not for a terminal.
    assert max(map(len, judged.out.splitlines())) < 300
    assert ("the most frequent confusions of 300 classes" in judged.out) == (len(sizes) == 300)
    assert len(commands.run("evaluate", "many.model", "many.csv", "--json").json["confusion"]) == (
        len(sizes)
    )


def test_a_thousand_columns_of_probabilities_give_no_warning(commands):
    table([2] * 1000).to_csv(commands.folder / "most.csv", index=False)
    made = commands.run("fit", "most.csv", "-t", "kind", "-m", "LSL", "-o", "most.model")
    assert made.code == 0, made.err
    said = commands.run("predict", "most.model", "most.csv", "-o", "said.parquet")
    assert said.code == 0, said.err
    assert said.err == "polychotomy: wrote said.parquet: 2,000 rows.\n"


def test_machines_for_too_many_pairs_fail_with_a_reason_that_is_no_python(commands):
    table([2] * 450).to_csv(commands.folder / "pairs.csv", index=False)
    options = ("-t", "kind", "--methods", "PWC_PSVM", "--splits", "1", "--jobs", "1")
    made = commands.run("compare", "pairs.csv", *options)
    assert made.code == 0, made.err
    assert "450 classes have 101025 pairs, too many for a machine each" in made.out
    assert "code=" not in made.out
