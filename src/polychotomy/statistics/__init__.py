"""Statistics of a study: means, paired tests, ranks of methods, differences to printed results.

Throughout, NaN means a failed run. Paired tests skip a failed run together with its partner, and a
ranking skips data sets on which any method failed; the result always says how many were skipped.
Infinite values are refused.

A test that cannot be made, for want of pairs or of data sets, has NaN for its statistic and its
p-value.

References
----------
DUAN03, section 5. Nadeau and Bengio (2003), Inference for the generalization error, Machine
Learning 52. Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7.
Iman and Davenport (1980), Approximations of the critical region of the Friedman statistic,
Communications in Statistics A9.
"""

from ._paired import (
    PairedTest,
    corrected_t_test,
    paired_t_test,
    wilcoxon_test,
)
from ._ranking import (
    FriedmanTest,
    MethodRanking,
    average_ranks,
    critical_difference,
    friedman_test,
    indistinguishable,
    rank_methods,
)
from ._summary import (
    Printed,
    PrintedDifference,
    Summary,
    compare_with_printed,
    summarise,
)

__all__ = [
    "FriedmanTest",
    "MethodRanking",
    "PairedTest",
    "Printed",
    "PrintedDifference",
    "Summary",
    "average_ranks",
    "compare_with_printed",
    "corrected_t_test",
    "critical_difference",
    "friedman_test",
    "indistinguishable",
    "paired_t_test",
    "rank_methods",
    "summarise",
    "wilcoxon_test",
]
