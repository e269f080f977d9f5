"""Costs, rejection, sets and shifted classes on the command line, end to end."""

import json

import numpy as np
import pandas as pd
import pytest

from commands import Commands
from polychotomy.decisions import cost_table
from polychotomy.persistence import describe

KINDS = np.array(["good", "late", "lost"])
COSTS = {
    "good": {"lend": 0, "secure": 2, "refuse": 5},
    "late": {"lend": 4, "secure": 1, "refuse": 2},
    "lost": {"lend": 30, "secure": 10, "refuse": 0},
}


def loans(seed, n_rows, frequencies):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n_rows, p=frequencies)
    inputs = (rng.normal(size=(n_rows, 3)) + 1.6 * np.eye(3)[y]).round(3)
    frame = pd.DataFrame(inputs, columns=["a", "b", "c"])
    frame["amount"] = rng.integers(1, 60, n_rows)
    return frame.assign(number=[f"n{k}" for k in range(n_rows)], kind=KINDS[y])


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    server = Commands(tmp_path_factory.mktemp("decisions"))
    folder = server.folder
    loans(0, 160, [0.5, 0.3, 0.2]).to_csv(folder / "train.csv", index=False)
    loans(1, 400, [0.5, 0.3, 0.2]).to_csv(folder / "test.csv", index=False)
    loans(2, 400, [0.1, 0.2, 0.7]).to_csv(folder / "shifted.csv", index=False)
    costs = pd.DataFrame(COSTS).T
    costs.to_csv(folder / "costs.csv", index_label="true")
    # As a spreadsheet of another country writes it, in another order.
    costs.loc[["lost", "good", "late"]].to_csv(
        folder / "other.csv", sep=";", decimal=",", index_label="wahr"
    )
    costs.astype(object).assign(lend=[0, 4, "amount"]).to_csv(
        folder / "rows.csv", index_label="true"
    )
    pd.DataFrame(1 - np.eye(3), KINDS, KINDS).to_csv(folder / "plain.csv", index_label="true")
    for name, options in {
        "all.model": ("--costs", "costs.csv", "--sets", "0.9"),
        "bare.model": ("--drop", "amount"),
        "kept.model": ("--keep-held-out",),
    }.items():
        made = server.run(
            "fit", "train.csv", "-t", "kind", "-m", "LS2", "--drop", "number", "-o", name, *options
        )
        assert made.code == 0, made.err
    return server


def predicted(commands, *arguments):
    done = commands.run("predict", *arguments)
    assert done.code == 0, done.err
    return pd.read_csv(commands.folder / ".out"), done


def probabilities(rows):
    return rows[[f"probability_{kind}" for kind in KINDS]].to_numpy()


def test_actions_and_sets_are_written_as_fit_was_asked(commands):
    rows, _ = predicted(commands, "all.model", "test.csv", "--copy", "number")
    assert list(rows)[-2:] == ["action", "set"]
    table = cost_table(COSTS, KINDS)
    cheapest = table.actions[table.expected(probabilities(rows)).argmin(axis=1)]
    assert rows["action"].tolist() == cheapest.tolist()
    truth = pd.read_csv(commands.folder / "test.csv")["kind"]
    inside = [kind in labels.split("|") for kind, labels in zip(truth, rows["set"], strict=True)]
    assert 0.82 < np.mean(inside) < 0.97
    kept = describe(commands.folder / "all.model")["metadata"]["decisions"]
    assert kept == {"costs": COSTS, "sets": 0.9}


def test_all_ways_to_write_costs_are_the_same(commands):
    one, _ = predicted(commands, "bare.model", "test.csv", "--costs", "costs.csv")
    other, _ = predicted(commands, "bare.model", "test.csv", "--costs", "other.csv")
    assert one["action"].tolist() == other["action"].tolist()


