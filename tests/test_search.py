"""Searches: their cells against brute force, their choices, and how they fail."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, LinearSVC

import polychotomy as pc
from polychotomy import native
from polychotomy.core.scores import LEAST_PROBABILITY
from polychotomy.pipe.training import train

DUAN = [name for name, method in pc.recipes().items() if "DUAN03" in method.papers]
SMALL = {"machine__C": [0.1, 1.0, 10.0], "machine__sigma2": [1.0, 10.0]}


def thin(X, y, step):
    return scale(X[::step]), y[::step]


def problems():
    digits = load_digits(return_X_y=True)
    few = digits[1] < 4
    yield "iris", thin(*load_iris(return_X_y=True), 2)
    yield "wine", thin(*load_wine(return_X_y=True), 2)
    yield "digits", thin(digits[0][few] + 0.0, digits[1][few], 10)
    for seed, spread in ((0, 1.0), (1, 3.0), (2, 8.0)):
        yield (
            f"blobs {spread}",
            make_blobs(66, 3, centers=3, cluster_std=spread, random_state=seed),
        )


PROBLEMS = {name: (scale(X), y) for name, (X, y) in problems()}


def brute_force_scores(X, y, splits, C, sigma2, codebook):
    """Out-of-fold scores of LIBSVM, a column and a fold at a time."""
    scores = np.zeros((len(y), codebook.n_columns))
    for train_rows, test_rows in splits:
        for column in range(codebook.n_columns):
            labels = codebook.matrix[y[train_rows], column]
            used = train_rows[labels != 0]
            machine = SVC(C=C, gamma=1 / (2 * sigma2), tol=1e-6)
            machine.fit(X[used], codebook.matrix[y[used], column])
            scores[test_rows, column] = machine.decision_function(X[test_rows])
    return scores


def brute_force_classes(scores, y, splits, codebook, calibrated, decoder):
    """Sigmoids and decoders fitted on the other folds' rows, a fold at a time."""
    result = np.zeros((len(y), codebook.n_classes))
    folds = np.zeros(len(y), dtype=int)
    for number, (_, test_rows) in enumerate(splits):
        folds[test_rows] = number
    for train_rows, test_rows in splits:
        probability = None
        if calibrated:
            A, B, _ = native.fit_platt(scores[train_rows], codebook.matrix[y[train_rows]])
            probability = expit(-(A * scores[test_rows] + B))
        context = pc.Context(
            codebook,
            y[train_rows],
            held_out=pc.Margins(mean=scores[train_rows]),
            folds=folds[train_rows],
        )
        margins = pc.Margins(mean=scores[test_rows], probability=probability)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result[test_rows] = clone(decoder).fit(context).decode(margins)
    return result


@pytest.mark.parametrize("problem", PROBLEMS)
def test_cells_equal_brute_force_with_libsvm(problem):
    X, y = PROBLEMS[problem]
    splits = list(StratifiedKFold(5).split(X, y))
    names = ["MWV_SVM", "PWC_PSVM", "WTA_SVM", "WTA_PSVM", "SSMC1va"]
    values = [0.01, 1.0, 100.0]
    grid = {"machine__C": values, "machine__sigma2": values}
    sweep = pc.MethodSweep(names, grid, None, cv=splits, refit=False).fit(X, y)
    cells = sweep.cells_
    for C in values:
        for sigma2 in values:
            scores = {
                code: brute_force_scores(X, y, splits, C, sigma2, code().build(len(set(y))))
                for code in (pc.OneVsOne, pc.OneVsRest)
            }
            for name in names:
                method = pc.recipes()[name]
                codebook = method.code.build(len(set(y)))
                own = scores[type(method.code)]
                result = brute_force_classes(
                    own, y, splits, codebook, method.calibrator.learns, method.decoder
                )
                cell = (cells["method"] == name) & (cells["machine__C"] == C)
                (place,) = np.flatnonzero(cell & (cells["machine__sigma2"] == sigma2))
                # Rows whose decision a small difference of a score may turn.
                top = np.sort(result, axis=1)
                doubtful = (np.abs(own) < 1e-2).any(axis=1) | (top[:, -1] - top[:, -2] < 1e-2)
                wrong = np.sum(result.argmax(axis=1) != y)
                assert abs(cells["cv_error"][place] * len(y) - wrong) <= doubtful.sum() + 1e-9
                if method.probabilities:
                    own_class = np.maximum(result[np.arange(len(y)), y], LEAST_PROBABILITY)
                    nll = -np.mean(np.log(own_class))
                    assert cells["cv_nll"][place] == pytest.approx(nll, rel=1e-2)


