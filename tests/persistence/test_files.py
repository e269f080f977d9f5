"""The file itself: what it says about the model, how it is written, and what is refused."""

import io
import json
import os
import warnings
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import polychotomy as pc
from polychotomy.core import files
from polychotomy.persistence import ModelFileError, describe

from .models import GRAM, TWO, WORDS, X, Y, columns, fitted, frame, saved
from .mutations import file_of, members_of


def linear(A, B):
    return A @ B.T


def test_header():
    model, _ = fitted("klr")
    header = describe(io.BytesIO(saved(model, metadata={"target": "drink", "cuts": [1, 2.5]})))
    assert header["format"] == 2
    assert header["polychotomy"] == pc.__version__
    assert header["scikit-learn"] == sklearn.__version__
    assert header["numpy"] == np.__version__
    assert abs(datetime.now(UTC) - datetime.fromisoformat(header["saved"])) < timedelta(minutes=5)
    assert header["model"] == " ".join(repr(model).split())
    assert header["classes"] == ["ale", "bière", "酒"]
    assert header["features"] == [{"name": None, "type": "number"}] * X.shape[1]
    assert header["metadata"] == {"target": "drink", "cuts": [1, 2.5]}
    assert header["training"] == {
        "rows": len(Y),
        "class_sizes": np.bincount(Y).tolist(),
        "machine": "KernelLogisticRegression",
        "code": "one_vs_rest",
        "binary_problems": 3,
        "calibrator": "NoCalibration",
        "decoder": "CodeCoupling",
    }


def test_rows_are_counted_without_those_of_weight_0():
    weights = np.where(np.arange(len(Y)) % 2, 0.5, 0.0)
    model = pc.PolychotomyClassifier(pc.SVM()).fit(X, Y, sample_weight=weights)
    training = describe(io.BytesIO(saved(model)))["training"]
    assert training["rows"] == len(Y) // 2
    assert training["class_sizes"] == np.bincount(Y, weights).tolist()


def test_names_and_types_of_the_inputs():
    table = frame()
    model = make_pipeline(columns(), pc.PolychotomyClassifier()).fit(table, Y)
    types = {name: "number" for name in table if name != "colour"}
    types["colour"] = "word"
    header = describe(io.BytesIO(saved(model, feature_types=types)))
    assert header["features"] == [{"name": name, "type": types[name]} for name in table]
    assert header["training"]["rows"] == len(Y)
    untold = describe(io.BytesIO(saved(model)))
    assert untold["features"][0] == {"name": "x0", "type": None}
    with pytest.raises(ModelFileError, match="feature_types names 'height', which is not an input"):
        saved(model, feature_types={"height": "number"})


@pytest.mark.parametrize("name", ["probabilistic svc", "search", "binary svm", "two classes"])
def test_headers_of_other_models(name):
    model, inputs = fitted(name)
    header = describe(io.BytesIO(saved(model)))
    assert header["classes"] == model.classes_.tolist()
    assert len(header["features"]) == inputs.shape[1]
    assert (header["training"] is None) == (name == "binary svm")


def test_paths_and_files(tmp_path):
    model, _ = fitted("svm")
    for path in (tmp_path / "a.polychotomy", str(tmp_path / "b")):
        pc.save(model, path)
        np.testing.assert_array_equal(pc.load(path).predict(X), model.predict(X))
        assert describe(path)["classes"] == [0, 1, 2]
    with open(tmp_path / "c", "wb") as stream:
        pc.save(model, stream)
    with open(tmp_path / "c", "rb") as stream:
        assert repr(pc.load(stream)) == repr(model)
    assert sorted(os.listdir(tmp_path)) == ["a.polychotomy", "b", "c"]


def test_files_are_repeatable():
    model, _ = fitted("svm")
    first, second = members_of(saved(model)), members_of(saved(model))
    assert {**first, "header.json": b""} == {**second, "header.json": b""}
    assert "0x" not in first["schema.json"].decode()


def test_files_are_not_larger_than_what_they_hold():
    model = pc.PolychotomyClassifier(pc.SVM()).fit(np.repeat(X, 10, axis=1), Y)
    fitted_ = model.machines_.fitted
    assert len(saved(model)) < 10_000 + fitted_.support_inputs.nbytes + fitted_.coefficients.nbytes


