"""A machine of somebody's own: the hyperplane between two means, shrunk to the origin by C."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

from polychotomy.core.registry import register
from polychotomy.core.state import INPUTS, Array, Labels, Number
from polychotomy.machines import Machine


@register("toy_machine")
class ToyMachine(Machine, ClassifierMixin, BaseEstimator):
    tuned_parameters = ("C",)
    fitted_state = {
        **INPUTS,
        "classes_": Labels(),
        "normal_": Array("d"),
        "offset_": Number(),
    }

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        self.classes_ = np.unique(y)
        first, second = (X[y == label].mean(axis=0) for label in self.classes_)
        self.normal_ = (second - first) * (self.C / (1.0 + self.C))
        self.offset_ = float((first + second) @ self.normal_ / 2)
        return self

    def decision_function(self, X):
        return validate_data(self, X, reset=False) @ self.normal_ - self.offset_

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]
