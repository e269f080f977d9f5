"""Fits on blocks of rows: those of arrays, whatever the blocks, and kind to bad ones."""

import io
import tracemalloc
from itertools import pairwise

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import polychotomy as pc
from polychotomy.blocks import RowBlocks, block, first_reading
from polychotomy.blocks.first_reading import ranks_in_classes, survey
from polychotomy.kernels import Gaussian, Summing, choose_landmarks
from polychotomy.machines.block_sums import block_sums, plan_folds

X, Y = load_wine(return_X_y=True)
# In no order of the classes, with some wrong labels, so that the evidence prefers a finite C.
ORDER = np.random.default_rng(3).permutation(len(Y))
X, Y = scale(X)[ORDER], Y[ORDER]
Y = np.where(np.arange(len(Y)) % 9 == 0, (Y + 1) % 3, Y)
WEIGHTS = np.random.default_rng(1).uniform(0.2, 3.0, len(Y))
WEIGHTS[5] = 0.0


def cut(sizes, *arrays):
    """Return a source whose blocks have these sizes, over and over."""
    edges = [0]
    while edges[-1] < len(arrays[0]):
        edges.append(edges[-1] + sizes[(len(edges) - 1) % len(sizes)])
    return RowBlocks([tuple(each[a:b] for each in arrays) for a, b in pairwise(edges)])


def pipe(code="one_vs_rest", **options):
    machine = options.pop("machine", pc.LSSVM(landmarks=30, gamma=0.03))
    return pc.PolychotomyClassifier(machine, code, **options)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(block, "MOST_ROWS", 50)
    monkeypatch.setattr(block, "LEAST_ROWS", 1)


def folds_of(y, n_folds, weights=None):
    """Return the folds in which the rows of a source are."""
    used = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
    number = np.zeros(len(y), dtype=int)
    for label in np.unique(y):
        own = used[y[used] == label]
        number[own] = np.arange(len(own)) % n_folds
    return [(used[number[used] != fold], used[number[used] == fold]) for fold in range(n_folds)]


@pytest.mark.parametrize(
    "options",
    [
        {"decoder": "shrunk_soft_max"},
        {"code": "one_vs_one", "calibrator": "platt", "tempering": True},
        {"code": "one_vs_one", "class_weight": "balanced"},
        {"decoder": "shrunk_soft_max", "class_weight": {0: 2.0}, "cv": 3, "weights": WEIGHTS},
        {"tempering": True, "cv": 2, "machine": pc.LSSVM(C=2.0, landmarks=25), "weights": WEIGHTS},
        {"decoder": "shrunk_soft_max", "machine": pc.LSSVM(sigma2="evidence", landmarks=25)},
        {"code": "nested", "random_state": 0},
    ],
)
def test_it_is_the_fit_on_arrays_with_the_same_folds(options):
    options = dict(options)
    weights = options.pop("weights", None)
    arrays = (X, Y) if weights is None else (X, Y, weights)
    ours = pipe(**options).fit(cut([37], *arrays))
    folds = folds_of(Y, options.get("cv", 5), weights)
    expected = pipe(**{**options, "cv": folds}).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(
        ours.predict_proba(X * 1.1), expected.predict_proba(X * 1.1), atol=1e-9
    )
    assert ours.n_rows_ == expected.n_rows_
    np.testing.assert_allclose(ours.class_sizes_, expected.class_sizes_)


def test_the_sums_are_those_of_numpy():
    matrix = pc.PolychotomyClassifier(code="one_vs_one").fit(X, Y).codebook_.matrix
    source, factors = cut([13, 40], X, Y, WEIGHTS), np.array([1.0, 2.0, 0.5])
    found = survey(source)
    plan, layout = plan_folds(found, matrix, 4, factors, weighted=True)
    landmarks = choose_landmarks(Gaussian(0.05), X, 12)
    sums, layout = block_sums(source, Summing(landmarks, X.dtype), plan, layout)
    z = landmarks.features(X) - sums.origin
    v = WEIGHTS * factors[Y]
    for fold, (_, rows) in enumerate(folds_of(Y, 4, WEIGHTS)):
        for number in range(3):
            own = rows[Y[rows] == number]
            group = plan.groups[fold, number]
            assert layout.sizes[group] == len(own)
            assert layout.weights[group] == pytest.approx(v[own].sum())
            np.testing.assert_allclose(sums.sums[group], v[own] @ z[own], atol=1e-10)
            expected = np.tril((v[own, None] * z[own]).T @ z[own])
            np.testing.assert_allclose(
                np.tril(sums.products[layout.cells[group]]), expected, atol=1e-9
            )


