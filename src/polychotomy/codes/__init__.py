"""Codes: which classes are on which side of which binary problem.

A code knows only the number of classes (`NestedCode` also their labels, and for some trees the
training rows). ``Code.build(n_classes)`` returns a :class:`~polychotomy.Codebook` with one row per
class and one column per binary problem.

========================  =====================  ==========================================
class                     string                 binary problems for M classes
========================  =====================  ==========================================
OneVsOne                  one_vs_one             M (M - 1) / 2
OneVsRest                 one_vs_rest            M
MinimalCode               minimal                ceil(log2 M)
ErrorCorrectingCode       error_correcting       min(10 ceil(log2 M), 2^(M-1) - 1)
ExhaustiveCode            exhaustive             2^(M-1) - 1
DenseRandomCode           dense_random           min(ceil(10 log2 M), 2^(M-1) - 1)
SparseRandomCode          sparse_random          at most ceil(15 log2 M)
OrdinalCode               ordinal                M - 1
NestedCode                nested                 M - 1
CustomCode                (pass the object)      any
========================  =====================  ==========================================
"""

from ..core.registry import parts
from .base import Code, CodeContext
from .custom import CustomCode
from .dense_random import DenseRandomCode
from .error_correcting import ErrorCorrectingCode
from .exhaustive import ExhaustiveCode
from .minimal import MinimalCode
from .nested import NestedCode
from .one_vs_one import OneVsOne
from .one_vs_rest import OneVsRest
from .ordinal import OrdinalCode
from .sparse_random import SparseRandomCode

CODES = parts("code")

__all__ = [
    "CODES",
    "Code",
    "CodeContext",
    "CustomCode",
    "DenseRandomCode",
    "ErrorCorrectingCode",
    "ExhaustiveCode",
    "MinimalCode",
    "NestedCode",
    "OneVsOne",
    "OneVsRest",
    "OrdinalCode",
    "SparseRandomCode",
]