def test_a_column_may_be_a_cost_even_if_the_model_does_not_use_it(commands):
    truth = pd.read_csv(commands.folder / "test.csv")
    for model in ("bare.model", "kept.model"):
        rows, _ = predicted(commands, model, "test.csv", "--costs", "rows.csv")
        p = probabilities(rows)
        lend = p[:, 1] * 4 + p[:, 2] * truth["amount"]
        secure = p @ [2, 1, 10]
        refuse = p @ [5, 2, 0]
        best = np.array(["lend", "secure", "refuse"])[
            np.column_stack([lend, secure, refuse]).argmin(axis=1)
        ]
        assert rows["action"].tolist() == best.tolist()
        assert list(rows)[-1] == "action"


def test_a_missing_cost_is_named_by_its_row_in_the_file(commands):
    table = pd.read_csv(commands.folder / "test.csv").astype({"amount": object})
    table.loc[2, "amount"] = None
    table.to_csv(commands.folder / "hole.csv", index=False)
    for command in ("predict", "evaluate"):
        done = commands.run(command, "bare.model", "hole.csv", "--costs", "rows.csv")
        assert done.code == 2
        assert "'amount' is used as a cost, but has nan in row 3;" in done.err


def test_what_is_decided_is_shown(commands):
    text = commands.run("show", "all.model").out
    assert "it chooses the cheapest of lend, refuse, secure." in text
    assert "sets of classes that include the true one with 90 % probability" in text
    assert "Costs" not in commands.run("show", "bare.model").out


def test_rejected_rows(commands):
    rows, _ = predicted(commands, "bare.model", "test.csv", "--reject-cost", "0.2")
    sure = probabilities(rows).max(axis=1)
    assert rows["rejected"].tolist() == (1 - sure > 0.2).tolist()
    rows, _ = predicted(
        commands, "bare.model", "test.csv", "--reject-cost", "0.2", "--costs", "plain.csv"
    )
    assert rows["rejected"].tolist() == (rows["action"] == "rejected").tolist()
    assert rows["rejected"].tolist() == (1 - sure > 0.2).tolist()
    rows, _ = predicted(commands, "kept.model", "test.csv", "--answered", "0.7")
    assert 0.6 < 1 - rows["rejected"].mean() < 0.8


def test_lines_of_json_have_lists(commands):
    done = commands.run(
        "predict", "all.model", "test.csv", "--json", "--answered", "0.5", "--sets", "0.95"
    )
    first = json.loads(done.out.splitlines()[0])
    assert isinstance(first["set"], list)
    assert isinstance(first["rejected"], bool)
    assert "action" not in first


def test_evaluate_reports_costs_answers_and_sets(commands):
    found = commands.run("evaluate", "all.model", "test.csv", "--json").json["decisions"]
    rows, _ = predicted(commands, "all.model", "test.csv")
    truth = pd.read_csv(commands.folder / "test.csv")["kind"]
    paid = [COSTS[kind][action] for kind, action in zip(truth, rows["action"], strict=True)]
    assert found["cost"] == pytest.approx(np.mean(paid))
    assert 0.82 < found["sets"]["coverage"] < 0.97
    shown = commands.run(
        "evaluate", "kept.model", "test.csv", "--costs", "plain.csv", "--answered", "0.8"
    ).out
    for words in ("mean cost", "with the most likely class", "answered", "risk-coverage"):
        assert words in shown
    rows = commands.run("evaluate", "bare.model", "test.csv", "--costs", "rows.csv", "--json").json
    assert rows["decisions"]["cost"] > 0
    assert "decisions" not in commands.run("evaluate", "bare.model", "test.csv", "--json").json


def test_compare_ranks_by_cost_and_shows_it_on_the_page(commands):
    options = ("--methods", "PWC_PSVM,logistic", "--splits", "1", "-t", "kind", "--jobs", "1")
    asked = ("--costs", "rows.csv", "--sets", "0.9", "--report", "page.html", "--json")
    done = commands.run("compare", "train.csv", *options, "--drop", "number", *asked)
    assert done.code == 0, done.err
    decided = done.json["decisions"]
    assert decided["criterion"] == "cost"
    costs = [row["cost"] for row in decided["ranking"]]
    assert costs == sorted(costs)
    assert {row["method"] for row in decided["ranking"]} == {"PWC_PSVM", "logistic"}
    page = (commands.folder / "page.html").read_text()
    for words in ('id="decisions"', 'aria-label="Error among answered rows', "Sets of classes"):
        assert words in page