PLAIN = {}


@settings(max_examples=20, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 90), min_size=1, max_size=4),
    n_threads=st.integers(1, 3),
    code=st.sampled_from(["one_vs_rest", "one_vs_one"]),
)
def test_how_the_rows_come_in_changes_no_bit(sizes, n_threads, code):
    def probabilities(source, n_jobs):
        clf = pipe(code, calibrator="platt", n_jobs=n_jobs, cv=3)
        return clf.fit(source).predict_proba(X)

    before = block.MOST_ROWS, block.LEAST_ROWS
    block.MOST_ROWS, block.LEAST_ROWS = 50, 1
    try:
        if code not in PLAIN:
            PLAIN[code] = probabilities(RowBlocks.from_arrays(X, Y, WEIGHTS), 1)
        assert np.array_equal(probabilities(cut(sizes, X, Y, WEIGHTS), n_threads), PLAIN[code])
    finally:
        block.MOST_ROWS, block.LEAST_ROWS = before


def test_the_sample_is_bounded_has_every_class_and_says_how_it_was_drawn(monkeypatch):
    monkeypatch.setattr(first_reading, "SAMPLE_ROWS", 300)
    monkeypatch.setattr(first_reading, "ROWS_A_CLASS", 4)
    random = np.random.default_rng(0)
    y = np.where(
        np.arange(5000) % 1000 == 17, "rare", np.where(random.random(5000) < 0.3, "a", "b")
    )
    rows = np.arange(5000.0)[:, None]
    found = survey(cut([311], rows, y))
    sample = found.sample
    assert found.classes.tolist() == ["a", "b", "rare"]
    assert found.n_rows == 5000
    assert 300 <= len(sample.y) <= 304
    assert np.bincount(sample.y)[2] >= 4
    np.testing.assert_array_equal(found.classes[sample.y], y[sample.X[:, 0].astype(int)])
    totals = np.bincount(sample.y, sample.shares)
    np.testing.assert_allclose(totals / totals.sum(), found.sizes / 5000)
    assert totals.sum() == pytest.approx(len(sample.y))
    ranks = ranks_in_classes(np.unique(y, return_inverse=True)[1], np.arange(5000))
    np.testing.assert_array_equal(sample.ranks, ranks[sample.X[:, 0].astype(int)])
    # It is drawn evenly, and does not depend on the blocks.
    assert abs(sample.X.mean() - 2500) < 3 * 5000 / np.sqrt(12 * 300)
    again = survey(cut([1, 1700], rows, y)).sample
    np.testing.assert_array_equal(again.X, sample.X)
    thin = found.thinned(3).sample
    assert len(thin.y) < 110
    assert set(thin.y) == {0, 1, 2}
    totals = np.bincount(thin.y, thin.shares)
    np.testing.assert_allclose(totals / totals.sum(), found.sizes / 5000)


def test_with_a_sample_the_machines_still_see_all_rows(monkeypatch):
    monkeypatch.setattr(first_reading, "SAMPLE_ROWS", 60)
    monkeypatch.setattr(first_reading, "ROWS_A_CLASS", 2)
    machine = pc.LSSVM(C=2.0, gamma=0.03, landmarks=10)
    source = cut([29], X, Y)
    clf = pipe(machine=machine, decoder="shrunk_soft_max", random_state=0).fit(source)
    assert source.n_read == 2
    assert clf.n_rows_ == len(Y)
    landmarks = clf.machines_.fitted.landmarks
    z = landmarks.features(X)
    z1 = np.column_stack([z, np.ones(len(z))])
    targets = np.where(Y[:, None] == np.arange(3), 1.0, -1.0)
    ridge = np.diag(np.append(np.full(len(landmarks), 0.5), 0.0))
    expected = z1 @ np.linalg.solve(z1.T @ z1 + ridge, z1.T @ targets)
    np.testing.assert_allclose(clf.binary_scores(X), expected, atol=1e-8)
    assert clf.score(X, Y) > 0.8
    assert np.isin(landmarks.inputs[:, 0], X[:, 0]).all()


