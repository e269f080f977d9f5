"""A loaded model is the saved one, to the last bit."""

import json
import pickle
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from inspect import isfunction

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import polychotomy as pc
from configurations import CONFIGURATIONS, name_of
from polychotomy.calibration import CALIBRATORS
from polychotomy.codes import CODES
from polychotomy.core import registry
from polychotomy.core.registry import format_name, register, stored_classes
from polychotomy.core.state_check import declared_state
from polychotomy.decoding import DECODERS
from polychotomy.machines.lssvm.tridiagonal import tridiagonalise
from polychotomy.persistence import ModelFileError, _names

from .models import MODELS, TWO, Poly, X, Y, fitted, loaded, saved
from .mutations import members_of

ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "binary_scores")


def assert_same(model, other, inputs):
    assert type(other) is type(model)
    assert repr(other) == repr(model)
    compared = 0
    for name in ANSWERS:
        if hasattr(model, name):
            wanted = getattr(model, name)(inputs)
            answer = getattr(other, name)(inputs)
            assert answer.dtype == wanted.dtype
            np.testing.assert_array_equal(answer, wanted)
            compared += 1
    assert compared


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=name_of)
def test_configurations(configuration):
    model = clone(configuration).fit(X, Y)
    assert_same(model, loaded(saved(model)), X)


@pytest.mark.parametrize("name", pc.recipes())
def test_recipes(name):
    model = pc.recipe(name, random_state=0).fit(X, Y)
    assert_same(model, loaded(saved(model)), X)


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    model, inputs = fitted(name)
    assert_same(model, loaded(saved(model)), inputs)


@pytest.mark.parametrize("decoder", DECODERS)
def test_decoders_on_a_kernel_machine(decoder):
    codes = "one_vs_one", "one_vs_rest", "nested"
    code = next(code for code in codes if DECODERS[decoder]().fits(CODES[code]().build(3)))
    model = pc.PolychotomyClassifier(pc.SVM(), code, decoder=decoder, random_state=0).fit(X, Y)
    assert_same(model, loaded(saved(model)), X)


CALIBRATED = [*((code, "platt") for code in CODES), *(("minimal", each) for each in CALIBRATORS)]


@pytest.mark.parametrize(("code", "calibrator"), CALIBRATED)
def test_codes_and_calibrators(code, calibrator):
    model = pc.PolychotomyClassifier(
        pc.SVM(), code, calibrator, "hamming", cv=2, random_state=0
    ).fit(X, Y)
    assert_same(model, loaded(saved(model)), X)


def test_machines_that_are_still_to_be_calibrated():
    model = pc.PolychotomyClassifier(pc.SVM(), calibrator="platt", cv="prefit").fit(X, Y)
    other = loaded(saved(model))
    np.testing.assert_array_equal(other.binary_scores(X), model.binary_scores(X))
    assert_same(model.calibrate(X, Y), other.calibrate(X, Y), X)


def test_a_loaded_model_can_be_saved_fitted_and_explained():
    model, _ = fitted("svm")
    other = loaded(saved(loaded(saved(model))))
    assert str(other.explain(X[0])) == str(model.explain(X[0]))
    assert_same(clone(model).fit(X, TWO), other.fit(X, TWO), X)


@pytest.mark.parametrize(
    "name",
    ["svm", "leave one out", "probabilistic svc", "binary lssvm", "binary lssvm of a given C"],
)
def test_pickle_and_joblib(name, tmp_path):
    model, inputs = fitted(name)
    assert_same(model, pickle.loads(pickle.dumps(model)), inputs)
    joblib.dump(model, tmp_path / "model.joblib")
    assert_same(model, joblib.load(tmp_path / "model.joblib"), inputs)


