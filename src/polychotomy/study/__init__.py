"""Studies: many methods on many data sets, run for hours, stopped, resumed and compared."""

from ..plots.critical_difference import CriticalDifferenceDisplay

__all__ = ["CriticalDifferenceDisplay"]
