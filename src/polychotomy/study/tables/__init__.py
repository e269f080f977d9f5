"""The tables of a study: our numbers and the printed ones, p-values, and times."""

from .comparison import (
    DECIMALS,
    FIGURE_WORDS,
    Cell,
    ComparisonTable,
    Counts,
    OwnTable,
    comparison_tables,
    own_tables,
)
from .p_values import (
    TESTS,
    PMatrix,
    PValues,
    PValueTable,
    p_matrices,
    p_value_tables,
    p_values,
    ranking,
)
from .times import TimeComparison, TimeRow, time_comparisons, time_tables

__all__ = [
    "DECIMALS",
    "FIGURE_WORDS",
    "TESTS",
    "Cell",
    "ComparisonTable",
    "Counts",
    "OwnTable",
    "PMatrix",
    "PValueTable",
    "PValues",
    "TimeComparison",
    "TimeRow",
    "comparison_tables",
    "own_tables",
    "p_matrices",
    "p_value_tables",
    "p_values",
    "ranking",
    "time_comparisons",
    "time_tables",
]
