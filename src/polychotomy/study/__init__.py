"""Studies: many methods on many data sets, run for hours, stopped, resumed and compared."""

from .critical_difference import CriticalDifferenceDisplay

__all__ = ["CriticalDifferenceDisplay"]
