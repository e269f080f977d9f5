"""Training within a time limit: there is always a model, and what it is, is said."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

import stubborn
from polychotomy.compare import fit_method
from polychotomy.compare._training import Fit, Trainer, fit_in_time
from polychotomy.execution.deadline import Clock

X, Y = load_iris(return_X_y=True)
MANY_X, MANY_Y = make_blobs(3000, centers=3, n_features=3, cluster_std=3.0, random_state=0)


def test_what_is_trained_in_time_is_what_fit_method_makes():
    trained = fit_in_time(["PWC_PSVM"], Trainer(X, Y, "scale", {}), Clock(600.0))
    alone = fit_method("PWC_PSVM", X, Y)
    assert trained.said == ""
    assert np.array_equal(trained.model.predict_proba(X), alone.predict_proba(X))


def test_a_part_of_the_rows_is_stratified():
    model = fit_method("logistic", MANY_X, MANY_Y, n_rows=300)
    assert len(model.classes_) == 3
    assert model.score(MANY_X, MANY_Y) > 0.8


def test_a_part_is_kept_if_there_is_no_time_for_all_rows():
    trainer = Trainer(MANY_X, MANY_Y, "scale", {}, finish=stubborn.train)
    # The pace says that there is no time for other processes: a signal ends the work here.
    part = fit_in_time(["PSVC"], trainer, Clock(3.0, pace=100.0), 2)
    assert (part.name, part.rows, part.model) == ("PSVC", 1000, ("PSVC", 1000))
    assert "no time to train PSVC on all 3,000 rows: it was trained on 1,000" in part.said


def test_a_faster_method_takes_its_place():
    trainer = Trainer(MANY_X, MANY_Y, "scale", {}, finish=stubborn.train)
    other = fit_in_time(["PSVC", "logistic"], trainer, Clock(3.0, pace=100.0), 2)
    assert (other.name, other.rows, other.model) == ("logistic", 3000, ("logistic", None))
    assert "logistic, which is faster" in other.said


def test_work_that_is_no_longer_needed_is_ended():
    trainer = Trainer(MANY_X, MANY_Y, "scale", {}, finish=stubborn.train)
    clock = Clock(200.0)
    done = fit_in_time(["TKLR"], trainer, clock, 2)
    assert (done.model, done.said) == (("TKLR", None), "")
    assert clock.spent < 180.0  # the part would have taken all the time


def test_without_time_something_is_trained():
    trainer = Trainer(MANY_X, MANY_Y, "scale", {})
    trained = fit_in_time(["POOL"], trainer, Clock(0.01), 2)
    assert trained.rows == 1000
    assert f"train POOL: {trained.name} was trained, without tuning, on 1,000" in trained.said
    assert trained.model.score(MANY_X, MANY_Y) > 0.7


def test_a_method_may_stand_in_for_itself():
    trained = fit_in_time(["logistic"], Trainer(X, Y, "scale", {}), Clock(0.0), 1)
    assert "no time to tune logistic: it was trained, without tuning, on all 150" in trained.said


def test_a_mistake_is_not_a_lack_of_time():
    def broken(*arguments, **options):
        raise ValueError("the reason")

    with pytest.raises(ValueError, match="the reason"):
        fit_in_time(["logistic"], Trainer(X, Y, "scale", {}, finish=broken), Clock(600.0))
    assert Fit("logistic").rows is None
