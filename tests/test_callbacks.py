"""scikit-learn's callbacks on our searches."""

import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polychotomy import MethodSweep, TwoStepSearchCV

pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")

X, Y = load_iris(return_X_y=True)
GRID = {"machine__C": [1.0, 10.0], "machine__sigma2": [0.5, 1.0, 2.0]}


class Record:
    """Writes down what it is told, for this estimator and those inside."""

    max_propagation_depth = None

    def __init__(self, fails=False):
        self.fails = fails
        self.events = []

    def setup(self, estimator, context):
        self.events.append(("setup", type(estimator).__name__))

    def teardown(self, estimator, context):
        self.events.append(("teardown", type(estimator).__name__))

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, X=None):
        self.events.append(("end", context.task_name))
        if self.fails and context.task_name == "cell":
            raise RuntimeError("enough")

    def count(self, *event):
        return self.events.count(event)


def search(**options):
    return TwoStepSearchCV(coarse=GRID, fine=(0.7, 1.0), **options)


def test_every_cell_of_a_search_is_told():
    record = Record()
    found = search().set_callbacks(record).fit(X, Y)
    assert record.events[:3] == [
        ("setup", "TwoStepSearchCV"),
        ("begin", "fit"),
        ("begin", "SVM, one_vs_one: coarse"),
    ]
    assert record.events[-2:] == [("end", "fit"), ("teardown", "TwoStepSearchCV")]
    assert record.count("begin", "cell") == record.count("end", "cell")
    # The fine grid has the best coarse cell, which is not judged again.
    assert record.count("end", "cell") == 6 + 4 - 1
    assert record.count("end", "SVM, one_vs_one: fine") == 1
    assert found.best_params_ == search().fit(X, Y).best_params_


def test_every_sweep_of_several_methods_is_told():
    record = Record()
    sweep = MethodSweep(["MWV_SVM", "PWC_PSVM", "WTA_SVM"], coarse=GRID, fine=None)
    sweep.set_callbacks(record).fit(X, Y)
    for code in ("one_vs_one", "one_vs_rest"):
        assert record.count("begin", f"SVM, {code}: coarse") == 1
        assert record.count("end", f"SVM, {code}: coarse") == 1
    assert record.count("end", "cell") == 12


@pytest.mark.parametrize(
    "outer",
    [
        lambda inner: make_pipeline(StandardScaler(), inner),
        lambda inner: GridSearchCV(inner, {"ties": ["nll", "duan2003"]}, cv=2),
    ],
)
def test_callbacks_of_what_is_around_a_search_are_told(outer):
    record = Record()
    outer(search()).set_callbacks(record).fit(X, Y)
    assert record.count("begin", "SVM, one_vs_one: coarse") >= 1
    assert record.count("end", "cell") >= 9
    assert [event for event, _ in record.events].count("setup") == 1


def test_callbacks_end_when_a_fit_fails_and_can_be_taken_away():
    record = Record(fails=True)
    broken = search().set_callbacks(record)
    with pytest.raises(RuntimeError, match="enough"):
        broken.fit(X, Y)
    assert record.events[-1] == ("teardown", "TwoStepSearchCV")
    assert not any("callback_fit" in name for name in vars(broken))
    n_events = len(record.events)
    broken.set_callbacks().fit(X, Y)
    assert len(record.events) == n_events


def test_a_clone_keeps_them_and_nonsense_is_refused():
    record = Record()
    clone(search().set_callbacks(record)).fit(X, Y)
    assert record.events
    with pytest.raises(TypeError, match="FitCallback"):
        search().set_callbacks(print)