def test_peak_memory_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr(first_reading, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(block, "MOST_ROWS", 2000)

    def peak(n_blocks):
        def read():
            for seed in range(n_blocks):
                random = np.random.default_rng(seed)
                y = random.integers(0, 3, 1000)
                yield random.normal(size=(1000, 20)) + np.eye(3, 20)[y], y

        tracemalloc.start()
        pipe(machine=pc.LSSVM(C=1.0, landmarks=20)).fit(RowBlocks(read))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(5)
    assert peak(40) < 1.1 * peak(10)


def test_single_precision_stays():
    rows = X.astype(np.float32)
    clf = pipe().fit(cut([60], rows, Y))
    folds = folds_of(Y, 5)
    expected = pipe(cv=folds).fit(rows, Y)
    np.testing.assert_allclose(clf.predict_proba(rows), expected.predict_proba(rows), atol=1e-5)


def test_memory_maps_parquet_files_and_folders_give_the_same(tmp_path):
    labels = np.array(["red", "green", "blue"])[Y]
    expected = pipe(decoder="shrunk_soft_max").fit(cut([len(Y)], X, labels, WEIGHTS))
    p = expected.predict_proba(X)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    clf = pipe(decoder="shrunk_soft_max").fit(RowBlocks.from_arrays(mapped, labels, WEIGHTS))
    assert np.array_equal(clf.predict_proba(X), p)
    frame = pandas.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    frame = frame.assign(kind=pandas.Categorical(labels), weight=WEIGHTS)
    frame.to_parquet(tmp_path / "one.parquet", row_group_size=41)
    folder = tmp_path / "parts"
    folder.mkdir()
    frame[:100].to_parquet(folder / "a.parquet")
    frame[100:].to_parquet(folder / "b.parquet")
    for path in (tmp_path / "one.parquet", folder):
        source = RowBlocks.from_parquet(path, "kind", weights="weight")
        clf = pipe(decoder="shrunk_soft_max").fit(source)
        assert source.n_read == 2
        assert clf.feature_names_in_.tolist() == frame.columns[:-2].tolist()
        assert np.array_equal(clf.predict_proba(frame[frame.columns[:-2]]), p)
    with pytest.raises(ValueError, match=r"The column 'kind' .* holds values of type dictionary"):
        RowBlocks.from_parquet(folder, "weight", columns=["x0", "kind"])
    with pytest.raises(ValueError, match="has no column 'x99'"):
        RowBlocks.from_parquet(folder, "kind", columns=["x99"])
    frame.loc[120, "x3"] = None
    frame.to_parquet(folder / "b.parquet")
    with pytest.raises(ValueError, match=r"Block 1, row 120, has a missing .* input 3"):
        pipe().fit(RowBlocks.from_parquet(folder, "kind", weights="weight"))


def test_a_fitted_model_can_be_saved():
    clf = pipe("one_vs_one", calibrator="platt", tempering=True).fit(cut([50], X, Y))
    file = io.BytesIO()
    pc.save(clf, file)
    file.seek(0)
    assert np.array_equal(pc.load(file).predict_proba(X), clf.predict_proba(X))


def test_folds_by_formula_or_later_and_landmarks_by_trial(monkeypatch):
    by_formula = pipe(decoder="shrunk_soft_max", cv="leave_one_out").fit(cut([50], X, Y))
    expected = pipe(decoder="shrunk_soft_max", cv="leave_one_out").fit(X, Y)
    np.testing.assert_allclose(by_formula.predict_proba(X), expected.predict_proba(X), atol=1e-7)
    later = pipe(calibrator="platt", cv="prefit").fit(cut([50], X[::2], Y[::2]))
    assert later.calibrate(X[1::2], Y[1::2]).score(X[1::2], Y[1::2]) > 0.8
    auto = pipe(machine=pc.LSSVM(landmarks="auto")).fit(cut([50], X, Y))
    assert 1 < len(auto.machines_.fitted.landmarks) <= len(Y)
    with pytest.raises(ValueError, match="Unknown cv 'loo'"):
        pipe(calibrator="platt", cv="loo").fit(cut([50], X, Y))


def test_inputs_can_be_transformed_on_the_way():
    raw = X * 100.0 + 7.0
    source, scaler = cut([50], raw, Y), StandardScaler()
    for each in source.blocks():
        scaler.partial_fit(each.X)
    clf = pipe().fit(source.transformed(scaler.transform))
    expected = pipe().fit(cut([50], scaler.transform(raw), Y))
    assert np.array_equal(clf.predict_proba(X), expected.predict_proba(X))


# Faults


def test_a_class_may_be_missing_in_blocks():
    order = np.argsort(Y, kind="stable")
    ours = pipe("one_vs_one", calibrator="platt").fit(cut([45], X[order], Y[order]))
    folds = folds_of(Y[order], 5)
    expected = pipe("one_vs_one", calibrator="platt", cv=folds).fit(X[order], Y[order])
    np.testing.assert_allclose(ours.predict_proba(X), expected.predict_proba(X), atol=1e-9)


@pytest.mark.filterwarnings("ignore:Class .* has fewer rows")
def test_a_class_may_have_one_row():
    y = np.where(np.arange(len(Y)) == 33, 9, Y)
    clf = pipe(decoder="shrunk_soft_max").fit(cut([45], X, y))
    expected = pipe(decoder="shrunk_soft_max", cv=folds_of(y, 5)).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), expected.predict_proba(X), atol=1e-8)


