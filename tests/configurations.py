"""The configurations of the estimator that many tests run over."""

from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import polychotomy as pc


def classifier(machine, code, decoder="auto", calibrator="auto", **options):
    return pc.PolychotomyClassifier(
        machine, code=code, calibrator=calibrator, decoder=decoder, random_state=0, **options
    )


def logistic():
    return LogisticRegression(solver="newton-cholesky", tol=1e-12)


def svm():
    return SVC(gamma=0.1, tol=1e-10)


def tree():
    return DecisionTreeClassifier(max_depth=3, min_weight_fraction_leaf=0.01)


# Every code, decoder and calibrator, and every kind of machine: scikit-learn's own checks run over
# these.
DISTINCT = [
    # one-vs-one
    classifier(logistic(), "one_vs_one"),
    classifier(
        LinearSVC(dual=False, tol=1e-12), "one_vs_one", "pairwise_coupling", "isotonic", cv=3
    ),
    classifier(svm(), "one_vs_one", "pairwise_coupling", "pooled_platt", cv=3),
    classifier(tree(), "one_vs_one", pc.PairwiseCoupling("markov")),
    classifier(svm(), "one_vs_one", "max_wins"),
    classifier(logistic(), "one_vs_one", "weighted_voting"),
    classifier(RidgeClassifier(tol=1e-12), "one_vs_one", "decision_graph"),
    classifier(logistic(), "one_vs_one", "valued_preference"),
    classifier(GaussianNB(), "one_vs_one", "non_dominance"),
    classifier(logistic(), "one_vs_one", pc.BinaryTree(selection="random")),
    classifier(tree(), "one_vs_one", "nesting"),
    classifier(svm(), "one_vs_one", "shrunk_soft_max", cv=3),
    # one-vs-rest
    classifier(svm(), "one_vs_rest", "winner_takes_all", "platt", cv=3),
    classifier(logistic(), "one_vs_rest", "dynamically_ordered"),
    classifier(svm(), "one_vs_rest", pc.SoftMax(C=1.0), cv=3),
    classifier(logistic(), "one_vs_rest", class_weight="balanced"),
    # any code
    classifier(svm(), "minimal", "hamming"),
    classifier(svm(), "error_correcting", "loss"),
    classifier(logistic(), "exhaustive", pc.BayesianDecoding(priors="training")),
    classifier(tree(), "dense_random", "hamming"),
    classifier(RidgeClassifier(tol=1e-12), "sparse_random", pc.LossDecoding("squared", "ignored")),
    classifier(logistic(), "ordinal", "code_coupling"),
    # nested codes
    classifier(logistic(), pc.NestedCode("centroid")),
]
# The same parts with other options, or put together in other ways.
VARIANTS = [
    classifier(svm(), "one_vs_one"),
    classifier(logistic(), "one_vs_one", pc.PairwiseCoupling("hastie_tibshirani")),
    classifier(svm(), "one_vs_one", tempering="auto"),
    classifier(logistic(), "one_vs_rest", tempering=True),
    classifier(logistic(), "one_vs_one", "binary_tree"),
    classifier(svm(), "one_vs_one", pc.SoftMax(C_values=[0.01, 1.0, 100.0])),
    classifier(svm(), "one_vs_one", pc.SoftMax(C=None)),
    classifier(logistic(), "one_vs_one", pc.BayesianDecoding("training")),
    classifier(logistic(), "one_vs_rest", "winner_takes_all"),
    classifier(svm(), "one_vs_rest", "winner_takes_all"),
    classifier(svm(), "one_vs_rest", "shrunk_soft_max"),
    classifier(logistic(), "minimal", "code_coupling"),
    classifier(RidgeClassifier(tol=1e-12), "exhaustive", pc.LossDecoding("exponential")),
    classifier(logistic(), "sparse_random", pc.BayesianDecoding("training", update="parallel")),
]
CONFIGURATIONS = [*DISTINCT, *VARIANTS]


def name_of(configuration):
    """Return a short name for test reports."""
    parts = (configuration.machine, configuration.code, configuration.decoder)
    words = [part if isinstance(part, str) else repr(part) for part in parts]
    return " ".join("".join(word.split()) for word in words)
