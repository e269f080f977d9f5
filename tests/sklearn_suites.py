"""Run scikit-learn's own tests with our classifiers in the place of its own.

    python tests/sklearn_suites.py

The installed tests of scikit-learn are imported after some of its names have been replaced. Prints
how many pass and fail, with the reason for each that fails. A failure without a reason below, and
a reason without a failure, make it exit with 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path

import sklearn

import polychotomy as pc

# Why tests fail, for several of them.
ROUNDING = (
    "sparse and dense inner products add up in another order, so that the two solutions agree "
    "within tol, not to 7 digits"
)
PROBABILITY = (
    "predict follows the probabilities, which six rows of very different weights leave near 1/2"
)
NEGATIVE = "negative weights are refused, not taken for 0"
MESSAGE = "the message has other words"
CONVERGENCE = "the warning has other words: it names the binary problem"
PRIVATE = "reads or changes a private attribute of SVC"
DEPRECATED = "nothing is deprecated here"
TIES = "classes are predicted by probability, so that break_ties changes nothing"
ALWAYS = "there are always probabilities"
MULTILABEL = "multi-label targets are not taken"
REGRESSOR = (
    "machines are classifiers; regressors, and classes that do not say what they are, are not taken"
)
ONE_CLASS = "rows of a single class are refused"
PARTIAL = "there is no partial_fit"
FOLDS = "folds are drawn by content: a Gram matrix, or texts, have another than the inputs"
ATTRIBUTE = "reads an attribute that is not there: n_classes_ or pairwise_indices_"


class LinearSVC(pc.ProbabilisticSVC):
    """With the parameters of scikit-learn's linear machine that its tests of calibration use."""

    def __init__(self, C=1.0, random_state=None):
        super().__init__(C=C, kernel="linear", random_state=random_state)


class OneVsOneClassifier(pc.PolychotomyClassifier):
    """With the parameters of scikit-learn's class of this name: votes, as there."""

    def __init__(self, estimator, *, n_jobs=None):
        super().__init__(estimator, "one_vs_one", decoder="max_wins", n_jobs=n_jobs)
        self.estimator = estimator


class OneVsRestClassifier(pc.PolychotomyClassifier):
    """With the parameters of scikit-learn's class of this name: the largest score wins."""

    def __init__(self, estimator, *, n_jobs=None, verbose=0):
        super().__init__(estimator, "one_vs_rest", decoder="winner_takes_all", n_jobs=n_jobs)
        self.estimator = estimator
        self.verbose = verbose


def _put(**classes: type) -> Callable[[], None]:
    """Return a function that replaces names of scikit-learn: ``module__name=ours``."""

    def put() -> None:
        for path, ours in classes.items():
            module, _, name = path.partition("__")
            setattr(import_module(f"sklearn.{module}"), name, ours)

    return put


@dataclass(frozen=True)
class Suite:
    """Some modules of tests, what takes whose place in them, and why some tests fail."""

    title: str
    modules: tuple[str, ...]
    put: Callable[[], None]
    reasons: dict[str, str]


