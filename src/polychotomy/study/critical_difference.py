"""The former name of `polychotomy.plots.critical_difference`, for code written for it."""

import sys

from ..plots import critical_difference

sys.modules[__name__] = critical_difference
