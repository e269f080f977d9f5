"""How model files are refused."""

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


class RefusedError(Exception):
    """Something that must not be in a model file: where it is, and what is wrong with it."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where} {what}")
