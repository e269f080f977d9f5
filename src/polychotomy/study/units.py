"""The former name of `polychotomy.execution.units`, for code written for it."""

import sys

from ..execution import units

sys.modules[__name__] = units
