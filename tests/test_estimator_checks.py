"""Scikit-learn's own checks over many configurations; none is excused."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import polychotomy as pc
from configurations import CONFIGURATIONS

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
@parametrize_with_checks([*CONFIGURATIONS, *SEARCHES])
def test_sklearn_checks(estimator, check):
    check(estimator)
