"""The former name of `polychotomy.compare`, for code written for it."""

import sys

from . import compare

sys.modules[__name__] = compare
