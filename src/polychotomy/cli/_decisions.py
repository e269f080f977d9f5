"""Options of several commands: costs, rejection, sets of classes; and where they are kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.checks import suggestion

if TYPE_CHECKING:
    from ..compare import ComparedDecisions, MethodComparison
    from ..decisions import DecisionPlan, DecisionReport
    from ..decisions.costs import Costs

CostsFile = Annotated[
    Path | None,
    typer.Option(
        "--costs",
        metavar="FILE",
        help="A CSV table of costs: a row for each true class, a column for each action.",
    ),
]
RejectCost = Annotated[
    float | None,
    typer.Option(
        "--reject-cost", metavar="COST", help="What a row costs that is left to somebody else."
    ),
]
Answered = Annotated[
    float | None,
    typer.Option(
        "--answered", metavar="SHARE", help="Answer this share of the rows, the surest: 0.9, say."
    ),
]
SetCoverage = Annotated[
    float | None,
    typer.Option(
        "--sets",
        metavar="COVERAGE",
        help="Give every row a set of classes that has the true one with this probability.",
    ),
]
# What a model file keeps of the wishes.
KEPT = ("costs", "reject_cost", "answered", "sets")
# Between the classes of a set, in a table.
BETWEEN = "|"
# The sets that a page shows if no others are asked for, and the test rows that they need.
SHOWN_COVERAGE, LEAST_ROWS = 0.9, 20


@dataclass(frozen=True)
class Wishes:
    """What the user wants to be decided, as a model file keeps it.

    Attributes
    ----------
    costs : dict of dicts or None
        By true class and action, as texts; numbers, or names of columns.
    reject_cost, answered, sets : float or None
        The options.
    file : str
        Where the costs come from, for messages; it is not kept.
    """

    costs: dict[str, dict[str, float | str]] | None = None
    reject_cost: float | None = None
    answered: float | None = None
    sets: float | None = None
    file: str = field(default="", compare=False)

    @property
    def needs_held_out(self) -> bool:
        """Whether thresholds are chosen on held-out rows."""
        return self.answered is not None or self.sets is not None

    def to_dict(self) -> dict[str, Any]:
        """Return what is wanted, for a model file."""
        found = {key: getattr(self, key) for key in KEPT}
        return {key: value for key, value in found.items() if value is not None}

    def or_else(self, kept: Any) -> Wishes:
        """Return these wishes; those of a model file if there are none."""
        if self != Wishes() or not isinstance(kept, Mapping):
            return self
        known: dict[str, Any] = {key: kept.get(key) for key in KEPT}
        return Wishes(**known)

    def check(self, classes: Any, columns: Collection[str] | None = None) -> None:
        """Refuse what does not suit the classes and columns of a table, before anything is fitted.

        Parameters
        ----------
        classes : array-like
            The classes.
        columns : collection of str, default=None
            The columns whose values can be costs; not checked by default.
        """
        import numpy as np

        from ..decisions.held_out import HeldOut

        plan = self.plan(classes, HeldOut(np.eye(len(classes)), np.arange(len(classes))))
        named = () if plan.costs is None else plan.costs.columns
        unknown = [] if columns is None else [name for name in named if name not in columns]
        if unknown:
            raise ValueError(
                f"{self.file} has the cost {unknown[0]!r}, which is neither a number nor an input "
                f"column of the table. {suggestion(unknown[0], columns or ())}"
            )

    def compared(self, found: MethodComparison, X: Any) -> ComparedDecisions | None:
        """Return the methods of a comparison ranked by what is decided; None if nothing can be."""
        from ..compare import compared_decisions

        judged = [found.held_out[name] for name in found.methods]
        if not any(all(one.p is not None for one in runs) for runs in judged):
            return None
        sets = self.sets
        if self == Wishes() and min(len(one.rows) for runs in judged for one in runs) >= LEAST_ROWS:
            sets = SHOWN_COVERAGE
        return compared_decisions(
            found,
            costs=self._costs(found.classes),
            reject_cost=self.reject_cost,
            answered=self.answered,
            sets=sets,
            X=X,
        )

    def _costs(self, classes: Any) -> Costs | None:
        """Return the costs for classes; errors name the file."""
        from ..decisions.costs import costs_by_text

        if self.costs is None:
            return None
        try:
            return costs_by_text(self.costs, classes)
        except (TypeError, ValueError) as error:
            if not self.file:
                raise
            raise ValueError(f"--costs {self.file}: {error}") from None

    def plan(self, classes: Any, held_out: Any = None) -> DecisionPlan:
        """Return the plan for a model's classes."""
        from ..decisions import DecisionPlan

        costs = self._costs(classes)
        if self.needs_held_out and held_out is None:
            option = "--sets" if self.answered is None else "--answered"
            raise ValueError(
                f"The model file has no held-out rows, which {option} needs: fit the model again "
                f"with {option}, or with --keep-held-out."
            )
        return DecisionPlan.make(
            classes,
            costs=costs,
            reject_cost=self.reject_cost,
            answered=self.answered,
            sets=self.sets,
            held_out=held_out,
        )


