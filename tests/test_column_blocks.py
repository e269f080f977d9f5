"""Codes of many columns, fitted in blocks: the same answers as without blocks, in less memory."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

import polychotomy as pc
from polychotomy.kernels import Gaussian, gram
from polychotomy.pipe import column_blocks, fitting

M = 20
RNG = np.random.default_rng(0)
CENTRES = 2.0 * RNG.normal(size=(M, 4))
Y = np.repeat(np.arange(M), RNG.integers(3, 8, size=M))
X = CENTRES[Y] + RNG.normal(size=(len(Y), 4))
NEW = CENTRES[Y] + RNG.normal(size=(len(Y), 4))
WEIGHTS = RNG.integers(0, 4, size=len(Y)).astype(float)
WEIGHTS[np.unique(Y, return_index=True)[1]] = 1.0

Poly = pc.PolychotomyClassifier
CASES = {
    # A tight tolerance: at the default one, the last bits of the kernel lead to other solutions.
    "svm": (Poly(pc.SVM(tol=1e-9), tempering="auto"), {}),
    "isotonic": (Poly(pc.SVM(tol=1e-9), calibrator="isotonic"), {}),
    "klr": (Poly(pc.KernelLogisticRegression(tol=1e-9), tempering="auto"), {}),
    "votes": (Poly(pc.SVM(tol=1e-9), decoder="max_wins"), {}),
    "priors": (Poly(pc.SVM(tol=1e-9), priors=np.arange(1.0, M + 1) / 210, tempering=True), {}),
    "weights": (Poly(pc.SVM(tol=1e-9), tempering="auto"), {"sample_weight": WEIGHTS}),
    "nested": (Poly(pc.SVM(tol=1e-9), "nested", tempering="auto", random_state=0), {}),
    "drop-in": (pc.ProbabilisticSVC(C=3.0, class_weight="balanced", tol=1e-9), {}),
    # Folds that lack whole classes: machines of some folds have no rows of one side.
    "groups": (Poly(pc.SVM(tol=1e-9), cv=GroupKFold(3), tempering="auto"), {"groups": Y % 7}),
}


@pytest.fixture
def in_blocks(monkeypatch):
    """Fit everything in small blocks, or nothing; return how many blocks there were."""
    n_blocks = []
    init = column_blocks._Block.__init__

    def counted(self, *args):
        n_blocks.append(1)
        init(self, *args)

    def switch(on):
        n_blocks.clear()
        monkeypatch.setattr(column_blocks._Block, "__init__", counted)
        monkeypatch.setattr(column_blocks, "LEAST_ENTRIES", 0 if on else 1 << 60)
        monkeypatch.setattr(column_blocks, "LARGEST_SHARE", 1.0)
        monkeypatch.setattr(column_blocks, "TILE", 7)
        monkeypatch.setattr(column_blocks, "MOST_COLUMNS", 5)
        monkeypatch.setattr(fitting, "ENTRIES_AT_ONCE", 3000 if on else 1 << 60)
        return n_blocks

    return switch


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_blocks_give_the_answers_of_the_whole(case, in_blocks):
    model, params = CASES[case]
    in_blocks(False)
    whole = clone_fit(model, params)
    n_blocks = in_blocks(True)
    blocked = clone_fit(model, params)
    assert len(n_blocks) > 3
    for name in ("predict_proba", "decision_function"):
        if hasattr(whole, name):
            wanted, found = getattr(whole, name)(NEW), getattr(blocked, name)(NEW)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)
    pipe = getattr(blocked, "classifier_", blocked)
    fitted = pipe.machines_.fitted
    assert issparse(fitted.coefficients)
    of_whole = getattr(whole, "classifier_", whole)
    # The kernel of a part differs in the last bits from that of all rows.
    np.testing.assert_allclose(
        fitted.coefficients.toarray(), of_whole.machines_.fitted.coefficients, atol=1e-7
    )
    np.testing.assert_allclose(fitted.biases, of_whole.machines_.fitted.biases, atol=1e-7)
    if hasattr(pipe.calibrator_, "slopes_"):
        np.testing.assert_allclose(pipe.calibrator_.slopes_, of_whole.calibrator_.slopes_, 1e-9)


def clone_fit(model, params):
    return clone(model).fit(X, Y, **params)


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
def test_the_drop_in_has_the_same_attributes_and_files(in_blocks):
    for inputs in (X, csr_array(X)):
        for kernel in ("rbf", "linear"):
            in_blocks(False)
            whole = pc.ProbabilisticSVC(kernel=kernel).fit(inputs, Y)
            in_blocks(True)
            blocked = pc.ProbabilisticSVC(kernel=kernel).fit(inputs, Y)
            for name in ("support_", "n_support_", "intercept_", "n_iter_", "probA_", "probB_"):
                wanted = getattr(whole, name)
                np.testing.assert_allclose(getattr(blocked, name), wanted, rtol=1e-9, atol=1e-12)
            for name in ("dual_coef_", *(["coef_"] if kernel == "linear" else [])):
                wanted, found = getattr(whole, name), getattr(blocked, name)
                difference = abs(wanted - found)
                assert difference.max() < 1e-9
            file = io.BytesIO()
            pc.save(blocked, file)
            file.seek(0)
            assert np.array_equal(pc.load(file).predict_proba(NEW), blocked.predict_proba(NEW))


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
@pytest.mark.parametrize("case", ["svm", "klr", "weights", "groups"])
def test_blocks_need_no_gram_matrix_of_all_rows(case, in_blocks, monkeypatch):
    model, params = CASES[case]
    # The kernel of a part differs in the last bits from that of all rows, and a solver that sees
    # other bits may stop elsewhere within its tolerance.
    model = clone(model).set_params(machine__tol=1e-10)
    in_blocks(False)
    whole = clone_fit(model, params)
    in_blocks(True)
    monkeypatch.setattr(column_blocks, "TILE", 4)
    sizes = []
    gram_of = gram.SharedRows.gram_of

    def counted(self, kernel, rows):
        sizes.append(len(rows))
        return gram_of(self, kernel, rows)

    monkeypatch.setattr(gram.SharedRows, "gram_of", counted)
    monkeypatch.delattr(gram.SharedRows, "gram")
    blocked = clone_fit(model, params)
    assert len(sizes) == 15
    assert max(sizes) <= 8 * 7 < len(Y)
    np.testing.assert_allclose(
        blocked.predict_proba(NEW), whole.predict_proba(NEW), rtol=0, atol=1e-6
    )


def test_blocks_of_large_classes_have_fewer_classes():
    data = SimpleNamespace(y=np.repeat([0, 1], [150, 5]), rows=np.arange(155))
    assert column_blocks._tile(data) == gram.SMALL_GRAM // 300
    data.y[:] = np.arange(155) % 2
    assert column_blocks._tile(data) == gram.SMALL_GRAM // 156
    assert column_blocks._tile(SimpleNamespace(y=np.zeros(9000, int), rows=np.arange(9000))) == 2


def test_parts_of_a_gram_matrix():
    kernel, rows = Gaussian(0.3), np.array([1, 4, 5, 9])
    state = gram.SharedRows(X)
    assert state.between(kernel, rows, rows) is None
    whole = kernel.between(X, X)
    np.testing.assert_allclose(state.part(kernel, rows), whole[np.ix_(rows, rows)], rtol=1e-12)
    some = state.between(kernel, rows[[2, 0]], rows[1:])
    np.testing.assert_allclose(some, whole[np.ix_(rows[[2, 0]], rows[1:])], rtol=1e-12)
    assert state.between(kernel, np.array([2]), rows) is None
    assert state.between(Gaussian(0.4), rows, rows) is None
    assert not state.has_gram(kernel)


def test_a_precomputed_kernel(in_blocks):
    gram = X @ X.T
    in_blocks(False)
    whole = Poly(pc.SVM(kernel="precomputed"), decoder="max_wins").fit(gram, Y)
    in_blocks(True)
    blocked = Poly(pc.SVM(kernel="precomputed"), decoder="max_wins").fit(gram, Y)
    np.testing.assert_allclose(
        blocked.binary_scores(NEW @ X.T), whole.binary_scores(NEW @ X.T), atol=1e-9
    )


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
def test_out_of_fold_probabilities(in_blocks):
    in_blocks(False)
    wanted = Poly(pc.SVM(tol=1e-9)).fit_out_of_fold(X, Y)
    in_blocks(True)
    np.testing.assert_allclose(Poly(pc.SVM(tol=1e-9)).fit_out_of_fold(X, Y), wanted, atol=1e-9)


@pytest.mark.parametrize(
    "code", [pc.OneVsOne().build(40), pc.NestedCode().build(600, 0), pc.OneVsOne().build(5)]
)
def test_every_column_is_in_one_block(code):
    blocks = list(column_blocks.column_blocks(code))
    assert sorted(np.concatenate(blocks)) == list(range(code.n_columns))
    if code.pairs is not None:
        most = max(len(np.unique(code.pairs[block])) for block in blocks)
        assert most <= 2 * column_blocks.TILE


def test_too_many_pairs_are_refused_with_what_to_use():
    y = np.repeat(np.arange(448), 2)
    sentence = r"One-vs-one of 448 classes has 100128 .*code='one_vs_rest' or code='nested'"
    for model in (pc.ProbabilisticSVC(), Poly(pc.SVM(tol=1e-9))):
        with pytest.raises(ValueError, match=sentence):
            model.fit(y[:, None] * [1.0, 2.0], y)


@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
def test_scores_that_do_not_fit_into_memory_are_refused_with_what_to_use(monkeypatch):
    monkeypatch.setattr(column_blocks, "free_memory", lambda: 10_000)
    model = Poly(pc.LSSVM(), calibrator="platt")
    with pytest.raises(MemoryError, match=r"190 columns, .*code='one_vs_rest' or code='nested'"):
        model.fit(X, Y)


@pytest.mark.parametrize("machine", [pc.SVM, pc.KernelLogisticRegression])
def test_linear_scores_of_sparse_rows_and_many_pairs(machine):
    rng = np.random.default_rng(0)
    y = np.arange(160) % 40
    X = np.where(rng.random((160, 30)) < 0.7, 0.0, rng.normal(size=(160, 30)))
    sparse, dense = (
        pc.PolychotomyClassifier(machine(kernel="linear", tol=1e-8), "one_vs_one", cv=3)
        .fit(form(X), y)
        .predict_proba(form(X))
        for form in (csr_array, np.asarray)
    )
    np.testing.assert_allclose(sparse, dense, atol=1e-4)
