"""The former name of `polychotomy.execution.cluster`, for code written for it."""

import sys

from ..execution import cluster

sys.modules[__name__] = cluster