def test_another_process_which_imports_skops_when_it_loads(tmp_path):
    names = ["svm", "lssvm", "probabilistic svc", "forest", "sparse svc"]
    for number, name in enumerate(names):
        model, inputs = fitted(name)
        pc.save(model, tmp_path / f"{number}.polychotomy")
        dense = inputs.toarray() if name == "sparse svc" else inputs
        np.save(tmp_path / f"{number}.npy", dense)
        np.save(tmp_path / f"{number}.p.npy", model.predict_proba(inputs))
    script = (
        "import sys, numpy as np, polychotomy\n"
        "from scipy.sparse import csr_matrix\n"
        "assert 'skops' not in sys.modules\n"
        f"for number in range({len(names)}):\n"
        "    model = polychotomy.load(f'{number}.polychotomy')\n"
        "    X = np.load(f'{number}.npy')\n"
        "    X = csr_matrix(X) if number == 4 else X\n"
        "    assert (model.predict_proba(X) == np.load(f'{number}.p.npy')).all(), number\n"
        "print('all the same')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "all the same\n", done.stderr


def test_every_part_is_on_the_list():
    ours = {*DECODERS.values(), *CODES.values(), *CALIBRATORS.values()}
    assert all(format_name(cls) == f"{cls.part_kind}.{cls.name}" for cls in ours)


def test_every_class_of_scikit_learn_on_the_list_exists():
    names = _names.Names()
    for name in sorted(_names.SKLEARN | _names.FUNCTIONS):
        module, _, attribute = name.rpartition(".")
        assert names.public(names.real(name)) == name
        assert getattr(import_module(module), attribute) is not None


def test_every_dataclass_of_a_file_declares_all_its_fields():
    _names.Names()
    for name, cls in stored_classes().items():
        if is_dataclass(cls):
            assert set(declared_state(cls)) == {field.name for field in fields(cls)}, name


def test_signatures_are_kept_because_scikit_learn_asks_for_them_often():
    _names.Names()
    for name, cls in stored_classes().items():
        init = vars(cls).get("__init__")
        if isfunction(init):
            assert "__signature__" in vars(init), name
            kept = vars(init)["__signature__"]
            assert list(kept.parameters) == list(init.__code__.co_varnames[: len(kept.parameters)])


def test_files_speak_public_names_only():
    for name in ("lssvm", "pipeline inside", "two scores", "nested"):
        schema = json.loads(members_of(saved(fitted(name)[0]))["schema.json"])
        spoken = re.findall(r'"__module__": ?"([^"]*)"', json.dumps(schema))
        private = [module for module in spoken if "._" in module or "polychotomy" in module]
        assert set(private) <= {"sklearn.metrics._scorer", "scipy.sparse._csr"}


def test_a_given_c_with_a_tridiagonal_matrix_as_earlier_versions_saved_it():
    model, inputs = fitted("binary lssvm of a given C")
    before = model.predict_proba(inputs)
    (piece,) = model._fitted.pieces
    gram = piece.kernel.between(piece.inputs, piece.inputs)
    model._fitted.pieces[0] = replace(piece, basis=tridiagonalise(gram))
    np.testing.assert_allclose(model.predict_proba(inputs), before, rtol=1e-9)
    assert_same(model, loaded(saved(model)), inputs)


def test_what_is_computed_on_demand_is_not_stored():
    before, _ = fitted("lssvm")
    size = len(saved(before))
    piece = before.machines_.fitted.pieces[0]
    assert piece.basis.inverse_basis.size
    assert piece.basis.eigenbasis.vectors.size
    assert abs(len(saved(before)) - size) < 100


def test_a_registered_class_inside_a_function_is_refused_with_a_sentence():
    @register("inside_a_function")
    class Inside(pc.Calibrator):
        learns = False

        def transform(self, margins):
            return None

    try:
        clf = Poly(pc.SVM(), calibrator=Inside(), decoder="max_wins").fit(X, Y)
        with pytest.raises(ModelFileError, match="register it at the top level of a module"):
            saved(clf)
    finally:
        registry._parts["calibrator"].pop("inside_a_function")


@pytest.mark.parametrize("pull", [0.0, -1.0])
def test_a_pull_that_is_not_positive_is_refused_in_fit(pull):
    with pytest.raises(ValueError, match="pull must be a positive number"):
        Poly(pc.KernelLogisticRegression(), "one_vs_rest", decoder=pc.CodeCoupling(pull)).fit(X, Y)
