"""What `show` and `card` say about how a model was judged."""

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_iris

from polychotomy.cli.cards import _text
from polychotomy.compare import (
    candidates,
    class_figures,
    compare_methods,
    html_card,
    html_report,
    worst_confusions,
)


def described(found, method):
    """Return the facts about a model file that was written after a comparison."""
    return {
        **{"method": method, "title": method, "data": "iris", "rows": 50, "target": "kind"},
        **{"classes": ["a", "b", "c"], "columns": [], "decisions": []},
        **{"training": "", "comparison": found.summary()},
    }


def test_they_say_how_the_kept_method_was_judged_and_not_the_others():
    X, y = load_iris(return_X_y=True)
    found = compare_methods(X[::3], y[::3], ["PWC_PSVM", "logistic"], n_splits=3)
    words = "3 random stratified splits, 76 % for training"
    facts = described(found, "PWC_PSVM")
    assert f"not seen ({words}):" in _text(facts)
    assert f"not seen: {words}." in html_card(facts)

    less = {**facts, "trained_rows": 20}
    own = f"{words}; trained on 38 rows there, and on 20 in the file, so that it is less good"
    assert f"not seen ({own}):" in _text(less)
    assert f"not seen: {own}." in html_card(less)

    (first, *_), both = found.held_out["PWC_PSVM"], dict(found.held_out)
    del both["PWC_PSVM"]
    few = replace(found, held_out=both, others={"PWC_PSVM": [replace(first, train_rows=20)]})
    facts = described(few, "PWC_PSVM")
    own = f"trained on 20 rows, 1 split; other methods: {words}"
    assert f"not seen ({own}):" in _text(facts)
    assert f"not seen: {own}." in html_card(facts)


def test_the_figures_are_those_of_the_method_in_the_file():
    """If there was no time for the best method on all rows, another one is in the file."""
    X, y = load_iris(return_X_y=True)
    found = compare_methods(X[::2], y[::2], ["MWV_SVM", "logistic"], n_splits=3, importance=True)
    other = next(name for name in ("MWV_SVM", "logistic") if name != found.recommended)
    assert found.per_class != class_figures(found, other)
    kept = found.summary(other)
    assert kept["per_class"] == class_figures(found, other)
    assert kept["worst_confusions"] == worst_confusions(found, name=other)
    assert kept["importance"] is None
    assert {point["method"] for point in kept["learning_curve"]} == {other}
    own = found.summary()
    assert own["per_class"] == found.per_class
    assert own["calibration"] == found.recalibrated
    page = html_card({**described(found, found.recommended), "comparison": own})
    assert f"{own['calibration']['after']:.4f} after tempering" in page
    assert "With fewer rows" in page
    for name in ("MWV_SVM", "logistic"):
        assert candidates()[name].title in page


def test_a_method_that_was_not_judged_has_no_figures():
    """If there was no time to train those that were, a faster one is in the file."""
    X, y = load_iris(return_X_y=True)
    found = compare_methods(X[::2], y[::2], ["PWC_PSVM", "logistic"], n_splits=2)
    assert found.is_judged("logistic")
    assert not found.is_judged("LSL")
    kept = found.summary("LSL")
    assert kept["per_class"] == kept["worst_confusions"] == kept["learning_curve"] == []
    assert kept["calibration"] is kept["importance"] is None
    assert [row["method"] for row in kept["ranking"]] == [row["method"] for row in found.rows]
    facts = {**described(found, "LSL"), "comparison": {**kept, "slices": []}}
    for words in (_text(facts), html_card(facts)):
        assert "LSL" in words
        assert "It was not judged: there was no time to train those methods that were." in words
        assert "precision" not in words
        assert candidates()[found.recommended].title in words


def test_a_method_that_was_judged_less_thoroughly_is_not_alone():
    """It is compared with that of the ranking, and what was not tuned is not said to have been."""
    X, y = load_iris(return_X_y=True)
    found = compare_methods(X[::2], y[::2], ["PWC_PSVM", "logistic"], n_splits=2)
    runs = dict(found.held_out)
    good = [replace(one, tuned=False) for one in runs.pop("logistic")[:1]]
    flat = [replace(one, p=np.full_like(one.p, 1 / 3)) for one in runs.pop("PWC_PSVM")]
    few = replace(found, held_out={"PWC_PSVM": flat, **runs}, others={"logistic": good})
    assert few.recommended == "logistic"
    assert "less than that of PWC_PSVM on the same rows" in few.reasons[0]
    assert "No other method was judged" not in " ".join(few.reasons)
    tuned = "every method was tuned inside each training part"
    assert f"{tuned}, unless the table says otherwise." in html_report(few, "iris", until=0.0)
    assert f"{tuned}. Methods" in html_report(found, "iris", until=0.0)
