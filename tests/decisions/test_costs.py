"""Actions of least expected cost: against brute force, in all forms of costs, with any labels."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score, recall_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from polychotomy.decisions import CostClassifier, RejectClassifier, cost_table, mean_cost
from polychotomy.decisions.reject_classifier import answered, chow_thresholds
from polychotomy.decisions.thresholds import METRICS, tune_factors

X, Y = load_iris(return_X_y=True)
FOLDS = StratifiedKFold(5)
NAMES = np.array(["setosa", "versicolor", "virginica"])


def brute_force(p, costs):
    """Go through rows and actions one by one."""
    chosen = []
    for row in p:
        expected = [
            sum(row[k] * costs[k][a] for k in range(len(row))) for a in range(len(costs[0]))
        ]
        chosen.append(min(range(len(expected)), key=expected.__getitem__))
    return np.array(chosen)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 5), st.integers(1, 6), st.integers(0, 10**6))
def test_the_cheapest_action_is_that_of_brute_force(n_classes, n_actions, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n_classes), 30)
    costs = rng.exponential(size=(n_classes, n_actions))
    table = cost_table(costs, np.arange(n_classes), list(range(n_actions)))
    expected = table.expected(p)
    np.testing.assert_array_equal(expected.argmin(axis=1), brute_force(p, costs))
    np.testing.assert_allclose(
        expected, [[row @ costs[:, a] for a in range(n_actions)] for row in p]
    )


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 5), st.floats(0.01, 0.9), st.integers(0, 10**6))
def test_chows_rule_is_the_cost_rule_with_a_reject_action(n_classes, cost, seed):
    p = np.random.default_rng(seed).dirichlet(np.ones(n_classes), 200)
    table = cost_table(None, np.arange(n_classes)).with_reject(cost)
    by_cost = table.expected(p).argmin(axis=1) == n_classes
    by_chow = ~answered(p, chow_thresholds(cost, np.arange(n_classes)))
    # Equal up to rounding at the threshold itself.
    clear = np.abs(1 - p.max(axis=1) - cost) > 1e-12
    np.testing.assert_array_equal(by_cost[clear], by_chow[clear])


def test_the_two_classifiers_reject_the_same_rows():
    costs = np.hstack([1.0 - np.eye(3), np.full((3, 1), 0.2)])
    by_cost = CostClassifier(GaussianNB(), costs, actions=[0, 1, 2, -1]).fit(X[::2], Y[::2])
    by_chow = RejectClassifier(GaussianNB(), reject_cost=0.2).fit(X[::2], Y[::2])
    np.testing.assert_array_equal(by_cost.predict(X), by_chow.predict(X))
    assert (by_chow.predict(X) == -1).any()


def test_all_forms_of_costs_say_the_same():
    rows = [[0, 1, 4, 0.3], [2, 0, 1, 0.3], [9, 3, 0, 0.3]]
    actions = [*NAMES.tolist(), "ask"]
    frame = pd.DataFrame(rows, index=NAMES, columns=actions)
    # In another order, which the labels undo.
    given_forms = {
        "array": (rows, actions),
        "frame": (frame.loc[NAMES[::-1]], None),
        "dicts": ({label: frame.loc[label].to_dict() for label in NAMES[[1, 2, 0]]}, None),
        "callable": (lambda _: rows, actions),
        "callable of rows": (lambda X: np.tile(rows, (len(X), 1, 1)), actions),
    }
    answers = {}
    for name, (costs, labels) in given_forms.items():
        clf = CostClassifier(GaussianNB(), costs, actions=labels).fit(X, NAMES[Y])
        answers[name] = clf.predict(X)
        assert clf.actions_.tolist() == actions
    for answer in answers.values():
        np.testing.assert_array_equal(answer, answers["array"])
    assert set(answers["array"]) == set(actions)


def test_a_column_is_the_cost_of_its_rows():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["value"] = np.linspace(0, 30, len(X))
    costs = {
        "setosa": {"keep": 0, "check": 1},
        "versicolor": {"keep": "value", "check": 1},
        "virginica": {"keep": 2, "check": "value"},
    }
    clf = CostClassifier(GaussianNB(), costs).fit(frame, NAMES[Y])
    p = clf.predict_proba(frame)
    for i in range(0, len(X), 7):
        value = frame["value"][i]
        table = np.array([[0, 1], [value, 1], [2, value]])
        np.testing.assert_allclose(clf.expected_costs(frame)[i], p[i] @ table)
    paid = clf.mean_cost(frame, NAMES[Y])
    chosen = clf.predict(frame)
    by_hand = [
        frame["value"][i]
        if costs[NAMES[Y[i]]][chosen[i]] == "value"
        else costs[NAMES[Y[i]]][chosen[i]]
        for i in range(len(X))
    ]
    assert paid == pytest.approx(np.mean(by_hand))
    assert clf.score(frame, NAMES[Y]) == -paid
    with pytest.raises(TypeError, match="'value', so that X must be a data frame"):
        CostClassifier(GaussianNB(), costs).fit(X, NAMES[Y]).predict(X)
    frame.loc[3, "value"] = -1.0
    with pytest.raises(ValueError, match=r"has -1\.0 in row 3"):
        clf.predict(frame)


def test_costs_of_money_are_lower_than_those_of_the_likeliest_class():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5, 1, 2], 5000)
    y = (p.cumsum(axis=1) < rng.random(5000)[:, None]).sum(axis=1)
    costs = np.array([[0, 20, 50], [1, 0, 5], [1, 2, 0]])
    plain = costs[y, p.argmax(axis=1)].mean()
    assert mean_cost(y, p, costs) < 0.7 * plain
    # Right probabilities promise what is paid.
    table = cost_table(costs, np.arange(3))
    promised = table.expected(p).min(axis=1)
    paid = table.of(y, table.expected(p).argmin(axis=1))
    assert abs(promised.mean() - paid.mean()) < 4 * paid.std() / np.sqrt(5000)


LABELS = {
    "text": NAMES,
    "number": np.array([3, 5, 8]),
    "float": np.array([0.0, 1.0, 2.0]),
    "object": np.array(["a", "b", "c"], dtype=object),
}


@pytest.mark.parametrize("kind", LABELS)
def test_classes_of_any_type(kind):
    y = LABELS[kind][Y]
    labels = LABELS[kind].tolist()
    costs = {label: {"first": k, "ask": 0.5, 7: 2 - k} for k, label in enumerate(labels)}
    clf = CostClassifier(GaussianNB(), costs).fit(X, y)
    assert clf.actions_.tolist() == ["first", "ask", 7]
    assert set(clf.predict(X).tolist()) == {"first", "ask", 7}
    assert RejectClassifier(GaussianNB(), coverage=0.7).fit(X, y).actions_[:3].tolist() == labels


@pytest.mark.parametrize(
    ("costs", "actions", "sentence"),
    [
        ([[0, 1, 1], [1, 0, -2], [1, 1, 0]], None, "has -2.0 for action 2 and class 1; costs must"),
        ([[0, 1, 1], [1, 0, np.nan], [1, 1, 0]], None, "has nan for action 2 and class 1; every"),
        ([[0, 1], [1, 0]], None, "a row for each of the 3 classes"),
        ([[0, 1], [1, 0], [1, 1]], None, "2 columns for 3 classes; name them with actions"),
        ([[0, 1], [1, 0], [1, 1]], ["a"], "actions has 1 labels for 2 columns"),
        ([[0, 1], [1, 0], [1, 1]], ["a", "a"], "has the action 'a' twice"),
        ({0: {"a": 0}, 1: {"a": 1}}, None, "no row for class 2"),
        ({0: {"a": 0}, 1: {"a": 1}, 2: {"a": 1}, 3: {"a": 0}}, None, "row 3, which is not a class"),
        ({0: {"a": 0}, 1: {"a": 1}, 2: {"b": 1}}, None, "action 'a' for some classes"),
        ({0: {"a": 0}, 1: {"a": -1}, 2: {"a": 1}}, None, "has -1 for action 'a' and class 1"),
        ({0: {}, 1: {}, 2: {}}, None, "has no actions"),
        ("macro_f2", None, "Unknown costs 'macro_f2'"),
        (lambda X: np.zeros((2, 2)), None, "must return an array of shape"),
        (lambda X: np.full((3, 3), np.inf), None, "returned inf for row 0"),
    ],
)
def test_bad_costs_are_refused_with_a_sentence(costs, actions, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        CostClassifier(GaussianNB(), costs, actions=actions).fit(X, Y).predict(X)
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"costs": [["a", "b"]] * 3}, "costs must be numbers"),
        ({"costs": {0: 1, 1: 2, 2: 3}}, r"costs\[0\] must be a dict"),
        ({"costs": {0: {"a": 0}, 1: {"a": None}, 2: {"a": 1}}}, "numbers or names of columns"),
        ({"recall_floors": 0.9}, "recall_floors must be a dict"),
    ],
)
def test_costs_of_another_type_are_refused(options, sentence):
    with pytest.raises(TypeError, match=sentence):
        CostClassifier(GaussianNB(), **options).fit(X, Y)


def test_other_bad_input():
    with pytest.raises(TypeError, match="classifier with predict_proba"):
        CostClassifier(LinearSVC()).fit(X, Y)
    with pytest.raises(TypeError, match="write GaussianNB"):
        CostClassifier(GaussianNB).fit(X, Y)
    with pytest.raises(ValueError, match="names 9, which is not a class"):
        CostClassifier(GaussianNB(), "accuracy", recall_floors={9: 0.5}).fit(X, Y)
    with pytest.raises(ValueError, match="is for costs that are tuned"):
        CostClassifier(GaussianNB(), np.eye(3), recall_floors={1: 0.5}).fit(X, Y)
    with pytest.raises(ValueError, match="label 7, which is not a class"):
        CostClassifier(GaussianNB()).fit(X, Y).mean_cost(X[:1], [7])
    with pytest.raises(ValueError, match=r"sum to 1; row 1 of p: 0\.5"):
        cost_table(None, [0, 1]).expected([[0.5, 0.5], [0.25, 0.25]])


def best_of_a_grid(p, y, metric):
    """Try factors on a fine grid: for two classes, only their ratio counts."""
    found = []
    for ratio in np.exp(np.linspace(-12, 12, 4001)):
        chosen = (p[:, 1] * ratio > p[:, 0]).astype(int)
        right = np.array([np.sum((y == k) & (chosen == k)) for k in range(2)], float)
        predicted = np.bincount(chosen, minlength=2).astype(float)
        found.append(float(METRICS[metric](right, predicted, np.bincount(y, minlength=2) * 1.0)))
    return max(found)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", range(3))
def test_tuned_factors_of_two_classes_are_the_best_of_all(metric, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(120) < 0.2).astype(int)
    logit = rng.normal(2.0 * y - 2.5, 1.5)
    p = np.column_stack([1 / (1 + np.exp(logit)), 1 / (1 + np.exp(-logit))])
    tuned = tune_factors(p, y, metric)
    assert tuned.score >= best_of_a_grid(p, y, metric) - 1e-12
    assert tuned.score >= tuned.before


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["macro_f1", "balanced_accuracy", "accuracy"]))
def test_no_single_factor_improves_and_figures_are_scikit_learns(seed, metric):
    rng = np.random.default_rng(seed)
    y = rng.choice(4, 80, p=[0.6, 0.2, 0.15, 0.05])
    p = rng.dirichlet(np.ones(4), 80) * 0.5 + 0.5 * np.eye(4)[y] * rng.random((80, 1))
    p /= p.sum(axis=1, keepdims=True)
    tuned = tune_factors(p, y, metric)
    chosen = (p * tuned.factors).argmax(axis=1)
    named = {
        "macro_f1": lambda a: f1_score(y, a, average="macro", labels=range(4), zero_division=0),
        "balanced_accuracy": lambda a: recall_score(
            y, a, average="macro", labels=np.unique(y), zero_division=0
        ),
        "accuracy": lambda a: np.mean(y == a),
    }[metric]
    assert tuned.score == pytest.approx(named(chosen))
    assert tuned.before == pytest.approx(named(p.argmax(axis=1)))
    true = np.bincount(y, minlength=4).astype(float)
    for k in range(4):
        for factor in np.exp(np.linspace(-6, 6, 41)):
            other = tuned.factors.copy()
            other[k] *= factor
            chosen = (p * other).argmax(axis=1)
            right = np.bincount(y[chosen == y], minlength=4).astype(float)
            predicted = np.bincount(chosen, minlength=4).astype(float)
            assert METRICS[metric](right, predicted, true) <= tuned.score + 1e-9


def unbalanced(seed):
    return make_classification(
        3000,
        8,
        n_informative=5,
        n_classes=3,
        weights=[0.85, 0.1, 0.05],
        class_sep=0.8,
        random_state=seed,
    )


def test_tuned_costs_help_on_new_rows():
    gains = {"macro_f1": [], "balanced_accuracy": []}
    for seed in range(3):
        Z, y = unbalanced(seed)
        for metric, found in gains.items():
            score = {
                "macro_f1": lambda a, b: f1_score(a, b, average="macro", zero_division=0),
                "balanced_accuracy": balanced_accuracy_score,
            }[metric]
            clf = CostClassifier(LogisticRegression(), metric).fit(Z[::2], y[::2])
            plain = clf.classes_[clf.predict_proba(Z[1::2]).argmax(axis=1)]
            found.append(score(y[1::2], clf.predict(Z[1::2])) - score(y[1::2], plain))
            assert clf.tuned_score_ >= clf.untuned_score_
    assert min(gains["macro_f1"]) > 0.03
    assert min(gains["balanced_accuracy"]) > 0.1


def test_recall_floors_are_met_on_the_held_out_rows():
    Z, y = unbalanced(0)
    floors = {1: 0.7, 2: 0.8}
    clf = CostClassifier(LogisticRegression(), recall_floors=floors, cv=FOLDS).fit(Z[::2], y[::2])
    p = cross_val_predict(LogisticRegression(), Z[::2], y[::2], cv=FOLDS, method="predict_proba")
    factors = clf.costs_.max(axis=1)
    recalls = recall_score(y[::2], (p * factors).argmax(axis=1), average=None)
    np.testing.assert_allclose(recalls, clf.recalls_)
    assert recalls[1] >= 0.7
    assert recalls[2] >= 0.8
    new = recall_score(y[1::2], clf.predict(Z[1::2]), average=None)
    for k, floor in floors.items():
        assert new[k] > floor - 3 * np.sqrt(floor * (1 - floor) / np.sum(y[1::2] == k))
    with pytest.warns(UserWarning, match="recall_floors cannot all be met"):
        CostClassifier(
            LogisticRegression(), "accuracy", recall_floors=dict.fromkeys(range(3), 0.99)
        ).fit(Z[::2], y[::2])


def test_in_pipelines_and_searches():
    Z, y = load_wine(return_X_y=True)
    costs = [[0, 5, 9], [1, 0, 2], [1, 1, 0]]
    pipe = make_pipeline(StandardScaler(), CostClassifier(LogisticRegression(), costs))
    search = GridSearchCV(pipe, {"costclassifier__estimator__C": [1e-3, 1.0]}, cv=3).fit(Z, y)
    assert search.best_params_ == {"costclassifier__estimator__C": 1.0}
    assert search.best_score_ <= 0
    outside = CostClassifier(make_pipeline(StandardScaler(), LogisticRegression()), costs)
    np.testing.assert_array_equal(clone(outside).fit(Z, y).predict(Z), pipe.fit(Z, y).predict(Z))
