"""The error of a model that cannot be exported."""


class ExportError(ValueError):
    """A model, or a part of it, cannot be exported; the message says which, and why.

    Examples
    --------
    >>> from polychotomy.export import ExportError
    >>> raise ExportError("MaxWins has no probabilities.")
    Traceback (most recent call last):
        ...
    polychotomy.export._errors.ExportError: MaxWins has no probabilities.
    """
