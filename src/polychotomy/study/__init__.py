"""Studies that compare methods on data sets."""

from .critical_difference import CriticalDifferenceDisplay

__all__ = ["CriticalDifferenceDisplay"]
