"""How a unit of a study is run."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import log_loss

import polychotomy as pc
from polychotomy import datasets
from polychotomy.execution.units import Unit
from polychotomy.execution.work import WorkerError
from polychotomy.study.definition import load_study
from polychotomy.study.protocol import partition, run_unit, sweep_name, units_of

GENERATED = {"source": "generated"}


def unit(methods, search=None, data="waveform", options=GENERATED, **changes):
    loaded = datasets.load(data, **options)
    definition = {
        "data": {"name": data, **options},
        "split": "stratified",
        "train": 90,
        "inputs": "continuous",
        "seed": 5,
        "search": {"folds": 3, "ties": "duan2003", "steps": "coarse", **(search or {})},
        "methods": [
            {"name": name, "recipe": name} if isinstance(name, str) else name for name in methods
        ],
        **changes,
    }
    return Unit("test", data, loaded.checksum, 0, "any", definition)


def test_a_unit_gives_the_figures_of_its_methods_tuned_alone():
    one = unit(["MWV_SVM", "PWC_PSVM"])
    results = run_unit(one)
    part = partition(one)
    assert [result.method for result in results] == ["MWV_SVM", "PWC_PSVM"]
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(3, shuffle=True, random_state=one.seed("folds"))
    for result in results:
        alone = pc.TwoStepSearchCV(pc.recipe(result.method), fine=None, cv=folds)
        alone.fit(part.X_train, part.y_train)
        assert result.parameters == alone.best_params_
        assert result.error == np.mean(alone.predict(part.X_test) != part.y_test)
        if result.nll is not None:
            p = alone.predict_proba(part.X_test)
            assert result.nll == pytest.approx(log_loss(part.y_test, p), rel=1e-9)
        assert result.figures["cv_error"] == pytest.approx(1 - alone.best_score_)


def test_results_depend_on_the_unit_alone():
    first, second = (run_unit(unit(["WTA_SVM"])) for _ in range(2))
    assert first[0].error == second[0].error
    other = run_unit(replace(unit(["WTA_SVM"]), partition=1))
    assert other[0].error != first[0].error


def test_partitions_are_stratified_and_scaled_by_the_training_part():
    part = partition(unit(["MWV_SVM"]))
    np.testing.assert_allclose(part.X_train.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(part.X_train.std(axis=0), 1.0)
    assert abs(part.X_test.mean(axis=0)).max() > 1e-3
    assert len(part.y_train) == 90
    assert len(part.y_test) == 4910
    assert max(np.unique(part.y_train, return_counts=True)[1]) <= 32
    bare = partition(unit(["MWV_SVM"], inputs="none"))
    assert abs(bare.X_train.mean(axis=0)).max() > 0.5


def test_learners_of_galar_are_not_tuned():
    entry = {"name": "VOTE_tree", "recipe": "VOTE", "learner": "tree"}
    (result,) = run_unit(unit([entry]))
    assert result.parameters == {}
    assert 0.1 < result.error < 0.5


def test_rows_of_a_class_without_training_rows_are_errors():
    data = {"source": "generated"}
    one = unit(["LSSVM_LIN_1vsA_Bayes"], data="led", options=data, split="random", train=12)
    result = run_unit(one)[0]
    part = partition(one)
    unseen = ~np.isin(part.y_test, part.y_train)
    assert unseen.any()
    assert result.figures["rows_of_unseen_classes"] == unseen.sum()
    assert result.error >= unseen.mean()
    assert np.isfinite(result.nll)


def test_a_part_with_too_few_rows_of_every_class_gets_fewer_folds():
    few = unit(["MWV_SVM"], {"folds": 10}, train=12)
    (result,) = run_unit(few)
    (same,) = run_unit(unit(["MWV_SVM"], {"folds": 4}, train=12))
    sentence = "No class has more than 4 training rows: 4 folds instead of 10."
    assert sentence in result.warnings
    assert not same.warnings
    assert (result.error, result.parameters) == (same.error, same.parameters)


def test_other_data_than_the_study_was_started_with_is_refused():
    with pytest.raises(WorkerError, match="differs from the driver's"):
        run_unit(replace(unit(["MWV_SVM"]), dataset_checksum="0"))


def test_the_twelve_methods_of_duan_are_four_sweeps():
    units = units_of(load_study("duan2003"), ["waveform"], partitions=2, data=GENERATED)
    assert len(units) == 8
    assert sum(len(one.definition["methods"]) for one in units) == 24
    assert len({one.key for one in units}) == 8
    assert units[0].seed("partition") == units[1].seed("partition") != units[4].seed("partition")


def test_nested_and_other_kernels_are_sweeps_of_their_own():
    assert sweep_name({"recipe": "NEST"}) == "SVM one_vs_one nested"
    assert sweep_name({"recipe": "SVM_LIN_MOC_loss"}) == "SVM linear minimal"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((["wavefrom"],), "no data set 'wavefrom'. Did you mean 'waveform'"),
        ((["waveform"], ["PWC_SVM"]), "no method 'PWC_SVM'"),
    ],
)
def test_unknown_parts_of_a_study_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        units_of(load_study("duan2003"), *arguments)