SUITES = {
    "svm": Suite(
        "svm/tests/test_svm.py and test_sparse.py, ProbabilisticSVC for SVC",
        ("sklearn.svm.tests.test_svm", "sklearn.svm.tests.test_sparse"),
        _put(svm__SVC=pc.ProbabilisticSVC),
        {
            "test_svm.py::test_tweak_params": PRIVATE,
            "test_svm.py::test_gamma_scale": PRIVATE,
            "test_svm.py::test_svc_raises_error_internal_representation": PRIVATE,
            "test_svm.py::test_weight": PROBABILITY,
            "test_sparse.py::test_sample_weights*": PROBABILITY,
            "test_svm.py::test_svm_classifier_sided_sample_weight[[]estimator0]": PROBABILITY,
            "test_svm.py::test_custom_kernel_not_array_input[[]ProbabilisticSVC]": FOLDS,
            "test_svm.py::test_negative_sample_weights_mask_all_samples*are-zero-SVC]": MESSAGE,
            "test_svm.py::test_negative_sample_weights_mask_all_samples*negative-SVC]": NEGATIVE,
            "test_svm.py::test_negative_weights_svc_leave_just_one_label*-SVC]": NEGATIVE,
            "test_svm.py::test_negative_weights_svc_leave_two_labels*-SVC]": NEGATIVE,
            "test_svm.py::test_negative_weight_equal_coeffs*-SVC]": NEGATIVE,
            "test_svm.py::test_bad_input*": "sparse rows are taken after a fit of dense ones",
            "test_svm.py::test_svc_nonfinite_params*": MESSAGE,
            "test_svm.py::test_sparse_precomputed*": "sparse Gram matrices are taken",
            "test_svm.py::test_libsvm_convergence_warnings*": CONVERGENCE,
            "test_sparse.py::test_timeout*": CONVERGENCE,
            "test_svm.py::test_unfitted": "the message names ProbabilisticSVC",
            "test_svm.py::test_hasattr_predict_proba*": ALWAYS,
            "test_svm.py::test_svc_invalid_break_ties_param*ProbabilisticSVC]": TIES,
            "test_svm.py::test_svc_ovr_tie_breaking*ProbabilisticSVC]": TIES,
            "test_svm.py::test_probability_raises_futurewarning*ProbabilisticSVC*": DEPRECATED,
            "test_svm.py::test_svc_nusvc_probA_probB_deprecated*ProbabilisticSVC]": DEPRECATED,
            "test_sparse.py::test_svc[[]*": ROUNDING,
            "test_sparse.py::test_svc_iris*": ROUNDING,
        },
    ),
    "multiclass_svc": Suite(
        "tests/test_multiclass.py, ProbabilisticSVC for SVC",
        ("sklearn.tests.test_multiclass",),
        _put(svm__SVC=pc.ProbabilisticSVC),
        {
            "*::test_ovr_multilabel_predict_proba": ALWAYS,
            "*::test_pairwise_cross_val_score[[]OneVsOneClassifier]": FOLDS,
        },
    ),
    "multiclass_ovo": Suite(
        "tests/test_multiclass.py, PolychotomyClassifier for OneVsOneClassifier",
        ("sklearn.tests.test_multiclass",),
        _put(multiclass__OneVsOneClassifier=OneVsOneClassifier),
        {
            "*::test_ovr_ovo_regressor": REGRESSOR,
            "*::test_ovo_partial_fit_predict": PARTIAL,
            "*::test_ovo_decision_function": "votes alone are counted: scores do not break ties",
            "*::test_ovo_ties": "votes alone are counted: scores do not break ties",
            "*::test_ovo_one_class": MESSAGE,
            "*::test_pairwise_indices": ATTRIBUTE,
            "*::test_pairwise_n_features_in": ATTRIBUTE,
        },
    ),
    "multiclass_ovr": Suite(
        "tests/test_multiclass.py, PolychotomyClassifier for OneVsRestClassifier",
        ("sklearn.tests.test_multiclass",),
        _put(multiclass__OneVsRestClassifier=OneVsRestClassifier),
        {
            "*::test_ovr_exceptions": MESSAGE,
            "*::test_ovr_ties": REGRESSOR,
            "*::test_ovr_partial_fit*": PARTIAL,
            "*::test_ovr_ovo_regressor": REGRESSOR,
            "*::test_ovr_fit_predict_sparse*": MULTILABEL,
            "*::test_ovr_always_present": MULTILABEL,
            "*::test_ovr_multiclass": MULTILABEL,
            "*::test_ovr_binary": REGRESSOR,
            "*::test_ovr_multilabel*": MULTILABEL,
            "*::test_ovr_single_label_predict_proba*": REGRESSOR,
            "*::test_pairwise_n_features_in": ATTRIBUTE,
            "*::test_constant_int_target*": ONE_CLASS,
            "*::test_multiclass_estimator_attribute_error": PARTIAL,
        },
    ),
    "calibration": Suite(
        "tests/test_calibration.py, ProbabilisticSVC with a linear kernel for LinearSVC",
        ("sklearn.tests.test_calibration",),
        _put(svm__LinearSVC=LinearSVC),
        {},
    ),
}


class Outcomes:
    """A pytest plugin that notes how every test has ended."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[str, str]] = {}

    def pytest_runtest_logreport(self, report) -> None:
        name = f"{Path(report.location[0]).name}::{report.location[2]}"
        if report.when == "call" or report.outcome != "passed":
            lines = [line for line in report.longreprtext.splitlines() if line.strip()]
            said = next((line for line in lines if line.startswith("E ")), "")
            self.found[name] = report.outcome, said


def run_here(name: str, result: Path) -> None:
    """Run one suite in this process, and write how its tests ended."""
    import pytest

    suite = SUITES[name]
    warnings.simplefilter("ignore")
    suite.put()
    outcomes = Outcomes()
    # A configuration of its own, or pytest would take ours.
    (result.parent / "pytest.ini").write_text("[pytest]\n")
    options = ["-q", "--tb=short", "--disable-warnings", "-p", "no:cacheprovider", "-p", "no:xdist"]
    place = ["-c", str(result.parent / "pytest.ini"), "--rootdir", str(result.parent)]
    pytest.main([*options, *place, "--pyargs", *suite.modules], plugins=[outcomes])
    result.write_text(json.dumps(outcomes.found))


def run(name: str) -> bool:
    """Run one suite in a process of its own; whether all failures have a reason."""
    suite = SUITES[name]
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        done = subprocess.run(
            [sys.executable, __file__, name, str(result)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if not result.exists():
            print(done.stdout, done.stderr)
            return False
        outcomes = json.loads(result.read_text())
    counts = Counter(outcome for outcome, _ in outcomes.values())
    print(f"\n{suite.title}")
    print(f"  {counts['passed']} pass, {counts['failed']} fail, {counts['skipped']} are skipped")
    explained: dict[str, Counter[str]] = {}
    unused = set(suite.reasons)
    unexplained = []
    for test, (outcome, said) in outcomes.items():
        if outcome != "failed":
            continue
        pattern = next((p for p in suite.reasons if fnmatchcase(test, p)), None)
        if pattern is None:
            unexplained.append((test, said))
            continue
        unused.discard(pattern)
        short = test.partition("::")[2].partition("[")[0]
        explained.setdefault(suite.reasons[pattern], Counter())[short] += 1
    for reason, tests in explained.items():
        print(f"  {tests.total():3d}  {reason}: {', '.join(sorted(tests))}")
    for test, said in unexplained:
        print(f"  WITHOUT A REASON: {test}\n      {said[:300]}")
    for pattern in sorted(unused):
        print(f"  A REASON WITHOUT A FAILURE: {pattern}")
    return bool(outcomes) and not unexplained and not unused


def main(arguments: list[str]) -> int:
    """Run the suites that are named, or all."""
    if len(arguments) == 2 and arguments[1].endswith("result.json"):
        run_here(arguments[0], Path(arguments[1]))
        return 0
    print(f"scikit-learn {sklearn.__version__}")
    fine = [run(name) for name in arguments or SUITES]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
