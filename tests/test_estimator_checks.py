"""Scikit-learn's own checks over many configurations; none is excused."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from configurations import CONFIGURATIONS


# Some checks fit a handful of rows.
@pytest.mark.filterwarnings("ignore:Class.*fewer rows than the 5 folds:UserWarning")
@parametrize_with_checks(CONFIGURATIONS)
def test_sklearn_checks(estimator, check):
    check(estimator)