def test_adapted_probabilities_are_better(commands):
    truth = pd.read_csv(commands.folder / "shifted.csv")["kind"]
    numbers = np.searchsorted(KINDS, truth)
    plain, _ = predicted(commands, "kept.model", "shifted.csv")
    adapted, done = predicted(
        commands, "kept.model", "shifted.csv", "--adapt", "--costs", "costs.csv"
    )
    assert "have shifted" in done.err
    assert "lost" in done.err

    def nll(rows):
        return -np.log(probabilities(rows)[np.arange(400), numbers]).mean()

    assert nll(adapted) < nll(plain) - 0.1
    # From standard input, which can be read only once.
    piped = commands.run(
        "predict",
        "kept.model",
        "-",
        "--adapt",
        "--costs",
        "costs.csv",
        stdin=commands.folder / "shifted.csv",
    )
    assert piped.raw == done.raw
    same, done = predicted(commands, "kept.model", "test.csv", "--adapt")
    assert "no shift" in done.err
    assert next(iter(same)) == "predicted"


BAD = {
    ("predict", "bare.model", "test.csv", "--sets", "0.9"): "no held-out rows, which --sets needs",
    ("predict", "bare.model", "test.csv", "--adapt"): "no held-out rows, which --adapt needs",
    ("predict", "all.model", "test.csv", "--adapt", "--sets", "0.9"): "--sets do not go together",
    ("predict", "all.model", "test.csv", "--sets", "1"): "--sets must be above 0 and below 1",
    ("predict", "all.model", "test.csv", "--reject-cost", "-1"): "--reject-cost must be a nonneg",
    (
        "evaluate",
        "all.model",
        "test.csv",
        "--costs",
        "a.csv",
    ): "-2.0 for action 'x' and class 'good'",
    ("evaluate", "all.model", "test.csv", "--costs", "b.csv"): "b.csv: costs has no row for class",
    ("compare", "train.csv", "-t", "kind", "--costs", "g.csv"): "g.csv has the cost 'nowhere'",
    ("compare", "train.csv", "-t", "kind", "--cluster", " "): "the address of a Dask scheduler",
    (
        "evaluate",
        "all.model",
        "test.csv",
        "--costs",
        "d.csv",
    ): "no cost for action 'y' and class 'late'",
    ("evaluate", "all.model", "test.csv", "--costs", "e.csv"): "two rows for class 'good'",
    ("evaluate", "all.model", "test.csv", "--costs", "f.csv"): "column for each action",
    ("predict", "all.model", "test.csv", "--costs", "g.csv"): "nowhere",
    ("fit", "train.csv", "-t", "kind", "-m", "LS2", "--costs", "b.csv"): "no row for class 'lost'",
    ("fit", "train.csv", "-t", "kind", "-m", "MWV_SVM", "--sets", "0.9"): "has no probabilities",
    (
        "fit",
        "train.csv",
        "-t",
        "kind",
        "--answered",
        "0.9",
        "--reject-cost",
        "1",
    ): "do not go together",
}
FILES = {
    "a.csv": "true,x,y\ngood,-2,0\nlate,1,1\nlost,1,1\n",
    "b.csv": "true,x,y\ngood,2,0\nlate,1,1\n",
    "d.csv": "true,x,y\ngood,2,0\nlate,1,\nlost,1,1\n",
    "e.csv": "true,x,y\ngood,2,0\ngood,1,1\nlost,1,1\n",
    "f.csv": "true\ngood\nlate\nlost\n",
    "g.csv": "true,x,y\ngood,2,0\nlate,1,nowhere\nlost,1,1\n",
}


@pytest.mark.parametrize("arguments", BAD, ids=lambda one: " ".join(one)[-40:])
def test_bad_input_gets_one_line(commands, arguments):
    for name, text in FILES.items():
        (commands.folder / name).write_text(text)
    done = commands.run(*arguments)
    assert done.code == 2
    assert BAD[arguments] in done.err
    assert "Traceback" not in done.err
    assert done.err.strip().splitlines()[-1].startswith("polychotomy: error: ")