def test_a_wrapped_classifier_is_searched_as_by_cross_validation():
    X, y = PROBLEMS["blobs 3.0"]
    folds = StratifiedKFold(4)
    clf = pc.PolychotomyClassifier(LogisticRegression())
    search = pc.TwoStepSearchCV(clf, {"machine__C": [0.01, 1.0]}, [0.5, 2], cv=folds).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    for params, error, nll in zip(
        search.cv_results_["params"],
        search.cv_results_["cv_error"],
        search.cv_results_["cv_nll"],
        strict=True,
    ):
        one = clone(clf).set_params(**params)
        p = cross_val_predict(one, X, y, cv=folds, method="predict_proba")
        assert error == pytest.approx(np.mean(p.argmax(axis=1) != y))
        assert nll == pytest.approx(-np.mean(np.log(p[np.arange(len(y)), y])))


@pytest.mark.parametrize("name", DUAN)
def test_noise_labels_give_chance_in_every_cell(name):
    """Were a row scored by anything that saw it, flexible parts would look better than chance."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(210, 6)), np.tile([0, 1, 2], 70)
    grid = {"machine__C": [1.0, 100.0], "machine__sigma2": [0.1, 10.0]}
    method = pc.recipe(name)
    if name.startswith("SMC"):
        method.set_params(decoder__C_values=[0.01, 1.0, 100.0])
    search = pc.TwoStepSearchCV(method, grid, None, cv=KFold(5), refit=False).fit(X, y)
    # chance is 2/3, with a deviation of 0.033
    assert (search.cv_results_["cv_error"] > 0.53).all()
    if pc.recipes()[name].probabilities:
        assert (search.cv_results_["cv_nll"] > 0.98 * np.log(3)).all()


def test_methods_tuned_together_are_as_if_tuned_alone():
    X, y = PROBLEMS["blobs 8.0"]
    names = ["MWV_SVM", "PWC_PSVM", "SSMC1v1", "WTA_SVM", "WTA_PSVM", "PWC_KLR", "NEST"]
    together = pc.MethodSweep(names, SMALL, [0.5, 2]).fit(X, y)
    assert list(together.classifiers_) == names
    for name in names:
        alone = pc.TwoStepSearchCV(pc.recipe(name), SMALL, [0.5, 2]).fit(X, y)
        assert together.best_params_[name] == alone.best_params_
        own = together.cells_["method"] == name
        for key in ("cv_error", "cv_nll"):
            np.testing.assert_array_equal(together.cells_[key][own], alone.cv_results_[key])
        for function in ("predict_proba", "decision_function", "predict"):
            if hasattr(alone, function):
                expected = getattr(alone, function)(X)
                found = getattr(together.classifiers_[name], function)(X)
                np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("several_blas_threads")
def test_results_are_bit_equal_for_any_number_of_jobs():
    X, y = PROBLEMS["blobs 3.0"]
    one, two = (
        pc.TwoStepSearchCV(pc.recipe("PWC_PSVM"), SMALL, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.cv_results_["cv_nll"], two.cv_results_["cv_nll"])
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_no_machine_is_trained_twice(monkeypatch):
    """After the sweep only the machines of all rows are trained, once for a cell."""
    X, y = PROBLEMS["blobs 3.0"]
    subsets = []

    def counted(data, rows):
        subsets.append(len(rows))
        return train(data, rows)

    monkeypatch.setattr("polychotomy.tuning.sweep.train", counted)
    grid = {"machine__C": [1.0], "machine__sigma2": [1.0]}
    pc.MethodSweep(["MWV_SVM", "PWC_PSVM", "SSMC1v1"], grid, None).fit(X, y)
    assert subsets == [1]


def test_the_last_fit_is_that_of_the_classifier_with_the_best_parameters():
    X, y = PROBLEMS["blobs 3.0"]
    for name in ("PWC_PSVM", "SSMC1v1", "WTA_KLR"):
        method = pc.recipe(name)
        tolerance = 1e-8 if name == "WTA_KLR" else 1e-6
        method.set_params(machine__tol=tolerance)
        search = pc.TwoStepSearchCV(method, SMALL, [0.5, 2]).fit(X, y)
        again = clone(search.best_estimator_).fit(X, y)
        np.testing.assert_allclose(search.predict_proba(X), again.predict_proba(X), atol=1e-4)


def test_the_table_is_that_of_a_scikit_learn_search():
    X, y = PROBLEMS["iris"]
    search = pc.TwoStepSearchCV(pc.recipe("MWV_SVM"), SMALL, [0.5, 2], cv=4).fit(X, y)
    table = search.cv_results_
    assert search.n_splits_ == 4
    assert {len(column) for column in table.values()} == {len(table["params"])}
    assert list(table["step"]) == ["coarse"] * 6 + ["fine"] * 8
    assert table["params"][search.best_index_] == search.best_params_
    assert table["mean_test_score"][search.best_index_] == search.best_score_
    best = table["mean_test_score"] == table["mean_test_score"].max()
    np.testing.assert_array_equal(best, table["rank_test_score"] == 1)
    splits = np.stack([table[f"split{k}_test_score"] for k in range(4)])
    np.testing.assert_allclose(splits.std(axis=0), table["std_test_score"])
    assert np.isnan(table["cv_nll"]).all()
    assert search.best_estimator_.get_params()["machine__C"] == search.best_params_["machine__C"]
    assert not hasattr(search, "predict_proba")
    assert search.score(X, y) > 0.9


def test_weights_of_zero_leave_rows_out_of_the_figures():
    X, y = PROBLEMS["blobs 3.0"]
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    used = np.flatnonzero(weights)
    folds = [
        (used[train_rows], used[test_rows])
        for train_rows, test_rows in StratifiedKFold(3).split(X[used], y[used])
    ]
    one = pc.TwoStepSearchCV(pc.recipe("PWC_PSVM"), SMALL, None, cv=folds)
    one.fit(X, y, sample_weight=weights)
    other = pc.TwoStepSearchCV(pc.recipe("PWC_PSVM"), SMALL, None, cv=StratifiedKFold(3)).fit(
        X[used], y[used]
    )
    np.testing.assert_allclose(one.cv_results_["cv_nll"], other.cv_results_["cv_nll"])


def test_sparse_inputs_and_pipelines():
    X, y = load_iris(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), pc.TwoStepSearchCV(coarse=SMALL, fine=None)).fit(X, y)
    assert pipe.score(X, y) > 0.9
    clf = pc.PolychotomyClassifier(pc.SVM(tol=1e-8))
    dense, sparse = (
        pc.TwoStepSearchCV(clf, SMALL, None).fit(rows, y).cv_results_["cv_nll"]
        for rows in (scale(X), csr_array(scale(X)))
    )
    np.testing.assert_allclose(dense, sparse, rtol=1e-7)


def test_a_cell_that_does_not_converge_is_left_out_with_one_warning():
    X, y = PROBLEMS["blobs 8.0"]
    clf = pc.PolychotomyClassifier(pc.SVM(max_iter=40), decoder="max_wins")
    with pytest.warns(FitFailedWarning, match="machine__C.*did not converge") as caught:
        search = pc.TwoStepSearchCV(clf, {"machine__C": [1e-3, 1e3]}, None, refit=False).fit(X, y)
    assert len(caught) == 1
    assert list(np.isnan(search.cv_results_["cv_error"])) == [False, True]
    assert search.best_params_ == {"machine__C": 1e-3}
    assert search.cv_results_["status"][0] == "ok"
    assert "did not converge" in search.cv_results_["status"][1]
    assert list(search.cv_results_["rank_test_score"]) == [1, 2]


def test_a_cell_whose_training_fails_is_left_out():
    X, y = PROBLEMS["blobs 3.0"]
    clf = pc.PolychotomyClassifier(LinearSVC(), decoder="max_wins")
    grid = {"machine__C": [1.0, -1.0]}
    with pytest.warns(FitFailedWarning, match="'machine__C': -1.0"):
        search = pc.TwoStepSearchCV(clf, grid, None).fit(X, y)
    assert search.best_params_ == {"machine__C": 1.0}


def test_one_error_if_every_cell_fails():
    X, y = PROBLEMS["blobs 8.0"]
    search = pc.TwoStepSearchCV(pc.PolychotomyClassifier(pc.SVM(max_iter=1)), SMALL, None)
    with (
        pytest.warns(FitFailedWarning),
        pytest.raises(ValueError, match=r"All 6 cells .* did not converge"),
    ):
        search.fit(X, y)
    assert not hasattr(search, "best_params_")


def test_a_fold_that_lacks_a_class_is_pointed_out():
    X, y = PROBLEMS["blobs 3.0"]
    order = np.argsort(y, kind="stable")
    search = pc.TwoStepSearchCV(pc.recipe("PWC_PSVM"), SMALL, None, cv=KFold(3))
    with pytest.warns(UserWarning, match="Fold 0 of cv has no training rows of class"):
        search.fit(X[order], y[order])
    assert "no training rows" in search.cv_results_["status"][0]
    assert (search.cv_results_["cv_error"] > 0.6).all()


def test_an_interrupt_leaves_the_search_as_it_was(monkeypatch):
    X, y = PROBLEMS["iris"]
    search = pc.TwoStepSearchCV(pc.recipe("PWC_PSVM"), SMALL, None).fit(X, y)
    before = search.predict_proba(X)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("polychotomy.tuning.sweep.try_path", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X[::2], y[::2])
    np.testing.assert_array_equal(search.predict_proba(X), before)


@pytest.mark.parametrize(
    ("search", "error", "sentence"),
    [
        (pc.TwoStepSearchCV(SVC()), TypeError, "estimator must be a PolychotomyClassifier"),
        (pc.TwoStepSearchCV(ties="best"), ValueError, "Unknown ties 'best'"),
        (pc.TwoStepSearchCV(coarse={"C": [1]}), ValueError, "'C', which the machine does not have"),
        (
            pc.TwoStepSearchCV(coarse={"machine__D": [1]}),
            ValueError,
            "'machine__D', which the machine does not have",
        ),
        (
            pc.TwoStepSearchCV(pc.PolychotomyClassifier(LinearSVC())),
            ValueError,
            "coarse must name the parameters of LinearSVC",
        ),
        (pc.TwoStepSearchCV(cv="prefit"), ValueError, "A search needs folds"),
        (pc.MethodSweep([]), ValueError, "at least one method"),
        (pc.MethodSweep(3), TypeError, "methods must be a list"),
        (pc.MethodSweep(["MWV_SVM", "MWV_SVM"]), ValueError, "'MWV_SVM' twice"),
        (pc.MethodSweep([("a", 1, 2)]), TypeError, "pairs of a name and a classifier"),
        (pc.MethodSweep(["MWV_SVN"]), ValueError, "Did you mean 'MWV_SVM'"),
        (
            pc.MethodSweep(["MWV_SVM"], ties={"x": "nll"}),
            ValueError,
            "'x', which is not in methods",
        ),
    ],
)
def test_bad_searches_are_refused_in_a_sentence(search, error, sentence):
    with pytest.raises(error, match=sentence):
        search.fit(*PROBLEMS["iris"])


def test_predicting_without_refit_says_what_to_do():
    search = pc.TwoStepSearchCV(coarse=SMALL, fine=None, refit=False).fit(*PROBLEMS["iris"])
    with pytest.raises(AttributeError) as caught:
        search.predict(PROBLEMS["iris"][0])
    assert "refit=True" in str(caught.value.__cause__)


def test_scikit_learn_searches_work_on_the_estimator():
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV

    X, y = PROBLEMS["iris"]
    clf = pc.PolychotomyClassifier(pc.SVM())
    grid = {"machine__C": [0.1, 10.0], "machine__sigma2": [1.0], "code": ["one_vs_rest"]}
    assert GridSearchCV(clf, grid, cv=3).fit(X, y).best_score_ > 0.8
    search = HalvingGridSearchCV(clf, grid, cv=3, min_resources=40, random_state=0)
    assert search.fit(X, y).score(X, y) > 0.8


def test_optuna_works_on_the_estimator():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = PROBLEMS["iris"]

    def objective(trial):
        clf = pc.PolychotomyClassifier(pc.SVM())
        clf.set_params(
            machine__C=trial.suggest_float("machine__C", 1e-2, 1e2, log=True),
            decoder=trial.suggest_categorical("decoder", ["max_wins", "pairwise_coupling"]),
        )
        p = cross_val_predict(clf, X, y, cv=3)
        return float(np.mean(p == y))

    sampler = optuna.samplers.RandomSampler(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.optimize(objective, n_trials=3)
    best = pc.PolychotomyClassifier(pc.SVM()).set_params(**study.best_params).fit(X, y)
    assert best.score(X, y) > 0.8


@pytest.mark.parametrize("machine", [pc.SVM(), pc.LSSVM(), pc.KernelLogisticRegression()])
def test_inputs_of_very_different_scales_are_warned_about(machine):
    X, y = PROBLEMS["iris"]
    clf = pc.PolychotomyClassifier(machine, "one_vs_rest", None, "winner_takes_all")
    with pytest.warns(UserWarning, match="scales of the inputs differ by a factor of"):
        clf.fit(X * [1.0, 1e-4, 1.0, 1.0], y)
    # No word where there is nothing to scale, or where the kernel is another.
    clf.fit(X * [1.0, 0.0, 1.0, 1.0] + [0.0, 1e9, 0.0, 0.0], y)
    clf.set_params(machine__kernel="linear").fit(X * [1.0, 1e-4, 1.0, 1.0], y)


def test_machines_that_choose_by_themselves_have_one_cell():
    X, y = PROBLEMS["blobs 3.0"]
    names = ["LSSVM_RBF_1vsA_Hamming", "LSSVM_RBF_1vsA_Bayes"]
    sweep = pc.MethodSweep(names, cv=StratifiedKFold(3)).fit(X, y)
    assert sweep.best_params_ == {name: {} for name in names}
    alone = pc.recipe(names[1]).fit(X, y)
    found = sweep.classifiers_[names[1]]
    np.testing.assert_array_equal(found.predict_proba(X), alone.predict_proba(X))
    p = cross_val_predict(pc.recipe(names[1]), X, y, cv=StratifiedKFold(3), method="predict_proba")
    nll = -np.mean(np.log(np.maximum(p[np.arange(len(y)), y], LEAST_PROBABILITY)))
    assert sweep.results_["cv_nll"][1] == pytest.approx(nll, rel=1e-6)


def test_an_empty_grid_leaves_the_machine_as_it_is():
    X, y = PROBLEMS["iris"]
    search = pc.TwoStepSearchCV(pc.PolychotomyClassifier(LinearSVC()), {}).fit(X, y)
    assert search.best_params_ == {}
    assert len(search.cv_results_["params"]) == 1


def test_the_time_of_a_search_is_told_stage_by_stage():
    X, y = PROBLEMS["iris"]
    search = pc.TwoStepSearchCV(pc.recipe("PWC_PSVM"), SMALL, None).fit(X, y)
    stages = {"distances", "kernel", "solver", "scores", "machines", "calibrators", "last fit"}
    assert set(search.seconds_) == stages | {"decoder", "total"}
    parts = sum(value for name, value in search.seconds_.items() if name != "total")
    assert 0.0 < parts <= search.seconds_["total"]
