"""The former name of `polychotomy.statistics`, for code written for it."""

import sys

from .. import statistics

sys.modules[__name__] = statistics
