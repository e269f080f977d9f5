"""Studies: many methods on many data sets, in runs of hours that can be stopped and resumed."""

from ..plots.critical_difference import CriticalDifferenceDisplay

__all__ = ["CriticalDifferenceDisplay"]
