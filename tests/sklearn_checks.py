"""Scikit-learn's checks of estimators, each where it can find something that no other run can."""

import os

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import polychotomy as pc
from polychotomy.pipe.parts import resolve

ALL = bool(os.environ.get("POLYCHOTOMY_ALL_CHECKS"))

# These give rows in other forms, or refuse a form. Only what trains on rows can tell: they run on
# one estimator for each machine, kernel and decoder that sees inputs, and not for each code,
# calibrator, value of a parameter or other decoder. POLYCHOTOMY_ALL_CHECKS=1 runs all on all.
OF_FORMS = {
    "check_classifier_data_not_an_array",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_f_contiguous_array_estimator",
    "check_fit2d_predict1d",
    "check_fit_score_takes_y",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
    "check_supervised_y_2d",
}


# Of these two, the slowest, each of those estimators has one in turn.
TWINS = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")


def is_of_forms(check):
    """Whether a check is about the form of rows; the later ones of a name are about memory."""
    name = check.func.__name__
    return name in OF_FORMS or (name == "check_classifiers_train" and bool(check.keywords))


def what_sees_rows(estimator):
    """Return what it is in an estimator that forms of rows can matter to."""
    machine = getattr(estimator, "machine", estimator)
    seen = [type(estimator), type(machine)]
    seen += [repr(getattr(machine, name, None)) for name in ("kernel", "landmarks")]
    if isinstance(estimator, pc.PolychotomyClassifier):
        pipe = resolve(machine, estimator.code, estimator.calibrator, estimator.decoder)
        if "inputs" in pipe.decoder.needs:
            seen.append(pipe.decoder.name)
    return tuple(seen)


def checks_of(estimators, expected_failed_checks=lambda _: {}):
    """Yield parameters of tests: estimators, each with a check."""
    done = set()
    for number, one in enumerate(estimators):
        new = what_sees_rows(one) not in done
        done.add(what_sees_rows(one))
        failing = expected_failed_checks(one)
        for estimator, check in estimator_checks_generator(one):
            name = check.func.__name__
            here = not is_of_forms(check) or (new and name != TWINS[len(done) % 2])
            if ALL or here:
                marks = [pytest.mark.xfail(reason=failing[name])] if name in failing else []
                yield pytest.param(estimator, check, marks=marks, id=f"{number}-{name}")
