"""The former name of `polychotomy.execution.executors`, for code written for it."""

import sys

from ..execution import executors

sys.modules[__name__] = executors
