"""What the methods of a comparison are worth once something is decided: costs, answers, sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.types import FloatArray, IntArray
from ..core.words import printable
from ..decisions import DecisionPlan, DecisionReport, RiskCoverage, SetReport, set_report
from ..decisions.costs import Costs
from ..decisions.held_out import HeldOut
from ..decisions.risk_coverage import curve_of
from ._candidates import BASELINE
from ._comparison import POOL, MethodComparison

MakePlan = Callable[[Any, Any], DecisionPlan]
COLUMNS = {
    "cost": "cost",
    "answered": "answered",
    "error_answered": "error",
    "area": "area",
    "set_size": "set size",
    "set_coverage": "covered",
}


@dataclass(frozen=True)
class ComparedDecisions:
    """The methods ranked by what their decisions come to; it prints as a table.

    Attributes
    ----------
    criterion : str
        "cost", or "area" (under the risk-coverage curve) if nothing has a cost.
    rows : list of dict
        A row for every method with probabilities, the best first: "method", "cost", "answered",
        "error_answered", "area", "set_size", "set_coverage" (None if not asked for), and against
        the best "difference" and "standard_error" of the criterion.
    curves : dict of RiskCoverage
        The risk-coverage curve of every method, all splits together.
    sets : SetReport or None
        The sets of the best method, all splits together.
    coverage : float or None
        The share of the rows whose set should have the true class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polychotomy.compare import compare_methods, compared_decisions
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare_methods(X[::2], y[::2], ["logistic", "PWC_PSVM"], n_splits=3)
    >>> costs = [[0, 1, 1], [1, 0, 1], [1, 9, 0]]
    >>> decided = compared_decisions(found, costs=costs)
    >>> decided.criterion, sorted(row["method"] for row in decided.rows)
    ('cost', ['PWC_PSVM', 'logistic'])
    """

    criterion: str
    rows: list[dict[str, Any]]
    curves: dict[str, RiskCoverage]
    sets: SetReport | None
    coverage: float | None = None

    @property
    def recommended(self) -> str:
        """The best method, or the pool if it is behind by no more than one standard error."""
        for row in self.rows:
            if row["method"] == POOL and row["difference"] <= row["standard_error"]:
                return POOL
        return str(self.rows[0]["method"])

    def to_dict(self) -> dict[str, Any]:
        """Return the decisions as values that JSON can hold."""
        return {
            "criterion": self.criterion,
            "recommended": self.recommended,
            "ranking": self.rows,
            "sets_of_best": None if self.sets is None else self.sets.to_dict(),
        }

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads of the columns, and the fields of every row as texts."""
        shown = [key for key in COLUMNS if any(row[key] is not None for row in self.rows)]
        heads = ["method", *(COLUMNS[key] for key in shown), "behind"]
        return heads, [
            [
                printable(row["method"]),
                *("" if row[key] is None else f"{row[key]:.4f}" for key in shown),
                _behind(row),
            ]
            for row in self.rows
        ]

    def __str__(self) -> str:
        heads, lines = self.table()
        cells = [heads, *lines]
        widths = [max(len(line[at]) for line in cells) for at in range(len(heads))]
        texts = [
            "  ".join(
                text.ljust(width) if at in (0, len(heads) - 1) else text.rjust(width)
                for at, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in cells
        ]
        what = "mean cost" if self.criterion == "cost" else "area under the risk-coverage curve"
        return "\n".join([f"Decisions, ranked by {what}:", *texts])


def _behind(row: dict[str, Any]) -> str:
    if row["difference"] == 0.0:
        return "best"
    return f"+{row['difference']:.4f} ± {row['standard_error']:.4f}"


def compared_decisions(
    comparison: MethodComparison,
    *,
    costs: Any = None,
    reject_cost: float | None = None,
    answered: float | None = None,
    sets: float | None = None,
    X: Any = None,
) -> ComparedDecisions:
    """Decide with the probabilities of every method, on the test rows of every split.

    Thresholds for `answered` and `sets` come from one half of the test rows of a split, and are
    judged on the other, and the other way round. Weights of rows count in what is judged, and not
    in thresholds.

    Parameters
    ----------
    comparison : MethodComparison
        The comparison.
    costs : as for `polychotomy.decisions.cost_table`, default=None
        The costs of actions, for the classes of the comparison.
    reject_cost, answered, sets : float, default=None
        As for `polychotomy.decisions.DecisionPlan`.
    X : DataFrame, default=None
        The inputs of all rows, for costs that name columns.

    Returns
    -------
    decisions : ComparedDecisions
    """

    def make(held_out: Any, share_answered: Any) -> DecisionPlan:
        return DecisionPlan.make(
            comparison.classes,
            costs=costs,
            reject_cost=reject_cost,
            answered=share_answered,
            sets=None if held_out is None else sets,
            held_out=held_out,
        )

    whole = make(None, None)
    if isinstance(whole.costs, Costs) and whole.costs.columns and X is None:
        raise ValueError("The costs name columns: give the inputs as X.")
    judged = {
        name: _judged(comparison, name, make, answered, sets, X)
        for name in comparison.methods
        if name != BASELINE.name and all(one.p is not None for one in comparison.held_out[name])
    }
    if not judged:
        raise ValueError("No method has probabilities, which decisions need.")
    criterion = "cost" if costs is not None or reject_cost is not None else "area"
    figures = {name: _by_split(found, criterion) for name, found in judged.items()}
    best = min(figures, key=lambda name: float(np.mean(figures[name])))
    rows: list[dict[str, Any]] = [
        {"method": name, **_means(found), **_against(figures, name, best, comparison)}
        for name, found in judged.items()
    ]
    rows.sort(key=lambda row: (row["difference"], row["method"] != best))
    return ComparedDecisions(
        criterion=criterion,
        rows=rows,
        curves={name: _curve(comparison, name) for name in (row["method"] for row in rows)},
        sets=None if sets is None else _sets(comparison, best, make),
        coverage=sets,
    )


def _judged(
    comparison: MethodComparison, name: str, make: MakePlan, answered: Any, sets: Any, X: Any
) -> list[list[DecisionReport]]:
    """Return the reports of a method: for every split, that of each half of the test rows."""
    found = []
    for number, run in enumerate(comparison.held_out[name]):
        p, y = np.asarray(run.p, dtype=np.float64), comparison.y[run.rows]
        own = None if X is None else X.iloc[run.rows]
        if answered is None and sets is None:
            found.append([make(None, None).report(p, y, own, run.weights)])
            continue
        parts = []
        for one, other in _halves(len(y), number):
            kept, counted = (
                None if run.weights is None else run.weights[half] for half in (one, other)
            )
            plan = make(HeldOut(p[one], y[one], kept), answered)
            inputs = None if own is None else own.iloc[other]
            parts.append(plan.report(p[other], y[other], inputs, counted))
        found.append(parts)
    return found


def _halves(n_rows: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Split test rows into halves, the same for all methods."""
    mixed = np.random.default_rng(seed).permutation(n_rows)
    first, second = mixed[: n_rows // 2], mixed[n_rows // 2 :]
    if not len(first):
        raise ValueError(
            "Thresholds need at least two test rows in every split; use a larger test part."
        )
    return [(first, second), (second, first)]


FIELDS: dict[str, Callable[[DecisionReport], float | None]] = {
    "cost": lambda report: report.cost,
    "answered": lambda report: report.answered,
    "error_answered": lambda report: report.error_answered,
    "area": lambda report: report.area,
    "set_size": lambda report: None if report.sets is None else report.sets.mean_size,
    "set_coverage": lambda report: None if report.sets is None else report.sets.coverage,
}


def _by_split(found: list[list[DecisionReport]], key: str) -> FloatArray:
    values = [[FIELDS[key](report) for report in parts] for parts in found]
    plain = [[np.nan if one is None else one for one in parts] for parts in values]
    return np.array([np.mean(parts) for parts in plain])


def _means(found: list[list[DecisionReport]]) -> dict[str, float | None]:
    means = {key: float(_by_split(found, key).mean()) for key in FIELDS}
    return {key: None if np.isnan(value) else value for key, value in means.items()}


def _against(
    figures: dict[str, FloatArray], name: str, best: str, comparison: MethodComparison
) -> dict[str, float]:
    """Return the paired difference to the best, and its error for overlapping training parts."""
    gap = figures[name] - figures[best]
    # Nadeau and Bengio (2003), as in the ranking by likelihood.
    factor = 1.0 / len(gap) + comparison.test_to_train
    error = float(np.sqrt(factor * gap.var(ddof=1))) if len(gap) > 1 else 0.0
    return {"difference": float(gap.mean()), "standard_error": error}


def _curve(comparison: MethodComparison, name: str) -> RiskCoverage:
    rows, _, p = comparison.pooled(name)
    assert p is not None
    wrong = p.argmax(axis=1) != comparison.y[rows]
    sure = np.asarray(p.max(axis=1), dtype=np.float64)
    return curve_of(wrong.astype(float), sure, comparison.pooled_weights(name))


def _sets(comparison: MethodComparison, name: str, make: MakePlan) -> SetReport:
    """Return the sets of a method on the test rows of all splits."""
    inside, labels, weights = [], [], []
    for number, run in enumerate(comparison.held_out[name]):
        p, y = np.asarray(run.p, dtype=np.float64), comparison.y[run.rows]
        for one, other in _halves(len(y), number):
            own = np.ones(len(y)) if run.weights is None else run.weights
            kept = None if run.weights is None else own[one]
            inside.append(make(HeldOut(p[one], y[one], kept), None).sets(p[other]))
            labels.append(comparison.classes[y[other]])
            weights.append(own[other])
    found, truth = np.concatenate(inside), np.concatenate(labels)
    return set_report(found, truth, comparison.classes, np.concatenate(weights))
