"""Models for other programs: ONNX graphs, checked against the model before they are returned."""

from ._check import check_against
from ._errors import ExportError
from ._onnx import to_onnx

__all__ = ["ExportError", "check_against", "to_onnx"]