def test_directories_and_missing_files(tmp_path):
    model, _ = fitted("svm")
    with pytest.raises(IsADirectoryError, match="is a directory; name a file in it"):
        pc.save(model, tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no directory"):
        pc.save(model, tmp_path / "missing" / "file")
    for read in (pc.load, describe):
        with pytest.raises(IsADirectoryError, match="name a model file in it"):
            read(tmp_path)
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "missing")


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch, failing):
    path = tmp_path / "model"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, failing, fail)
        with pytest.raises(OSError, match="the disk is full"):
            files.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]
    with pytest.raises(ModelFileError):
        pc.save(pc.SVM(), path)
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_modes_and_links(tmp_path, monkeypatch):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"old")
    old.chmod(0o640)
    (tmp_path / "link").symlink_to(old)
    mask = os.umask(0o027)
    try:
        files.write(tmp_path / "link", b"changed")
        files.write(new, b"new")
    finally:
        os.umask(mask)
    assert (tmp_path / "link").is_symlink()
    assert old.read_bytes() == b"changed"
    assert old.stat().st_mode & 0o777 == 0o640
    assert new.stat().st_mode & 0o777 == 0o640
    monkeypatch.setattr(files.os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="write-protected"):
        files.write(old, b"again")
    assert old.read_bytes() == b"changed"


def test_another_version_of_scikit_learn():
    model, _ = fitted("sparse svc")
    members = members_of(saved(model))
    header = json.loads(members["header.json"])
    members["header.json"] = json.dumps({**header, "scikit-learn": "1.5.0"}).encode()
    with pytest.warns(InconsistentVersionWarning, match="PolychotomyClassifier from version 1.5.0"):
        pc.load(io.BytesIO(file_of(members)))
    members.pop("0.npy")
    with pytest.raises(ModelFileError, match=r"was saved with scikit-learn 1.5.0; this is \d"):
        pc.load(io.BytesIO(file_of(members)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pc.load(io.BytesIO(saved(model)))


Poly = pc.PolychotomyClassifier
REFUSED = {
    "model.machine.kernel is the function .*test_files.linear, which a model file": (
        Poly(pc.SVM(kernel=linear)),
        Y,
    ),
    "model.kernel is the function": (pc.LSSVM(kernel=linear), TWO),
    "model.decoder.orderer is of the type": (
        Poly(
            LogisticRegression(), "one_vs_rest",
            decoder=pc.DynamicallyOrdered(SGDClassifier(loss="log_loss", random_state=0)),
        ),
        Y,
    ),
    "SGDClassifier, which is not on the list": (Poly(SGDClassifier(random_state=0)), Y),
    "KDTree, which is not on the list": (Poly(KNeighborsClassifier(algorithm="kd_tree")), Y),
    "model.random_state is a random generator, .* use an integer": (
        Poly(random_state=np.random.RandomState(0)),
        Y,
    ),
    "model.class_weight has keys that are neither": (Poly(class_weight={True: 2.0}), TWO),
}  # fmt: skip


@pytest.mark.parametrize("sentence", REFUSED)
def test_models_that_cannot_be_saved_safely(sentence, tmp_path):
    model, y = REFUSED[sentence]
    model.fit(frame() if hasattr(model, "steps") else X, y)
    with pytest.raises(ModelFileError, match=f"^This model cannot be saved safely: .*{sentence}"):
        pc.save(model, tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_classes_of_ones_own_are_refused():
    class Own(pc.Decoder):
        name = "own"
        codes = frozenset({"one_vs_one"})

        def _decode(self, margins, codebook, X):
            return np.zeros((margins.n_rows, codebook.n_classes))

    model = Poly(pc.SVM(), decoder=Own()).fit(X, Y)
    with pytest.raises(ModelFileError, match="Own, which is not on the list"):
        saved(model)


def test_a_function_in_place_of_a_precomputed_matrix_can_be_saved():
    by_function = Poly(pc.SVM(kernel=linear)).fit(X, WORDS)
    by_matrix = Poly(pc.SVM(kernel="precomputed")).fit(GRAM, WORDS)
    np.testing.assert_array_equal(by_function.predict(X), by_matrix.predict(GRAM))
    saved(by_matrix)


def test_what_is_no_fitted_estimator():
    with pytest.raises(ModelFileError, match="This SVM is not fitted; call fit before save"):
        saved(pc.SVM())
    with pytest.raises(ModelFileError, match=r"save takes a fitted classifier, .*; got list"):
        saved([1])
    model, _ = fitted("svm")
    with pytest.raises(ModelFileError, match="only values that JSON can represent"):
        saved(model, metadata={"when": datetime.now(UTC)})
