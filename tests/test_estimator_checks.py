"""Scikit-learn's own checks over all parts of a pipe; none is excused."""

import pytest

import polychotomy as pc
from configurations import DISTINCT
from polychotomy.calibration import CALIBRATORS
from polychotomy.codes import CODES
from polychotomy.decoding import DECODERS
from polychotomy.pipe.parts import resolve
from sklearn_checks import checks_of

SEARCHES = [
    pc.TwoStepSearchCV(
        pc.PolychotomyClassifier(pc.SVM(tol=1e-8), decoder=decoder),
        {"machine__C": [0.1, 1.0]},
        fine,
        cv=3,
    )
    for decoder, fine in (("auto", None), ("max_wins", [0.5]))
]


# Some checks fit a handful of rows.
@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks_of([*DISTINCT, *SEARCHES])))
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_every_part_is_checked():
    pipes = [resolve(one.machine, one.code, one.calibrator, one.decoder) for one in DISTINCT]
    for part, all_of_them in (("code", CODES), ("calibrator", CALIBRATORS), ("decoder", DECODERS)):
        assert {getattr(pipe, part).name for pipe in pipes} == set(all_of_them)
