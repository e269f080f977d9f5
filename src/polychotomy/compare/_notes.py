"""Warnings of methods, as notes for people who use the command line."""

from __future__ import annotations

import re

RARE_ADVICE = (
    " --rare merge joins classes with fewer than 5 rows, --rare drop skips them.",
    " --rare drop skips such classes, --rare merge joins them.",
)
# What a warning of a library says, and what a note says instead: with an option that exists.
_WORDS = (
    (
        re.compile(r"^(Class(?:es)? .+?) ha(?:s|ve) fewer rows than the (\d+) folds"),
        "{0}: fewer rows than the {1} folds that choose parameters, so that probabilities are less "
        "certain there. --rare merge joins classes with fewer than 5 rows, --rare drop skips them.",
    ),
    (
        re.compile(r"^Fold \d+ of cv has no training rows of class (.+?)\. Its rows there"),
        "Class {0}: all its rows are in one of the folds that choose parameters, so that its "
        "probabilities are less certain. --rare merge joins classes with fewer than 5 rows, --rare "
        "drop skips them.",
    ),
    (
        re.compile(r"^The search of .* skips the cell .*(?:MemoryError|not enough memory)", re.S),
        "some parameters could not be tried, because a process had not enough memory; --jobs 1 "
        "lets one use most of what is free.",
    ),
    (
        re.compile(r"^One-vs-one of (\d+) classes has (\d+) binary problems"),
        "{0} classes have {1} pairs, too many for a machine each",
    ),
    # Said already of the table: too few rows in these classes, or a target of many numbers.
    (re.compile(r"^The number of unique classes is greater than"), ""),
    # The other parameters were tried, and nobody can do anything about these.
    (re.compile(r"^The search of .* skips the cell"), ""),
    (
        re.compile(r"^lbfgs failed to converge"),
        "its iterations were ended before they had converged; its figures may be too bad.",
    ),
    (
        re.compile(r"^The least populated class"),
        "a class has fewer rows than there are folds. --rare merge joins classes with fewer than "
        "5 rows, --rare drop skips them.",
    ),
)


def without_rare_advice(note: str) -> str:
    """Return a note without the advice to drop or merge rare classes, which was done already."""
    for advice in RARE_ADVICE:
        note = note.replace(advice, "")
    return note


def note_of(message: str, methods: str) -> str:
    """Return a note about a method.

    Parameters
    ----------
    message : str
        A warning.
    methods : str
        The methods that it comes from; nothing if that is clear.

    Returns
    -------
    note : str
        Empty if there is nothing to say.

    Examples
    --------
    >>> from polychotomy.compare._notes import note_of
    >>> note_of("lbfgs failed to converge (status=1)", "logistic")
    'logistic: its iterations were ended before they had converged; its figures may be too bad.'
    """
    for pattern, words in _WORDS:
        found = pattern.match(message)
        if found:
            text = words.format(*found.groups())
            # A note about classes is about the data: it is the same for all methods.
            return text if pattern.groups or not methods or not text else f"{methods}: {text}"
    text = " ".join(message.split())
    return f"{methods}: {text}" if methods else text
