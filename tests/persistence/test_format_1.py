"""Files of the first format, kept as they were written, load and answer as they did."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import polychotomy as pc
from polychotomy.persistence import describe

FOLDER = Path(__file__).parent / "format_1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
X = load_iris(return_X_y=True)[0][1::5]


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_old_files_answer_as_they_did(name, tmp_path):
    path = FOLDER / f"{name.replace(' ', '_')}.polychotomy"
    assert describe(path)["format"] == 1
    model, expected = pc.load(path), EXPECTED[name]
    answer = getattr(model, expected["method"])(X)
    if answer.dtype.kind == "f":
        # BLAS may add up in another order on another processor.
        np.testing.assert_allclose(answer, expected["values"], rtol=0, atol=1e-9)
    else:
        assert answer.tolist() == expected["values"]
    again = tmp_path / "again.polychotomy"
    pc.save(model, again)
    assert describe(again)["format"] == 2
    assert np.array_equal(getattr(pc.load(again), expected["method"])(X), answer)


def test_every_old_file_is_expected():
    assert {path.stem for path in FOLDER.glob("*.polychotomy")} == {
        name.replace(" ", "_") for name in EXPECTED
    }
