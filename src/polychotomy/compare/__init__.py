"""Compare methods on your own data: a ranking, its uncertainty, and a recommendation."""

from ._candidates import Candidate, candidates, default_names
from ._card import html_card
from ._compare import compare_methods
from ._comparison import MethodComparison
from ._decisions import ComparedDecisions, compared_decisions
from ._evaluation import Evaluation, evaluate_labels
from ._explaining import RowExplanation, explain_row
from ._final import fit_method, tuned_pipeline
from ._judging import HeldOut
from ._peers import Conditions
from ._per_class import class_figures, slices, worst_confusions
from ._report import html_report

__all__ = [
    "Candidate",
    "ComparedDecisions",
    "Conditions",
    "Evaluation",
    "HeldOut",
    "MethodComparison",
    "RowExplanation",
    "candidates",
    "class_figures",
    "compare_methods",
    "compared_decisions",
    "default_names",
    "evaluate_labels",
    "explain_row",
    "fit_method",
    "html_card",
    "html_report",
    "slices",
    "tuned_pipeline",
    "worst_confusions",
]
