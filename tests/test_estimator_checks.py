"""Scikit-learn's own checks over many configurations."""

import sklearn
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from configurations import CONFIGURATIONS


def expected_failures(estimator):
    old = parse_version(sklearn.__version__) < parse_version("1.7")
    if old and not get_tags(estimator).input_tags.sparse:
        return {
            "check_sample_weight_equivalence_on_sparse_data": (
                "scikit-learn 1.6 runs it on classifiers that do not take sparse inputs too"
            )
        }
    return {}


@parametrize_with_checks(CONFIGURATIONS, expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)
