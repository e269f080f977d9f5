"""Values in words."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Write a time in words.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    words : str

    Examples
    --------
    >>> from polychotomy.core.words import duration
    >>> duration(0.26), duration(75), duration(7320)
    ('0.3 s', '1 min 15 s', '2 h 02 min')
    """
    if seconds < 59.5:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
