"""What a study is: methods, data sets, partitions and a search, read from a TOML file.

The papers' studies are in the folder ``papers``, together with the papers' printed numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import datasets
from ..core.checks import suggestion
from ..tuning.recipe import find_pipe_recipe
from ..tuning.ties import RULES
from ._printed import Doubt, PrintedTable, PrintedTimes, read_table, read_times
from ._toml import Entry, read

__all__ = [
    "DatasetPart",
    "Doubt",
    "PrintedTable",
    "PrintedTimes",
    "SearchPlan",
    "StudyDefinition",
    "StudyMethod",
    "load_study",
    "printed_tables",
    "printed_times",
    "study_names",
]

INPUTS = ("continuous", "all", "none")
SPLITS = ("stratified", "random", "given")
STEPS = ("two", "coarse")
LEARNERS = ("tree", "knn")
IN_TWO_PARTS = ("usps",)

_PAPERS = Path(__file__).parent / "papers"
_TABLES = "_tables"


@dataclass(frozen=True)
class SearchPlan:
    """How C and sigma2 of kernel machines are chosen.

    Parameters
    ----------
    folds : int, default=5
        The number of folds.
    ties : {"duan2003", "duan2005", "nll"}, default="duan2003"
        The rule that decides between pairs, as in `TwoStepSearchCV`.
    steps : {"two", "coarse"}, default="two"
        Both grids, or only the first.

    Examples
    --------
    >>> from polychotomy.study.definition import load_study
    >>> load_study("duan2005").search
    SearchPlan(folds=5, ties='duan2005', steps='two')
    """

    folds: int = 5
    ties: str = "duan2003"
    steps: str = "two"


@dataclass(frozen=True)
class StudyMethod:
    """A method of a study: a recipe, with its own binary learner or another.

    Parameters
    ----------
    name : str
        Its name in the study.
    recipe : str
        The recipe, as `polychotomy.recipes` spells it.
    learner : {"tree", "knn"} or None, default=None
        The binary learner instead of the recipe's: a decision tree with at least 2 rows a leaf,
        or 3 nearest neighbours. They have probabilities of their own, and are not tuned.

    Examples
    --------
    >>> from polychotomy.study.definition import load_study
    >>> method = load_study("galar").methods[-1]
    >>> method
    StudyMethod(name='DOO_knn', recipe='DOO', learner='knn')
    >>> method.machine()
    KNeighborsClassifier(n_neighbors=3)
    """

    name: str
    recipe: str
    learner: str | None = None

    def machine(self, random_state: Any = None) -> Any:
        """Return the learner for `polychotomy.recipe(..., machine=...)`, None for its own."""
        if self.learner == "tree":
            from sklearn.tree import DecisionTreeClassifier

            return DecisionTreeClassifier(min_samples_leaf=2, random_state=random_state)
        if self.learner == "knn":
            from sklearn.neighbors import KNeighborsClassifier

            return KNeighborsClassifier(n_neighbors=3)
        return None


@dataclass(frozen=True)
class DatasetPart:
    """A data set of a study and how it is divided.

    Parameters
    ----------
    name : str
        The data set, one of `polychotomy.datasets.names`.
    label : str
        Its label in the study; the name, unless it is used more than once.
    train : int or float
        The rows of the training part, or the share of all rows; the others are for testing.
    split : {"stratified", "random", "given"}
        How training rows are drawn; "given" where the data come in two parts.
    partitions : int
        The number of partitions.
    methods : tuple of str
        The methods to run on it.
    paper : mapping
        What the paper prints about it: label, rows, inputs, classes.
    notes : tuple of str
        How it may differ from the paper's data.

    Examples
    --------
    >>> from polychotomy.study.definition import load_study
    >>> part = load_study("duan2005").datasets[9]
    >>> part.label, part.name, part.train, part.split, part.partitions
    ('segment_250', 'segment', 250, 'stratified', 20)
    >>> load_study("galar").datasets[3].train_rows()
    100
    """

    name: str
    label: str
    train: int | float
    split: str
    partitions: int
    methods: tuple[str, ...]
    paper: Mapping[str, Any]
    notes: tuple[str, ...]

    def train_rows(self, rows: int | None = None) -> int:
        """Return the number of training rows, out of all rows (by default the papers' number)."""
        if isinstance(self.train, int):
            return self.train
        return round(self.train * (datasets.facts(self.name).rows if rows is None else rows))


@dataclass(frozen=True)
class StudyDefinition:
    """A study: the methods, the data sets, the number of partitions, and how methods are tuned.

    Parameters
    ----------
    name : str
        Its name.
    title : str
        What it is about, in one line.
    citation : str
        The paper.
    partitions : int
        How many times data are divided into a training and a test part.
    seed : int
        The seed of everything random.
    inputs : {"continuous", "all", "none"}
        The inputs that are scaled to zero mean and unit deviation of the training part.
    split : {"stratified", "random", "given"}
        How training rows are drawn.
    search : SearchPlan
        How kernel machines are tuned.
    methods : tuple of StudyMethod
        The methods.
    datasets : tuple of DatasetPart
        The data sets.
    notes : tuple of str
        What the paper does not specify, and what is done.

    Examples
    --------
    >>> from polychotomy.study.definition import load_study
    >>> study = load_study("duan2003")
    >>> study.title
    'Soft-max combination against eight other methods, on five data sets'
    >>> len(study.methods), [part.train for part in study.datasets]
    (12, [560, 500, 1500, 500, 300])
    """

    name: str
    title: str
    citation: str
    partitions: int
    seed: int
    inputs: str
    split: str
    search: SearchPlan
    methods: tuple[StudyMethod, ...]
    datasets: tuple[DatasetPart, ...]
    notes: tuple[str, ...]


def study_names() -> list[str]:
    """List the studies that come with the library.

    Examples
    --------
    >>> from polychotomy.study.definition import study_names
    >>> study_names()
    ['duan2003', 'duan2005', 'galar', 'vangestel2002']
    """
    found = (path.stem for path in _PAPERS.glob("*.toml"))
    return sorted(name for name in found if not name.endswith(_TABLES))


def load_study(name_or_path: str | os.PathLike[str]) -> StudyDefinition:
    """Read the definition of a study.

    Parameters
    ----------
    name_or_path : str or path
        One of `study_names`, or a TOML file of your own. It needs a name, partitions, methods (as
        names of recipes, or as tables with name, recipe and learner) and datasets, each with name
        and train; the rest has defaults.

    Returns
    -------
    study : StudyDefinition

    Raises
    ------
    ValueError
        If something in it is wrong. The message names the file and the key.

    Examples
    --------
    >>> from polychotomy.study.definition import load_study
    >>> [part.label for part in load_study("duan2003").datasets]
    ['abe', 'dna', 'satimage', 'segment', 'waveform']
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = '''
    ... name = "mine"
    ... partitions = 5
    ... methods = ["PWC_PSVM", {name = "trees", recipe = "VOTE", learner = "tree"}]
    ... [[datasets]]
    ... name = "iris"
    ... train = 0.5
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "mine.toml")
    ...     _ = path.write_text(text)
    ...     study = load_study(path)
    >>> study.split, study.search.folds, study.datasets[0].methods
    ('stratified', 5, ('PWC_PSVM', 'trees'))
    """
    return _study(read(_path(name_or_path)))


def printed_tables(name: str) -> tuple[PrintedTable, ...]:
    """Return the tables that a study's paper prints.

    Parameters
    ----------
    name : str
        One of `study_names`.

    Returns
    -------
    tables : tuple of PrintedTable
        None for GALAR, which prints no numbers.

    Examples
    --------
    >>> from polychotomy.study.definition import printed_tables
    >>> [table.id for table in printed_tables("duan2003")][:3]
    ['Table 2', 'Table 3', 'Table 4']
    """
    path = _tables_path(name)
    return read_tables(path, load_study(name)) if path.exists() else ()


def printed_times(name: str) -> tuple[PrintedTimes, ...]:
    """Return the times that a study's paper prints.

    Parameters
    ----------
    name : str
        One of `study_names`.

    Returns
    -------
    times : tuple of PrintedTimes
        Most papers print none.

    Examples
    --------
    >>> from polychotomy.study.definition import printed_times
    >>> printed_times("duan2003")
    ()
    """
    path = _tables_path(name)
    return _read_printed(path, load_study(name))[1] if path.exists() else ()


def _tables_path(name: str) -> Path:
    if name not in study_names():
        raise ValueError(f"Unknown study {name!r}. {suggestion(str(name), study_names())}")
    return _PAPERS / f"{name}{_TABLES}.toml"


def read_tables(path: Path, study: StudyDefinition) -> tuple[PrintedTable, ...]:
    """Read a file of printed tables, and check it against their study.

    Examples
    --------
    >>> from polychotomy.study.definition import printed_tables
    >>> printed_tables("galar")
    ()
    """
    return _read_printed(path, study)[0]


def _read_printed(
    path: Path, study: StudyDefinition
) -> tuple[tuple[PrintedTable, ...], tuple[PrintedTimes, ...]]:
    file = read(path)
    labels = [part.label for part in study.datasets]
    methods = [method.name for method in study.methods]
    tables = tuple(read_table(entry, labels, methods) for entry in file.entries("tables"))
    times = tuple(read_times(entry, labels, methods) for entry in file.entries("times", ()))
    file.finish()
    _refuse_twice(file, "tables", "id", [table.id for table in tables])
    return tables, times


def _path(name_or_path: str | os.PathLike[str]) -> Path:
    """Return the file of a built-in study, or the given path."""
    if name_or_path in study_names():
        return _PAPERS / f"{name_or_path}.toml"
    path = Path(name_or_path)
    if isinstance(name_or_path, str) and path.suffix != ".toml":
        raise ValueError(
            f"Unknown study {name_or_path!r}. {suggestion(name_or_path, study_names())} The name "
            "of your own file must end in .toml."
        )
    return path


def _study(file: Entry) -> StudyDefinition:
    name = file.text("name")
    if not re.fullmatch(r"[\w-]+", name, re.ASCII):
        raise file.wrong("name", f"must be of letters, digits, _ and - only, got {name!r}.")
    partitions = file.whole("partitions", 1)
    split = file.choice("split", SPLITS, "stratified")
    methods = _methods(file)
    names = [method.name for method in methods]
    parts = tuple(_part(e, split, partitions, names) for e in file.entries("datasets"))
    _refuse_twice(file, "datasets", "label", [part.label for part in parts])
    study = StudyDefinition(
        name=name,
        title=file.text("title", ""),
        citation=file.text("citation", ""),
        partitions=partitions,
        seed=file.whole("seed", 0, 0),
        inputs=file.choice("inputs", INPUTS, "continuous"),
        split=split,
        search=_search(file.entry("search")),
        methods=methods,
        datasets=parts,
        notes=file.texts("notes", ()),
    )
    file.finish()
    return study


def _search(entry: Entry) -> SearchPlan:
    plan = SearchPlan(
        folds=entry.whole("folds", 2, SearchPlan.folds),
        ties=entry.choice("ties", RULES, SearchPlan.ties),
        steps=entry.choice("steps", STEPS, SearchPlan.steps),
    )
    entry.finish()
    return plan


def _methods(file: Entry) -> tuple[StudyMethod, ...]:
    wanted = "a list of recipes, for example 'PWC_PSVM' or {name = 'mine', recipe = 'VOTE'}"
    found = []
    for i, item in enumerate(file.items("methods", wanted)):
        place = f"methods[{i}]"
        if isinstance(item, str):
            known = _recipe(file, place, item)
            found.append(StudyMethod(known, known))
        elif isinstance(item, dict):
            entry = file.inside(item, place)
            recipe = _recipe(file, f"{place}.recipe", entry.text("recipe"))
            learner = entry.choice("learner", LEARNERS) if "learner" in entry else None
            found.append(StudyMethod(entry.text("name", recipe), recipe, learner))
            entry.finish()
        else:
            raise file.wrong(place, f"must be a string or a table, got {item!r}.")
    _refuse_twice(file, "methods", "name", [method.name for method in found])
    return tuple(found)


def _recipe(file: Entry, place: str, name: str) -> str:
    """Return a recipe's name as it is spelt in the table."""
    try:
        return find_pipe_recipe(name).name
    except ValueError as error:
        raise file.wrong(place, f"is wrong: {error}") from None


def _part(entry: Entry, split: str, partitions: int, methods: Sequence[str]) -> DatasetPart:
    name = entry.choice("name", datasets.names())
    part = DatasetPart(
        name=name,
        label=entry.text("label", name),
        train=entry.rows_or_share("train"),
        split=entry.choice("split", SPLITS, split),
        partitions=entry.whole("partitions", 1, partitions),
        methods=entry.texts("methods", methods),
        paper=entry.table("paper"),
        notes=entry.texts("notes", ()),
    )
    entry.finish()
    rows = datasets.facts(name).rows
    if not 0 < part.train_rows() < rows:
        raise entry.wrong(
            "train", f"leaves no rows for one of the two parts: {name} has {rows} rows."
        )
    for method in part.methods:
        if method not in methods:
            raise entry.wrong(
                "methods",
                f"has {method!r}, which the study does not have. {suggestion(method, methods)}",
            )
    if part.split == "given" and (name not in IN_TWO_PARTS or part.partitions != 1):
        raise entry.wrong("split", "can be 'given' for usps only, with partitions = 1.")
    return part


def _refuse_twice(file: Entry, key: str, what: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise file.wrong(key, f"has the {what} {name!r} twice; give each {what} once.")