def wishes(
    costs: Path | None,
    reject_cost: float | None,
    answered: float | None,
    sets: float | None,
) -> Wishes:
    """Return what was asked for, after checking it as far as possible without a table."""
    from ..decisions.costs import nonnegative
    from ..decisions.inputs import share

    if reject_cost is not None:
        nonnegative(reject_cost, "--reject-cost")
        if answered is not None:
            raise ValueError("--reject-cost and --answered do not go together; give one.")
    if answered is not None:
        share(answered, "--answered")
    if sets is not None:
        share(sets, "--sets")
    read, file = (None, "") if costs is None else (read_costs(costs), str(costs))
    return Wishes(read, reject_cost, answered, sets, file)


def class_labels(y: Any) -> Any:
    """Return the classes of a table."""
    import numpy as np

    return np.unique(np.asarray(y))


def read_costs(path: Path) -> dict[str, dict[str, float | str]]:
    """Read a table of costs: the true class in the first column, actions in the header."""
    from ..tables import TableError, open_table

    with open_table(path) as file:
        frame = file.read()
        decimal = "." if file.dialect is None else file.dialect.decimal
    if frame.shape[1] < 2 or not len(frame):
        raise TableError(
            f"{path} must have the true classes in its first column, and a column for each action."
        )
    found: dict[str, dict[str, float | str]] = {}
    for number, (_, row) in enumerate(frame.iterrows(), 2):
        entries = row.tolist()
        if _missing(entries[0]):
            raise TableError(f"Line {number} of {path} names no class.")
        label = str(entries[0])
        if label in found:
            raise TableError(f"{path} has two rows for class {label!r}.")
        found[label] = {}
        for action, entry in zip(frame.columns[1:], entries[1:], strict=True):
            if _missing(entry):
                raise TableError(f"{path} has no cost for action {action!r} and class {label!r}.")
            found[label][str(action)] = _number(entry, decimal)
    return found


def _missing(entry: Any) -> bool:
    return entry is None or entry != entry


def _number(entry: Any, decimal: str) -> float | str:
    try:
        return float(str(entry).replace(decimal, "."))
    except ValueError:
        return str(entry)


def cost_columns(plan: DecisionPlan, matched: Any, others: Any) -> Any:
    """Return the columns of a table that are costs, as numbers; rows have the file's numbers."""
    if plan.costs is None or not plan.costs.columns:
        return None
    from ..tables._errors import pandas_module

    pandas = pandas_module()
    # Rows of a piece are numbered from 0 in the one, and as in the file in the other.
    found = {
        name: pandas.to_numeric(
            matched[name] if name in matched else others[name], errors="coerce"
        ).to_numpy()
        for name in plan.costs.columns
    }
    return pandas.DataFrame(found, index=others.index + 1)


def columns_to_read(plan: DecisionPlan, schema: Any) -> list[str]:
    """Return the columns that are costs, but no inputs of the model."""
    if plan.costs is None:
        return []
    inputs = {column.name for column in schema.columns}
    return [name for name in plan.costs.columns if name not in inputs]


def add_columns(answers: Any, plan: DecisionPlan, p: Any, X: Any, lists: bool) -> None:
    """Add what is decided to a table of answers; sets as lists, or as one text."""
    for name, values in plan.columns(p, X).items():
        if name == "set" and not lists:
            values = [BETWEEN.join(str(label) for label in labels) for labels in values]
        answers[name] = values


def held_out_of(model: Any) -> Any:
    """Return the held-out rows that a model has kept; None if it has not."""
    keeps = getattr(model, "held_out", None)
    return keeps() if callable(keeps) else None


def decision_report(plan: DecisionPlan, labels: Any, parts: Any, prices: Any) -> DecisionReport:
    """Report what is decided on labelled rows; rows of classes the model does not know are left."""
    import numpy as np

    from ..tables._columns import as_words
    from ..tables._errors import pandas_module

    words = np.concatenate([as_words(part) for part in labels]).astype(str).tolist()
    place = {str(label): number for number, label in enumerate(plan.classes.tolist())}
    y = np.array([place.get(word, -1) for word in words], dtype=np.intp)
    p = np.concatenate([probabilities for _, probabilities in parts])
    known = y >= 0
    if not known.any():
        raise ValueError("No row has a class that the model knows; nothing can be decided.")
    X = None if prices[0] is None else pandas_module().concat(prices)[known]
    return plan.report(p[known], y[known], X)
