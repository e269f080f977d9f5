"""Decisions from class probabilities: costs, doubt, sets of classes, shifted class frequencies.

The last, thin stage. `CostClassifier` chooses the action of least expected cost,
`RejectClassifier` leaves doubtful rows to somebody else, `PredictionSets` predicts all classes
that are still possible, and `LabelShift` adapts probabilities to new class frequencies. All of
them work with any classifier that has `predict_proba`; the functions below work on arrays.
"""

from .cost_classifier import CostClassifier
from .costs import Costs, cost_table, mean_cost
from .held_out_classifier import HeldOutClassifier
from .label_shift import LabelShift
from .plan import DecisionPlan, DecisionReport
from .prediction_sets import PredictionSets
from .reject_classifier import RejectClassifier
from .risk_coverage import RiskCoverage, risk_coverage
from .set_report import SetReport, set_report
from .shift import ShiftEstimate, estimate_frequencies, reweighted

__all__ = [
    "CostClassifier",
    "Costs",
    "DecisionPlan",
    "DecisionReport",
    "HeldOutClassifier",
    "LabelShift",
    "PredictionSets",
    "RejectClassifier",
    "RiskCoverage",
    "SetReport",
    "ShiftEstimate",
    "cost_table",
    "estimate_frequencies",
    "mean_cost",
    "reweighted",
    "risk_coverage",
    "set_report",
]
