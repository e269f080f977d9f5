"""What is known about a data set, and how it is described."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

CC_BY = "CC BY 4.0, as the UCI repository states for its data sets; cite the entry and its donors"


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known about a data set.

    Attributes
    ----------
    name : str
        Its name here.
    title : str
        Its name in the repository it comes from.
    rows, inputs : int
        The size of the papers' data.
    classes : mapping of str to int
        The classes and how many rows each has.
    feature_names : tuple of str
        The inputs.
    discrete : frozenset of str
        The inputs that are yes or no, grades, or codes; the others are continuous: numbers
        on a scale. DUAN03 and DUAN05 normalise the continuous inputs only, VANGESTEL
        all of them.
    papers : str
        The papers that use it, and under which name.
    notes : str
        What to know before a comparison with the papers.
    citation, licence : str
        Whom to cite, and the terms.
    openml : int or None
        The number of the data set on OpenML.
    generated, scikit_learn : bool
        Whether it can be generated, and whether it comes with scikit-learn.
    differs : mapping of str to str
        The sources whose rows are not the papers', and how they differ.
    content : str
        The SHA-256 of the rows as a set, in any order.
    checksum : str
        The SHA-256 of the rows in the papers' order.

    Examples
    --------
    >>> from polychotomy import datasets
    >>> facts = datasets.facts("glass")
    >>> facts.rows, facts.inputs, facts.n_classes
    (214, 9, 6)
    """

    name: str
    title: str
    rows: int
    inputs: int
    classes: Mapping[str, int]
    feature_names: tuple[str, ...]
    papers: str
    citation: str
    content: str
    checksum: str
    discrete: frozenset[str] = frozenset()
    notes: str = ""
    licence: str = CC_BY
    openml: int | None = None
    generated: bool = False
    scikit_learn: bool = False
    differs: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("classes", "differs"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[Any, ...]:
        # There is one object for each data set, and views of mappings cannot be pickled.
        return _known, (self.name,)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the data can come from, in the order in which the sources are tried."""
        known = [
            ("folder", self.name != "digits"),
            ("generated", self.generated),
            ("scikit-learn", self.scikit_learn),
            ("openml", self.openml is not None),
        ]
        return tuple(source for source, there in known if there)

    def ways(self) -> str:
        """Return how to get the data, one way per line."""
        lines = []
        for source in self.sources:
            way = WAYS[source].format(name=self.name, openml=self.openml)
            if source in self.differs:
                asked = "" if source == "generated" else ", exact=False"
                way += f"{asked} ({self.differs[source]})"
            lines.append(f"- {way}")
        return "\n".join(lines)

    def __str__(self) -> str:
        counts = ", ".join(f"{label} {count}" for label, count in self.classes.items())
        lines = [
            f"{self.name}: {self.title}",
            f"{self.rows} rows, {self.inputs} inputs "
            f"({self.inputs - len(self.discrete)} continuous), {self.n_classes} classes",
            f"classes: {counts}",
            f"papers: {self.papers}",
            *([f"notes: {self.notes}"] if self.notes else []),
            f"cite: {self.citation}",
            f"licence: {self.licence}",
            f"ways to get it:\n{self.ways()}",
        ]
        return "\n".join(lines)


WAYS = {
    "folder": "{name}.csv.gz in a folder given as folder=... or in the environment variable "
    "POLYCHOTOMY_DATA",
    "generated": 'generated: source="generated"',
    "scikit-learn": 'from scikit-learn, which ships it: source="scikit-learn"',
    "openml": 'downloaded from OpenML, data set {openml}: source="openml"',
}


def _known(name: str) -> Facts:
    from ._table import TABLE

    return TABLE[name]