def test_more_landmarks_than_rows_few_independent_rows_and_copies():
    many = pipe(machine=pc.LSSVM(C=2.0, gamma=0.03, landmarks=1000)).fit(cut([45], X, Y))
    assert len(many.machines_.fitted.landmarks) == len(Y)
    exact = pipe(machine=pc.LSSVM(C=2.0, gamma=0.03)).fit(X, Y)
    np.testing.assert_allclose(many.binary_scores(X), exact.binary_scores(X), atol=1e-6)
    # A linear kernel has as many independent rows as inputs.
    linear = pipe(machine=pc.LSSVM(C=2.0, kernel="linear", landmarks=50))
    linear.fit(cut([45], np.column_stack([X, X]), Y))
    assert len(linear.machines_.fitted.landmarks) == X.shape[1]
    # A row twice is a row of weight 2.
    machine = pc.LSSVM(C=2.0, gamma=0.03, landmarks=1000)
    twice = pipe(machine=machine).fit(cut([45], np.repeat(X, 2, axis=0), np.repeat(Y, 2)))
    heavy = pipe(machine=machine).fit(cut([45], X, Y, np.full(len(Y), 2.0)))
    assert len(twice.machines_.fitted.landmarks) == len(Y)
    np.testing.assert_allclose(twice.binary_scores(X), heavy.binary_scores(X), atol=1e-6)


def bad(number, **changes):
    """Return blocks of which one is changed."""
    blocks = [[X[a : a + 40].copy(), Y[a : a + 40].copy()] for a in range(0, 160, 40)]
    for place, change in changes.items():
        change(blocks[number][int(place[1:])])
    return blocks


def poke(where, value):
    def change(array):
        array[where] = value

    return change


ONCE = (blocks for blocks in [(X, Y)])
FAULTS = [
    (bad(2, _0=poke((7, 4), np.nan)), "Block 2, row 7, has a missing or infinite value in input 4"),
    (bad(0, _0=poke((39, 0), np.inf)), "Block 0, row 39, has a missing or infinite value"),
    ([(X, Y), (X[:, :5], Y)], "Block 1 has 5 inputs, but the blocks before have 13"),
    ([(X, Y), (X, Y[:9])], "Block 1 has 178 rows, but labels of shape"),
    ([(X, Y), (X, Y, WEIGHTS)], "Block 1 has weights, unlike the blocks before"),
    ([(X, Y, -WEIGHTS)], "Block 0, row 0, has the weight"),
    ([(X, Y), (X.astype(np.float32), Y)], "Block 1 has inputs of type float32"),
    ([(X[:, 0], Y)], "Block 0 has inputs of shape"),
    ([(X.astype(str).astype(object)[:, :1] + "m", Y)], "Block 0 has inputs that are not numbers"),
    ([(X, np.where(Y == 1, np.nan, Y))], "Block 0, row .*, has no label"),
    ([(X, Y * 0)], "at least two classes; y has one class, 0"),
    ([], "The source has no rows"),
    ([(X[:0], Y[:0])], "The source has no rows"),
    ([(X, Y, WEIGHTS * 0)], "The source has no rows"),
    (lambda: ONCE, "can be read only once"),
    ([(X, Y + 0.5)], "Unknown label type"),
]


