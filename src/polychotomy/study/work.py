"""The former name of `polychotomy.execution.work`, for code written for it."""

import sys

from ..execution import work

sys.modules[__name__] = work
