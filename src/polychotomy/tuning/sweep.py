"""One sweep of machines over the cells of a grid, shared by all methods that read their scores.

Methods that share code, machine and folds differ only in calibrator and decoder. Their machines are
trained once for every cell and fold. Each method is then judged in each of its cells.

Note: training the machines takes most of the time, and their scores do not depend on calibrator or
decoder. One sweep for all methods therefore costs little more than a search for one. The
alternative, a search for each method, would train the same machines again for every decoder. With
the same scores, differences between methods are also due to the methods alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from joblib import hash as content_hash
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning

from ..core.stages import stage, timed
from ..core.types import FloatArray
from ..pipe.classifier import PolychotomyClassifier
from ..pipe.cross_fit import FoldPlan, TrialBatch, figures
from ..pipe.fitted_attributes import adopt
from ..pipe.fitting import fit_pipe
from ..pipe.folds import Splits
from ..pipe.parts import columns_of
from ..pipe.session import Session
from ..pipe.training import BinaryMachines, Searched, TrainingSet, Trial, train, try_once, try_path
from .grid import Cell, Grid, chains, possible_values
from .parts import CellScore, Found, Method, Part

# Cells with more scores than this are judged some at a time: 64 MiB.
BATCH_SCORES = 1 << 23


class Sweep:
    """The machines of one code on one set of folds, tried in many cells.

    Parameters
    ----------
    methods : list of Method
        The methods that read their scores.
    splits : list of (train, test)
        The folds.
    names : tuple of str
        The parameters that make up a cell.
    keep_out_of_fold : bool, default=False
        Whether out-of-fold class probabilities are needed at the end.
    """

    def __init__(
        self,
        methods: list[Method],
        splits: Splits,
        names: tuple[str, ...],
        keep_out_of_fold: bool = False,
    ) -> None:
        self.methods, self.splits, self.names = methods, splits, names
        self.keep_out_of_fold = keep_out_of_fold
        self.session = methods[0].session
        self.data = self.session.data
        self.lacking = _lacking_classes(self.data, splits, self.session)
        self.seconds: dict[str, float] = {}
        self.kept: dict[Cell, FloatArray] = {}
        self._machines: dict[Cell, BinaryMachines] = {}
        self._latest: tuple[Cell, Any] | None = None
        self._warned = False

    @property
    def keeps_scores(self) -> bool:
        """Whether a method learns from the scores of its best cell."""
        return self.keep_out_of_fold or any(method.session.learns for method in self.methods)

    @property
    def name(self) -> str:
        """The name of the sweep in progress bars and tables."""
        return f"{self.session.parts.machine_name}, {self.data.codebook.name}"

    def parts(
        self,
        wanted: Sequence[Sequence[Cell]],
        grid: Grid,
        factors: Mapping[str, Sequence[float]] | None,
    ) -> list[Part]:
        """Return what is to be judged: every method in its `wanted` cells without figures.

        The cells are those of `grid`, or of its refinement by the `factors` of its parameters.
        """
        missing = [
            [cell for cell in cells if cell not in method.outcomes]
            for cells, method in zip(wanted, self.methods, strict=True)
        ]
        union = list(dict.fromkeys(cell for cells in missing for cell in cells))
        chains = self._chains(union, grid, factors)
        return [Part(chain, [set(cells) & set(chain) for cells in missing]) for chain in chains]

    def judged(self, part: Part) -> Found:
        """Train the machines of a part, and judge the methods in its cells."""
        found = Found([{} for _ in self.methods], [0.0] * len(self.methods))
        with timed() as seconds:
            self._judge_part(part, found)
        found.seconds = seconds
        return found

    def lost(self, part: Part, reason: str) -> Found:
        """Return what comes of a part whose process died."""
        found = Found([{} for _ in self.methods], [0.0] * len(self.methods))
        self._record_failure(found, part, part.cells, reason)
        return found

    def take_in(self, found: Found, wanted: Sequence[Sequence[Cell]]) -> None:
        """Keep what came of a part of a search for the `wanted` cells of each method."""
        for method, outcomes, seconds in zip(
            self.methods, found.outcomes, found.seconds_own, strict=True
        ):
            method.outcomes.update(outcomes)
            method.seconds += seconds
        self.kept = self.needed_scores({**self.kept, **found.kept}, wanted)
        self._add(found.seconds)

    def with_outcomes(self, outcomes: Sequence[dict[Cell, CellScore]]) -> Sweep:
        """Return a copy whose methods have other figures."""
        other = copy(self)
        other.methods = [
            replace(method, outcomes=own)
            for method, own in zip(self.methods, outcomes, strict=True)
        ]
        return other

    def _add(self, seconds: Mapping[str, float]) -> None:
        for stage_name, value in seconds.items():
            self.seconds[stage_name] = self.seconds.get(stage_name, 0.0) + value

    def portable(self) -> Sweep:
        """Return a copy for other processes, without what they do not need."""
        options = replace(self.data.options, n_jobs=1)
        other = copy(self)
        other.data = replace(self.data, options=options)
        # Iterators of folds could not be sent.
        sessions = [
            replace(one.session, data=other.data, cv=None, split_params={}) for one in self.methods
        ]
        other.methods = [
            Method(one.name, PolychotomyClassifier(), session, one.ties)
            for one, session in zip(self.methods, sessions, strict=True)
        ]
        other.session = sessions[0]
        other.kept, other._machines, other._latest = {}, {}, None
        return other

    def finish(
        self, method: Method, cell: Cell, keep_out_of_fold: bool = False
    ) -> tuple[PolychotomyClassifier, FloatArray | None]:
        """Fit the method on all rows in its best cell; methods share machines of the same cell.

        With `keep_out_of_fold` the method is not tempered, and its out-of-fold class probabilities
        are returned as well.
        """
        params = self._params(cell)
        classifier: PolychotomyClassifier = method.classifier.set_params(**params)
        machine = self._machine(cell)
        data = self.data.with_machine(machine)
        with timed() as seconds:
            if cell not in self._machines:
                with stage("last fit"):
                    (self._machines[cell],) = train(data, [data.rows])
            start = perf_counter()
            parts = replace(method.session.parts, machine=machine)
            if keep_out_of_fold:
                parts = replace(parts, tempering=None)
            session = replace(method.session, parts=parts, data=data)
            scores = self.kept.get(cell, np.zeros((0, 0)))
            searched = Searched(self._machines[cell], scores, self.splits)
            pipe = fit_pipe(session, searched, keep_out_of_fold)
            adopt(classifier, session, pipe)
            method.seconds += perf_counter() - start
        self._add(seconds)
        return classifier, pipe.out_of_fold

    def _chains(
        self, cells: list[Cell], grid: Grid, factors: Mapping[str, Sequence[float]] | None
    ) -> list[list[Cell]]:
        """Split the cells into runs that are trained together, along C if possible."""
        place = self._path_place()
        if place is None:
            return [[cell] for cell in cells]
        own = None if factors is None else factors.get(self.names[place], (1.0,))
        universe, starts = possible_values(grid.axes[place], own)
        rest: dict[Cell, list[float]] = {}
        for cell in cells:
            rest.setdefault((*cell[:place], *cell[place + 1 :]), []).append(cell[place])
        return [
            [(*other[:place], value, *other[place:]) for value in chain]
            for other, values in rest.items()
            for chain in chains(values, universe, starts)
        ]

    def _path_place(self) -> int | None:
        """Return the position of the parameter along which the machine can be trained, or None."""
        if any("refit" in method.session.parts.decoder.needs for method in self.methods):
            # Nested machines need exactly the parameters of the cell.
            return None
        name = f"machine__{getattr(self.data.machine, 'path_parameter', '')}"
        return self.names.index(name) if name in self.names else None

    def _judge_part(self, part: Part, found: Found) -> None:
        needed = part.cells
        try:
            trials = self._trials(part.chain)
        except Exception as error:
            # Any error of a machine: the other cells continue, as in GridSearchCV.
            self._record_failure(found, part, needed, f"{type(error).__name__}: {error}")
            return
        usable = []
        for cell, trial in zip(part.chain, trials, strict=True):
            if cell not in needed:
                continue
            if isinstance(trial, str):
                self._record_failure(found, part, [cell], trial)
            else:
                usable.append((cell, trial))
        trials.clear()  # so that the scores of those that have been judged are given back
        most = max(1, BATCH_SCORES // (len(self.data.rows) * self.data.codebook.n_columns))
        while usable:
            self._judge(usable[:most], part, found)
            del usable[:most]

    def _trials(self, chain: list[Cell]) -> list[Trial | str]:
        """Train the machines of a chain of cells in all folds; a message for cells that failed."""
        data = self.data.with_machine(self._machine(chain[0]))
        own = data.machine.has_probability
        place = self._path_place()
        with stage("machines"):
            if place is not None:
                values = [cell[place] for cell in chain]
                path = try_path(data, self.splits, values, own)
                if path is not None:
                    return [self._checked(trial) for trial in path]
            return [self._try_once(cell, own) for cell in chain]

    def _try_once(self, cell: Cell, probability: bool) -> Trial | str:
        data = self.data.with_machine(self._machine(cell))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trial = try_once(data, self.splits, probability)
        for warning in caught:
            if issubclass(warning.category, ConvergenceWarning):
                return str(warning.message)
            warnings.warn_explicit(warning.message, warning.category, warning.filename, 0)
        return trial

    def _checked(self, trial: Trial) -> Trial | str:
        if not trial.failed:
            return trial
        problem = self.data.options.describe(trial.failed[0])
        return (
            f"The solver did not converge for the binary problem {problem}; scale the inputs, or "
            "raise max_iter or tol."
        )

    def _judge(self, usable: list[tuple[Cell, Trial]], part: Part, found: Found) -> None:
        plan = FoldPlan(
            self.data.with_machine(self._machine(usable[0][0])),
            self.session.classes,
            self.session.decoder_seed,
            self.splits,
        )
        batch = TrialBatch(plan, [trial for _, trial in usable])
        asked = [
            [number for number, (cell, _) in enumerate(usable) if cell in cells]
            for cells in part.wanted
        ]
        with stage("calibrators"):
            batch.calibrate(
                [
                    method.session.parts
                    for method, numbers in zip(self.methods, asked, strict=True)
                    if numbers
                ]
            )
        for place, numbers in enumerate(asked):
            if numbers:
                self._judge_method(place, batch, numbers, [usable[k][0] for k in numbers], found)
        if self.keeps_scores:
            for cell, trial in usable:
                found.kept[cell] = trial.scores(self.data, self.splits)
            # Of many columns, the scores of seven cells would be 400 MB.
            found.kept = self.needed_scores(found.kept, part.wanted, found.outcomes)

    def _judge_method(
        self, place: int, batch: TrialBatch, numbers: list[int], cells: list[Cell], found: Found
    ) -> None:
        method, start = self.methods[place], perf_counter()
        try:
            with warnings.catch_warnings():
                # A combiner that is close to its optimum is good enough to be judged.
                warnings.simplefilter("ignore", ConvergenceWarning)
                result = batch.class_scores(method.session.parts, numbers)
            scored = figures(result, batch.plan, method.probabilities)
        except (ValueError, ArithmeticError, RuntimeError) as error:
            failed = self._failed(method, f"{type(error).__name__}: {error}")
            found.outcomes[place].update(dict.fromkeys(cells, failed))
            return
        finally:
            found.seconds_own[place] += perf_counter() - start
        for number, cell in enumerate(cells):
            found.outcomes[place][cell] = CellScore(
                error=float(scored.error[number]),
                nll=None if scored.nll is None else float(scored.nll[number]),
                fold_errors=scored.fold_errors[number],
                status=self.lacking or "ok",
            )

    def needed_scores(
        self,
        scores: Mapping[Cell, FloatArray],
        wanted: Sequence[Iterable[Cell]],
        outcomes: Sequence[Mapping[Cell, CellScore] | None] | None = None,
    ) -> dict[Cell, FloatArray]:
        """Return the scores of cells that may still win for a method that learns from them.

        Note: keeping the scores of all cells would need memory for hundreds of cells. Keeping none
        would mean training the folds of the best cell again.
        """
        winners = {
            cell
            for method, cells, known in zip(
                self.methods, wanted, outcomes or [None] * len(self.methods), strict=True
            )
            if self.keep_out_of_fold or method.session.learns
            for cell in method.possible_winners(cells, known)
        }
        return {cell: values for cell, values in scores.items() if cell in winners}

    def _record_failure(self, found: Found, part: Part, cells: Sequence[Cell], reason: str) -> None:
        for method, outcomes, wanted in zip(self.methods, found.outcomes, part.wanted, strict=True):
            failed = self._failed(method, reason)
            outcomes.update({cell: failed for cell in cells if cell in wanted})

    def _failed(self, method: Method, reason: str) -> CellScore:
        nll = np.nan if method.probabilities else None
        return CellScore(np.nan, nll, np.full(len(self.splits), np.nan), reason)

    def warn_of_failures(self, parts: Iterable[Part]) -> None:
        """Warn once of cells that failed, after all are judged: they may end in any order."""
        failed = (
            (cell, method.outcomes[cell].status)
            for part in parts
            for cell in part.cells
            for method, cells in zip(self.methods, part.wanted, strict=True)
            if cell in cells and np.isnan(method.outcomes[cell].error)
        )
        first = None if self._warned else next(failed, None)
        if first is not None:
            self._warned = True
            warnings.warn(
                f"The search of {self.name} skips the cell {self._params(first[0])}, and any "
                f"others that fail: {first[1]}",
                FitFailedWarning,
                stacklevel=2,
            )

    def _params(self, cell: Cell) -> dict[str, Any]:
        return dict(zip(self.names, cell, strict=True))

    def _machine(self, cell: Cell) -> Any:
        if self._latest is None or self._latest[0] != cell:
            # The same as `set_params` on a copy, without inspecting signatures for every cell.
            template = copy(self.data.machine.template)
            for name, value in self._params(cell).items():
                own = name.removeprefix("machine__")
                if "__" in own:
                    template = clone(template).set_params(**{own: value})
                else:
                    setattr(template, own, value)
            self._latest = cell, columns_of(template)
        return self._latest[1]


def group(
    methods: Iterable[Method], names: tuple[str, ...], splits: Splits, keep_out_of_fold: bool
) -> list[Sweep]:
    """Put methods that differ only in calibrator and decoder into one sweep."""
    groups: dict[str, list[Method]] = {}
    for method in methods:
        groups.setdefault(_key(method), []).append(method)
    sweeps = []
    for members in groups.values():
        first = members[0].session
        for method in members[1:]:
            # All methods use the same random code and the same arrays.
            method.session = replace(method.session, data=first.data)
        sweeps.append(Sweep(members, splits, names, keep_out_of_fold))
    _share_distances(sweeps)
    return sweeps


def _key(method: Method) -> str:
    shared = {
        name: getattr(method.classifier, name)
        for name in ("machine", "code", "class_weight", "random_state", "n_jobs")
    }
    # Methods that train nested machines are swept cell by cell. In the same sweep, the others
    # would be, too, and could not be trained along a path.
    shared["alone"] = "refit" in method.session.parts.decoder.needs
    key: str = content_hash(shared)
    return key


def _share_distances(sweeps: Sequence[Sweep]) -> None:
    """Let machines that prepare rows in the same way share them: distances are computed once."""
    first: dict[str, TrainingSet] = {}
    for sweep in sweeps:
        kind = sweep.data.machine.shares
        if kind is None:
            continue
        if kind in first:
            shared = sweep.data.prepared.sharing(first[kind].prepared)
            sweep.data = replace(sweep.data, prepared=shared)
        else:
            first[kind] = sweep.data


def _lacking_classes(data: TrainingSet, splits: Splits, session: Session) -> str:
    """Name a fold without training rows of some class; an empty string if there is none."""
    for number, (rows, test) in enumerate(splits):
        lacking = np.setdiff1d(data.y[test], data.y[rows])
        if len(lacking):
            return (
                f"Fold {number} of cv has no training rows of class "
                f"{session.classes[lacking].tolist()[0]!r}."
            )
    return ""
