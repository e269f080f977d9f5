"""Take a part that is written outside the package through all it has to go through.

    python walk.py decoder

Every part is one file, `toy_<kind>.py`; nothing else knows it.
"""

import importlib
import io
import sys

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import polychotomy as pc
from polychotomy.core.registry import parts
from polychotomy.persistence import ModelFileError

kind = sys.argv[1]
name = f"toy_{kind}"
module = importlib.import_module(name)
part = parts(kind)[name]
assert part.__module__ == name
assert [type(one) for one in part.examples()] == [part]

X, y = load_wine(return_X_y=True)
X = scale(X)
options = {
    "decoder": {"decoder": name},
    "calibrator": {"calibrator": name, "decoder": "pairwise_coupling"},
    "code": {"code": name},
    "kernel": {"machine": pc.SVM(kernel=name)},
    "machine": {"machine": name, "calibrator": "platt", "decoder": "pairwise_coupling"},
}[kind]
pipe = pc.PolychotomyClassifier(**options, tempering=True)

# The name is known to messages.
wrong = {**options, **({"machine": pc.SVM(kernel="toy_kernell")} if kind == "kernel" else {})}
if kind != "kernel":
    wrong[kind] = f"{name}l"
with pytest.raises(ValueError, match=f"Did you mean '{name}'"):
    pc.PolychotomyClassifier(**wrong).fit(X, y)

# fit, search, compare_decoders, explain, a pool
fitted = pipe.fit(X[::2], y[::2])
assert fitted.score(X[1::2], y[1::2]) > 0.8
search = pc.TwoStepSearchCV(pipe, fine=None, show_progress=False).fit(X[::2], y[::2])
assert search.score(X[1::2], y[1::2]) > 0.8
table = pc.compare_decoders(pc.PolychotomyClassifier(**options), X, y)
decoders = {row["decoder"] for row in table.rows}
assert kind != "decoder" or "ToyDecoder()" in decoders, decoders
assert "toy" in repr(fitted).lower()
assert str(fitted.explain(X[0]))
pool = pc.PolychotomyPool([("toy", pipe), ("svm", pc.PolychotomyClassifier())]).fit(X, y)
assert pool.predict_proba(X).shape == (178, 3)

# save and load
for model in (fitted, search, pool):
    file = io.BytesIO()
    pc.save(model, file)
    file.seek(0)
    with pytest.raises(ModelFileError, match=f"{kind}.{name}"):
        pc.load(file)
    file.seek(0)
    again = pc.load(file, trusted=[part])
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))

# What a file holds of it is checked against the state that it declares.
fields = {
    "decoder": ("decoder_", "counts_", -1.0),
    "calibrator": ("calibrator_", "largest_", -1.0),
    "kernel": ("machines_.fitted.kernel", "gamma", -1.0),
    "machine": ("machines_.fitted.estimators", "normal_", np.nan),
}
if kind in fields:
    where, attribute, bad = fields[kind]
    broken = pipe.fit(X, y)
    for step in where.split("."):
        broken = getattr(broken, step)
    broken = broken[0] if isinstance(broken, list) else broken
    vars(broken)[attribute] = bad * np.ones_like(vars(broken)[attribute])
    if np.ndim(vars(broken)[attribute]) == 0:
        vars(broken)[attribute] = float(vars(broken)[attribute])
    with pytest.raises(ModelFileError, match=attribute):
        pc.save(pipe, io.BytesIO())
print("done")
