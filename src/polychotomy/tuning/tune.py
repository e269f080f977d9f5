"""Tuning several methods at once: two grids, tie rules, and shared sweeps."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..core.checks import listed, one_of
from ..core.progress import Ticker
from ..core.stages import stage, timed
from ..core.types import FloatArray
from ..native.memory import released_at_end
from ..pipe.classifier import PolychotomyClassifier
from ..pipe.folds import Splits
from ..pipe.parts import resolve_machine
from ..pipe.session import start
from .grid import DECADES, Cell, Grid, coarse_grid, fine_factors, fine_grid
from .parts import CellScore, Method
from .sample import Given, folds_of_sample, for_search, search_rows, searches_a_sample
from .steps import Search, Step, run_elsewhere, run_here
from .sweep import Sweep, group
from .ties import RULES, Candidates, choose


@dataclass(frozen=True)
class Plan:
    """The settings of a search.

    With ``judge_single=False``, methods without parameters to choose are not cross-validated. With
    ``keep_out_of_fold=True``, methods are not tempered, and keep their out-of-fold probabilities.
    """

    coarse: Mapping[str, Any] | None
    fine: Any
    cv: Any
    n_jobs: int | None
    refit: bool
    tick: Ticker
    judge_single: bool = True
    keep_out_of_fold: bool = False
    executor: Any = None
    max_rows: int | None = None


@dataclass(frozen=True)
class Tuned:
    """A method after the search."""

    method: Method
    sweep: Sweep
    coarse: Grid
    fine: Grid | None
    best: Cell
    classifier: PolychotomyClassifier | None
    out_of_fold: FloatArray | None = None

    @property
    def best_params(self) -> dict[str, Any]:
        """The parameters of the best cell."""
        return self.coarse.params(self.best)

    @property
    def cells(self) -> list[tuple[str, Cell, CellScore]]:
        """Every cell that was judged: the step, the cell and its figures."""
        steps = [("coarse", self.coarse), ("fine", self.fine)]
        return [
            (step, cell, self.method.outcomes[cell])
            for step, grid in steps
            if grid is not None
            for cell in grid.cells
            if step == "coarse" or cell not in self.coarse.cells
        ]


def tune(
    classifiers: Mapping[str, tuple[PolychotomyClassifier, str]],
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    fit_params: dict[str, Any],
    plan: Plan,
) -> dict[str, Tuned]:
    """Tune several methods, each with its tie rule; methods share sweeps where possible.

    Note: beyond the exact range, methods with ``landmarks="auto"`` are searched on a sample of the
    rows, drawn by content, and then fitted on all rows. Searching on all rows would take a hundred
    times the time of that fit, for nearly the same parameters.
    """
    given = Given(X, y, sample_weight, fit_params)
    few: Given | None = None
    groups: dict[tuple[Grid, bool], list[Method]] = {}
    for name, (template, ties) in classifiers.items():
        one_of(ties, "ties", RULES)
        classifier = _prepared(template, plan)
        grid = _coarse(plan.coarse, classifier)
        most = plan.max_rows
        own, sampled = given, bool(grid.names) and searches_a_sample(classifier, y, most)
        if sampled and few is None:
            given = given.checked()
            rows = search_rows(given, most=most)
            few = given.of_rows(rows)
        folds = folds_of_sample(classifier.cv, rows) if sampled else None
        sampled = folds is not None
        if few is not None and sampled:
            own, classifier = few, for_search(classifier, len(few.y)).set_params(cv=folds)
        session = start(classifier, own.X, own.y, own.sample_weight, own.fit_params)
        groups.setdefault((grid, sampled), []).append(Method(name, classifier, session, ties))
    splits: dict[bool, Splits] = {}
    for (_, sampled), members in groups.items():
        if sampled not in splits:
            splits[sampled] = members[0].session.split()
    if not all(splits.values()):
        raise ValueError(
            "A search needs folds: cv must be a number of folds or a splitter, and some class "
            "must have two rows."
        )
    searches = [
        _Search(sweep, grid, replace(plan, refit=False) if sampled else plan)
        for (grid, sampled), members in groups.items()
        for sweep in group(members, grid.names, splits[sampled], plan.keep_out_of_fold)
    ]
    for search in searches:
        if search.sweep.lacking:
            warnings.warn(
                f"{search.sweep.lacking} Its rows there are judged by machines that do not know "
                "the class; use stratified folds, or more rows of it.",
                UserWarning,
                stacklevel=4,
            )
    found: dict[str, Tuned] = {}
    with released_at_end():
        if plan.executor is not None:
            sweeps = [search.sweep for search in searches]
            run_elsewhere([search.jobs() for search in searches], sweeps, plan.executor)
        for search in searches:
            if plan.executor is None:
                run_here([search.jobs()])
            found.update(search.finished())
    for (_, sampled), members in groups.items():
        if sampled and plan.refit:
            for name in (method.name for method in members):
                found[name] = _fit_on_all(found[name], classifiers[name][0], given, plan)
    return {name: found[name] for name in classifiers}


def _fit_on_all(tuned: Tuned, template: PolychotomyClassifier, given: Given, plan: Plan) -> Tuned:
    """Fit a method on all rows with the parameters that a sample chose."""
    classifier = _prepared(template, plan).set_params(**tuned.best_params)
    fit = classifier.fit_out_of_fold if plan.keep_out_of_fold else classifier.fit
    with timed() as seconds, stage("last fit"):
        answer = fit(given.X, given.y, given.sample_weight, **given.fit_params)
    for name, value in seconds.items():
        tuned.sweep.seconds[name] = tuned.sweep.seconds.get(name, 0.0) + value
    out_of_fold = answer if plan.keep_out_of_fold else None
    return replace(tuned, classifier=classifier, out_of_fold=out_of_fold)


def _prepared(template: PolychotomyClassifier, plan: Plan) -> PolychotomyClassifier:
    if not isinstance(template, PolychotomyClassifier):
        raise TypeError(
            f"estimator must be a PolychotomyClassifier, got {template!r}. Scale the inputs in a "
            "pipeline around the search, make_pipeline(StandardScaler(), TwoStepSearchCV(...)); "
            "for anything else use scikit-learn's GridSearchCV."
        )
    classifier: PolychotomyClassifier = clone(template)
    if classifier.machine is None or isinstance(classifier.machine, str):
        # The search sets its parameters, which needs an object.
        classifier.machine = resolve_machine(classifier.machine)[0].template
    if plan.cv is not None:
        classifier.cv = plan.cv
    if plan.n_jobs is not None:
        classifier.n_jobs = plan.n_jobs
    return classifier


def _coarse(given: Mapping[str, Any] | None, classifier: PolychotomyClassifier) -> Grid:
    known = classifier.machine.get_params() if hasattr(classifier.machine, "get_params") else {}
    if given is None:
        tuned = getattr(classifier.machine, "tuned_parameters", None)
        if tuned is None:
            raise ValueError(
                f"coarse must name the parameters of {type(classifier.machine).__name__} to "
                "search, for example {'machine__C': [0.1, 1, 10]}."
            )
        # Empty for machines that choose their own parameters.
        given = {f"machine__{name}": DECADES for name in tuned}
    if len(given) == 0:
        return Grid((), ())
    grid = coarse_grid(given)
    for name in grid.names:
        if not name.startswith("machine__") or name.removeprefix("machine__") not in known:
            raise ValueError(
                f"coarse has the parameter {name!r}, which the machine does not have; it has "
                f"{listed(f'machine__{key}' for key in sorted(known))}. To search over codes, "
                "calibrators or decoders, use scikit-learn's GridSearchCV or MethodSweep."
            )
    return grid


class _Search:
    """The search of both grids for all methods of a sweep."""

    def __init__(self, sweep: Sweep, grid: Grid, plan: Plan) -> None:
        self.sweep, self.grid, self.plan = sweep, grid, plan
        self.best: list[Cell] = [()] * len(sweep.methods)
        self.fine: list[Grid | None] = [None] * len(sweep.methods)

    def jobs(self) -> Search:
        """Yield what to judge, and choose the best cells on the way."""
        sweep, grid, plan = self.sweep, self.grid, self.plan
        if not (grid.names or plan.judge_single or sweep.keeps_scores):
            return
        wanted = [grid.cells] * len(sweep.methods)
        yield from Step(sweep, wanted, grid, None, plan.tick, "coarse").jobs()
        self.best = [_best(method, grid) for method in sweep.methods]
        if plan.fine is None or not grid.names:
            return
        factors = fine_factors(plan.fine, grid.names)
        grids = [fine_grid(grid, cell, factors) for cell in self.best]
        wanted = [each.cells for each in grids]
        yield from Step(sweep, wanted, grid, factors, plan.tick, "fine").jobs()
        pairs = zip(sweep.methods, grids, strict=True)
        self.best, self.fine = [_best(method, each) for method, each in pairs], list(grids)

    def finished(self) -> dict[str, Tuned]:
        """Fit each method in its best cell."""
        chosen = zip(self.sweep.methods, self.fine, self.best, strict=True)
        return {
            method.name: Tuned(
                *(method, self.sweep, self.grid, around, cell),
                *_finished(self.sweep, method, cell, self.plan),
            )
            for method, around, cell in chosen
        }


def _finished(
    sweep: Sweep, method: Method, cell: Cell, plan: Plan
) -> tuple[PolychotomyClassifier | None, FloatArray | None]:
    return sweep.finish(method, cell, plan.keep_out_of_fold) if plan.refit else (None, None)


def _best(method: Method, grid: Grid) -> Cell:
    outcomes = [method.outcomes[cell] for cell in grid.cells]
    error = np.array([outcome.error for outcome in outcomes])
    if np.isnan(error).all():
        raise ValueError(
            f"All {len(outcomes)} cells of the search of {method.name} failed, the first with: "
            f"{outcomes[0].status}"
        )
    nll = None
    if method.probabilities:
        nll = np.array([np.nan if o.nll is None else o.nll for o in outcomes])
    return grid.cells[choose(Candidates(grid, error, nll), method.ties)]


def results_table(tuned: Tuned) -> dict[str, Any]:
    """Return the cells in the form of scikit-learn's `cv_results_`."""
    cells = tuned.cells
    outcomes = [outcome for _, _, outcome in cells]
    score = 1.0 - np.array([outcome.error for outcome in outcomes])
    folds = 1.0 - np.stack([outcome.fold_errors for outcome in outcomes])
    table: dict[str, Any] = {}
    for place, name in enumerate(tuned.coarse.names):
        values = np.array([cell[place] for _, cell, _ in cells])
        table[f"param_{name}"] = np.ma.masked_array(values)
    table["params"] = [tuned.coarse.params(cell) for _, cell, _ in cells]
    table["step"] = np.array([step for step, _, _ in cells])
    for fold in range(folds.shape[1]):
        table[f"split{fold}_test_score"] = folds[:, fold]
    table["mean_test_score"] = score
    table["std_test_score"] = folds.std(axis=1)
    # Equal scores share the best rank, as in scikit-learn. Failed cells are last.
    filled = np.nan_to_num(score, nan=-1.0)
    table["rank_test_score"] = 1 + (filled[None, :] > filled[:, None]).sum(axis=1)
    table["cv_error"] = 1.0 - score
    table["cv_nll"] = np.array(
        [np.nan if outcome.nll is None else outcome.nll for outcome in outcomes]
    )
    table["status"] = np.array([outcome.status for outcome in outcomes], dtype=object)
    return table