@pytest.mark.parametrize(("blocks", "sentence"), FAULTS)
def test_faults_are_named(blocks, sentence):
    clf = pipe()
    with pytest.raises(ValueError, match=sentence):
        clf.fit(RowBlocks(blocks))
    assert not hasattr(clf, "classes_")


def test_sources_that_cannot_be_read_again():
    with pytest.raises(ValueError, match="can be read only once"):
        RowBlocks(iter([(X, Y)]))
    with pytest.raises(ValueError, match="X is an iterator, which can be read only once"):
        pipe().fit(iter([(X, Y)]))
    readings = iter([[(X, Y)], [(X[1:], Y[1:])]])
    with pytest.raises(ValueError, match="gave other rows when it was read again"):
        pipe().fit(RowBlocks(lambda: next(readings)))
    readings = iter([[(X, Y)], [(X[:50], Y[:50])]])
    with pytest.raises(ValueError, match="gave other rows when it was read again"):
        pipe().fit(RowBlocks(lambda: next(readings)))
    with pytest.raises(TypeError, match="takes a function"):
        RowBlocks(3)
    with pytest.raises(TypeError, match="must return an iterator"):
        pipe().fit(RowBlocks(lambda: 3))
    with pytest.raises(TypeError, match="Block 0 must be a pair"):
        pipe().fit(RowBlocks([X]))


REFUSED = [
    (pipe(machine=pc.SVM()), "SVM cannot be trained on blocks of rows.*LSSVM\\(landmarks=1000\\)"),
    (pipe(machine=pc.SVM(landmarks=9)), "SVM cannot be trained on blocks"),
    (pipe(machine=pc.SVM(landmarks="auto")), "SVM cannot be trained on blocks"),
    (pipe(machine=pc.LSSVM()), "LSSVM cannot be trained on blocks"),
    (pipe(cv=StratifiedKFold(3)), "cv must be a number of folds"),
    (pipe("one_vs_one", decoder="nesting"), "trains machines of its own"),
]


@pytest.mark.parametrize(("clf", "sentence"), REFUSED)
def test_what_blocks_do_not_go_with_is_refused(clf, sentence):
    with pytest.raises(ValueError, match=sentence):
        clf.fit(cut([50], X, Y))


def test_other_refusals():
    with pytest.raises(ValueError, match="has its own classes and weights"):
        pipe().fit(cut([50], X, Y), Y)
    with pytest.raises(ValueError, match="do not go with out-of-fold probabilities"):
        pipe().fit_out_of_fold(cut([50], X, Y), None)
    with pytest.raises(ValueError, match="do not go with 'groups'"):
        pipe().fit(cut([50], X, Y), groups=Y)
    with pytest.raises(MemoryError, match=r"landmarks need .* GiB"):
        pipe(machine=pc.LSSVM(landmarks=30, memory_limit=1000.0)).fit(cut([50], X, Y))


def changed(place, how):
    """Return the rows with one of inputs, labels and weights changed."""
    arrays = [X, Y, WEIGHTS]
    arrays[place] = how(arrays[place].copy())
    return tuple(arrays)


def other_input(values):
    values[60, 2] += 1e-9
    return values


def exchanged(labels):
    # The first two of the block whose labels differ.
    second = np.flatnonzero(labels[50:] != labels[50])[0] + 50
    labels[[50, second]] = labels[[second, 50]]
    return labels


