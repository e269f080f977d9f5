"""What has to hold of our own fitted objects before any of them is used."""

from . import calibrators, decoders, estimators, machines, parts, pools
from .registry import CHECKS, check_own

__all__ = [
    "CHECKS",
    "calibrators",
    "check_own",
    "decoders",
    "estimators",
    "machines",
    "parts",
    "pools",
]
