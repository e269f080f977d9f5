"""Methods ranked by what their decisions come to, against plain loops over the test rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from polychotomy.compare import compare_methods, compared_decisions
from polychotomy.compare._decision_section import decision_section
from polychotomy.decisions import SetReport, risk_coverage, set_report

COSTS = [[0, 1, 1, 0.3], [5, 0, 1, 0.3], [9, 1, 0, 0.3]]
ACTIONS = ("a", "b", "c", "ask")
BY_LABEL = {k: dict(zip(ACTIONS, row, strict=True)) for k, row in enumerate(COSTS)}


@pytest.fixture(scope="module")
def found():
    X, y = load_wine(return_X_y=True)
    return compare_methods(X[:, :3], y, ["logistic", "PWC_PSVM", "MWV_SVM"], n_splits=2, n_jobs=1)


def test_costs_are_those_of_a_plain_loop(found):
    decided = compared_decisions(found, costs=BY_LABEL)
    assert {row["method"] for row in decided.rows} == {"logistic", "PWC_PSVM"}
    for row in decided.rows:
        splits = []
        for run in found.held_out[row["method"]]:
            paid = []
            for i, p in zip(run.rows, run.p, strict=True):
                expected = [sum(p[k] * COSTS[k][a] for k in range(3)) for a in range(4)]
                paid.append(COSTS[found.y[i]][int(np.argmin(expected))])
            splits.append(np.mean(paid))
        assert row["cost"] == pytest.approx(np.mean(splits))
    costs = [row["cost"] for row in decided.rows]
    assert costs == sorted(costs)
    assert decided.rows[0]["difference"] == 0.0
    assert decided.rows[1]["difference"] == pytest.approx(costs[1] - costs[0])


def test_without_costs_the_area_ranks(found):
    decided = compared_decisions(found, answered=0.7, sets=0.9)
    assert decided.criterion == "area"
    for row in decided.rows:
        rows, _, p = found.pooled(row["method"])
        curve = decided.curves[row["method"]]
        assert curve.area == pytest.approx(risk_coverage(found.y[rows], p, range(3)).area)
        assert 0.6 < row["answered"] < 0.8
        assert 0.8 < row["set_coverage"] < 1.0
        assert row["error_answered"] < found.figures("error")[row["method"]].mean()
    assert decided.sets.counts.sum() == len(found.pooled("logistic")[0])
    assert decided.recommended in ("logistic", "PWC_PSVM")


def test_text_json_and_page(found):
    from markupsafe import Markup

    decided = compared_decisions(found, reject_cost=0.2, sets=0.9)
    text = str(decided)
    for words in ("ranked by mean cost", "PWC_PSVM", "set size", "best"):
        assert words in text
    assert decided.to_dict()["ranking"][0]["cost"] > 0
    section = decision_section(decided, Markup)
    assert section["chart"].startswith("<svg")
    assert len(section["lines"]) == 2
    assert section["sets"]["classes"][0][0] == "0"


def test_sets_of_many_classes_are_summed_up(found):
    from markupsafe import Markup

    decided = compared_decisions(found, sets=0.9)
    assert decision_section(decided, Markup)["goal"] == "90 %"
    sizes = np.zeros(41, dtype=int)
    sizes[[1, 10, 11, 40]] = 20, 10, 6, 4
    covered = np.linspace(1.0, 0.2, 40)
    many = SetReport(np.arange(40), np.ones(40, int), 0.6, covered, 8.0, np.full(40, 8.0), sizes)
    shown = decision_section(replace(decided, sets=many), Markup)["sets"]
    assert shown["sizes"] == [("1", "50.0%"), ("10", "25.0%"), ("more than 10", "25.0%")]
    assert [line[0] for line in shown["classes"]] == [str(k) for k in range(10, 40)]
    assert shown["left_of"] == 40


def test_bad_input(found):
    with pytest.raises(ValueError, match="no row for class 2"):
        compared_decisions(found, costs={0: {"a": 1}, 1: {"a": 1}})
    columns = {k: {"a": "price", "b": 1} for k in range(3)}
    with pytest.raises(ValueError, match="give the inputs as X"):
        compared_decisions(found, costs=columns)
    X = pd.DataFrame({"price": np.linspace(0, 2, 178)})
    assert compared_decisions(found, costs=columns, X=X).rows[0]["cost"] > 0


def test_weights_count_in_what_is_decided():
    X, y = load_wine(return_X_y=True)
    weights = 1.0 + (y == 2) * 9.0
    run = compare_methods(X[:, :3], y, ["logistic"], n_splits=2, n_jobs=1, sample_weight=weights)
    (row,) = compared_decisions(run, costs=BY_LABEL).rows
    splits, areas = [], []
    for held in run.held_out["logistic"]:
        own, truth = weights[held.rows], y[held.rows]
        paid = [COSTS[k][int(np.argmin(p @ COSTS))] for k, p in zip(truth, held.p, strict=True)]
        splits.append(np.average(paid, weights=own))
        wrong = held.p.argmax(axis=1) != truth
        order = np.argsort(-held.p.max(axis=1))
        risk = np.cumsum((wrong * own)[order]) / np.cumsum(own[order])
        areas.append(np.average(risk, weights=own[order]))
    assert row["cost"] == pytest.approx(np.mean(splits))
    assert row["area"] == pytest.approx(np.mean(areas))
    (row,) = compared_decisions(run, answered=0.8, sets=0.9).rows
    assert 0.0 < row["answered"] <= 1.0
    assert 0.5 < row["set_coverage"] <= 1.0


def test_weights_of_sets_are_those_of_repeated_rows():
    random = np.random.RandomState(0)
    inside, y = random.rand(20, 3) < 0.6, random.randint(0, 3, 20)
    times = random.randint(1, 4, 20)
    one = set_report(inside, y, range(3), times.astype(float))
    two = set_report(np.repeat(inside, times, axis=0), np.repeat(y, times), range(3))
    assert (one.coverage, one.mean_size) == pytest.approx((two.coverage, two.mean_size))
    assert one.class_coverage == pytest.approx(two.class_coverage)
    assert one.class_sizes == pytest.approx(two.class_sizes)
