"""What must hold of every registered part, in every configuration that it names itself."""

import io

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

import polychotomy as pc
from polychotomy.core.registry import parts
from polychotomy.core.state_check import State, declared_state
from polychotomy.kernels import Precomputed, SharedRows
from polychotomy.persistence._names import Names

X, Y = load_wine(return_X_y=True)
X = scale(X)[::2]
Y = Y[::2]
CODES = ("one_vs_one", "one_vs_rest", "dense_random")


def examples(kind):
    return [
        pytest.param(example, id=f"{name}-{number}")
        for name, cls in parts(kind).items()
        for number, example in enumerate(cls.examples())
    ]


def holds(classifier):
    """Check what must hold of every pipe: repeatable, argmax, and the same out of a file."""
    classifier.fit(X, Y)
    again = clone(classifier).fit(X, Y)
    answer = classifier.predict(X)
    assert (answer == again.predict(X)).all()
    # The squared loss is no good loss for scores without a bound, and still far from chance.
    assert np.mean(answer == Y) > 0.6
    assert repr(clone(classifier)) == repr(classifier)
    assert str(classifier.explain(X[0]))
    if hasattr(classifier, "predict_proba"):
        p = classifier.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert (classifier.classes_[p.argmax(axis=1)] == answer).all()
    file = io.BytesIO()
    pc.save(classifier, file)
    file.seek(0)
    loaded = pc.load(file)
    assert (loaded.predict(X) == answer).all()
    if hasattr(classifier, "predict_proba"):
        assert np.array_equal(loaded.predict_proba(X), p)


@pytest.mark.parametrize("decoder", examples("decoder"))
def test_decoders(decoder):
    code = next(
        name
        for name in ("one_vs_one", "one_vs_rest", "nested")
        if decoder.fits(parts("code")[name]().build(3))
    )
    holds(pc.PolychotomyClassifier(LogisticRegression(), code, decoder=decoder, random_state=0))


@pytest.mark.parametrize("calibrator", examples("calibrator"))
def test_calibrators(calibrator):
    machine = pc.KernelLogisticRegression()
    holds(pc.PolychotomyClassifier(machine, calibrator=calibrator, decoder="pairwise_coupling"))


@pytest.mark.parametrize("code", examples("code"))
def test_codes(code):
    holds(pc.PolychotomyClassifier(LogisticRegression(), code, random_state=0))


@pytest.mark.parametrize("machine", examples("machine"))
@pytest.mark.parametrize("code", CODES)
def test_machines(machine, code):
    holds(pc.PolychotomyClassifier(machine, code, random_state=0))


@pytest.mark.parametrize("name", parts("machine"))
def test_machines_by_name(name):
    by_name = pc.PolychotomyClassifier(name).fit(X, Y)
    by_object = pc.PolychotomyClassifier(parts("machine")[name]()).fit(X, Y)
    assert np.array_equal(by_name.binary_scores(X), by_object.binary_scores(X))
    search = pc.TwoStepSearchCV(pc.PolychotomyClassifier(name), fine=None, show_progress=False)
    assert search.fit(X, Y).score(X, Y) > 0.9


@pytest.mark.parametrize("tempering", examples("tempering"))
def test_temperings(tempering):
    holds(pc.PolychotomyClassifier(pc.SVM(), tempering=tempering))


@pytest.mark.parametrize("kernel", examples("kernel"))
def test_kernels(kernel):
    inputs = X @ X.T if isinstance(kernel, Precomputed) else X
    gram = SharedRows(inputs).gram(kernel)
    np.testing.assert_allclose(gram, gram.T, atol=1e-12)
    np.testing.assert_allclose(np.diagonal(gram), kernel.diagonal(inputs), atol=1e-9)
    some = np.array([1, 5, 7, 30])
    np.testing.assert_allclose(SharedRows(inputs).gram_of(kernel, some), gram[np.ix_(some, some)])
    diagonal, tile, *_ = kernel.on_demand(inputs, some)
    np.testing.assert_allclose(diagonal, np.diagonal(gram)[some], atol=1e-9)
    np.testing.assert_allclose(
        tile(np.array([0, 2]), slice(1, 4)), gram[np.ix_(some[[0, 2]], some[1:4])], atol=1e-9
    )
    if kernel.is_semidefinite(inputs):
        assert np.linalg.eigvalsh(gram).min() > -1e-9 * np.abs(gram).max()
    if not kernel.is_precomputed:
        np.testing.assert_allclose(kernel.between(inputs, inputs[some]), gram[:, some], atol=1e-9)
        holds(pc.PolychotomyClassifier(pc.SVM(kernel=kernel.name)))


@pytest.mark.parametrize("kind", ["decoder", "calibrator", "tempering"])
def test_a_fitted_part_declares_all_that_it_learned(kind):
    for cls in parts(kind).values():
        for example in cls.examples():
            declared = set(declared_state(type(example)))
            assert not declared & set(example.get_params())
            assert State(Names().knows).sizes_of(example) is None or not declared
