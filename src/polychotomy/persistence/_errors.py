"""The error for refused model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model file that is refused, or a model that cannot be saved safely.

    Examples
    --------
    >>> import io
    >>> from polychotomy import load
    >>> load(io.BytesIO(b"not a model"))
    Traceback (most recent call last):
    ...
    polychotomy.persistence._errors.ModelFileError: The file is not a polychotomy model file.
    """