@pytest.mark.parametrize(
    "second",
    [
        changed(0, other_input),
        changed(1, exchanged),
        changed(2, lambda weights: np.where(weights == weights.max(), 9.0, weights)),
        (X[::-1], Y[::-1], WEIGHTS[::-1]),
    ],
)
def test_other_rows_in_equal_numbers_are_noticed(second):
    readings = iter([[(X, Y, WEIGHTS)], [second]])
    with pytest.raises(ValueError, match="gave other rows when it was read again"):
        pipe().fit(RowBlocks(lambda: next(readings)))


def test_a_second_reading_may_be_cut_differently_and_name_labels_longer():
    words = np.array(["a", "bb", "ccc"])[Y]
    readings = iter([[(X, words)], [(X[:60], words[:60]), (X[60:], words[60:].astype("U9"))]])
    pipe().fit(RowBlocks(lambda: next(readings)))


@pytest.mark.parametrize("in_blocks", [False, True])
def test_a_class_without_weight_is_refused_in_blocks_and_in_memory(in_blocks):
    weights = np.where(Y == 1, 0.0, 1.0)
    with pytest.raises(ValueError, match="sample_weight is zero for every row of class 1"):
        pipe().fit(*([cut([60], X, Y, weights)] if in_blocks else [X, Y, weights]))
    # In one block only, it may have none.
    weights[np.flatnonzero(Y == 1)[-2:]] = 1.0
    assert pipe().fit(cut([60], X, Y, weights)).classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        (Y.astype(str), "Block 1 has labels that are words, but the blocks before have numbers"),
        (Y.astype(str).astype(object), "labels that are words"),
        (Y == 1, "labels that are true or false"),
        (Y.astype(bytes), "labels that are bytes"),
        (
            np.where(np.arange(len(Y)) == 7, "one", Y.astype(object)),
            "y mixes class labels of the types",
        ),
    ],
)
def test_labels_of_several_types_are_refused(second, sentence):
    with pytest.raises(TypeError, match=sentence):
        pipe().fit(RowBlocks([(X, Y), (X, second)]))
    assert pipe().fit(RowBlocks([(X, Y), (X, Y.astype(float))])).classes_.dtype == float


def test_arrays_that_are_none(tmp_path):
    lists = pipe().fit(RowBlocks.from_arrays(X.tolist(), Y.tolist(), WEIGHTS.tolist()))
    arrays = pipe().fit(RowBlocks.from_arrays(X, Y, WEIGHTS))
    assert np.array_equal(lists.predict_proba(X), arrays.predict_proba(X))
    with pytest.raises(TypeError, match=r"X is a sparse matrix.*use X.toarray\(\)"):
        RowBlocks.from_arrays(csr_array(X), Y)
    with pytest.raises(ValueError, match=r"got ndarray of shape \(178,\)"):
        RowBlocks.from_arrays(Y, Y)
    (tmp_path / "rows.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="is not a Parquet file, or damaged"):
        RowBlocks.from_parquet(tmp_path / "rows.parquet", "a")


ALL_AT_ONCE = [
    pc.KernelMultinomialRegression(),
    pc.AllTogetherSVC(),
    pc.ProbabilisticSVC(),
    pc.PolychotomyPool(),
    pc.NestedDichotomies(),
    pc.MethodSweep(["PWC_PSVM"]),
    pc.TwoStepSearchCV(pc.PolychotomyClassifier()),
    pc.TemperedClassifier(pc.PolychotomyClassifier()),
    pc.LSSVM(landmarks=9),
    pc.decisions.CostClassifier(pc.ProbabilisticSVC(), "macro_f1"),
    pc.decisions.PredictionSets(pc.ProbabilisticSVC()),
]


@pytest.mark.parametrize("estimator", ALL_AT_ONCE, ids=lambda one: type(one).__name__)
def test_estimators_that_need_all_rows_say_so(estimator):
    with pytest.raises(TypeError, match=f"{type(estimator).__name__} needs all rows at once"):
        estimator.fit(cut([50], X, Y))
    with pytest.raises(ValueError, match="requires y to be passed"):
        estimator.fit(X)


def test_blocks_are_no_array():
    with pytest.raises(TypeError, match="Predict block by block"):
        pipe().fit(X, Y).predict(cut([50], X, Y))
    with pytest.raises(TypeError, match=r"scale them on the way with blocks\.transformed"):
        make_pipeline(StandardScaler(), pipe()).fit(cut([50], X, Y))
