"""Several decisions at once: what the tool writes for each row, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray, IntArray
from .conformal import class_thresholds, sets_of, with_likeliest
from .costs import Costs, cost_table, least_expected, nonnegative
from .held_out import HeldOut
from .inputs import share
from .rejection import coverage_threshold
from .risk_coverage import curve_of
from .set_report import SetReport, set_report

REJECTED = "rejected"


@dataclass(frozen=True)
class DecisionReport:
    """What decisions come to on labelled rows; it prints as lines.

    Attributes
    ----------
    cost, plain_cost : float or None
        The mean cost of the chosen actions, and that of the action for the most likely class. With
        a share of rows to answer, of the answered rows. The second is None if some class is not an
        action.
    answered, error_answered : float or None
        The share of answered rows, and the error among them (None if none is answered).
    area : float
        The area under the risk-coverage curve.
    sets : SetReport or None
        Coverage and sizes of the sets.
    """

    cost: float | None
    plain_cost: float | None
    answered: float | None
    error_answered: float | None
    area: float
    sets: SetReport | None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""
        return {
            "cost": self.cost,
            "cost_of_likeliest_class": self.plain_cost,
            "answered": self.answered,
            "error_of_answered": self.error_answered,
            "risk_coverage_area": self.area,
            "sets": None if self.sets is None else self.sets.to_dict(),
        }

    def __str__(self) -> str:
        lines = []
        if self.cost is not None:
            lines.append(f"mean cost    {self.cost:.4f}")
        if self.plain_cost is not None:
            lines.append(f"             {self.plain_cost:.4f} with the most likely class")
        if self.answered is not None:
            error = "" if self.error_answered is None else f", error {self.error_answered:.4f}"
            lines.append(f"answered     {self.answered:.1%}{error}")
        lines.append(f"area         {self.area:.4f} under the risk-coverage curve")
        if self.sets is not None:
            lines += ["", "sets of classes", str(self.sets)]
        return "\n".join(lines)


@dataclass(frozen=True)
class DecisionPlan:
    """What is decided for every row: an action, whether it is answered, a set of classes.

    Make one with `make`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The class labels.
    costs : Costs or None
        The costs of actions, with a reject action if a reject cost was given as well.
    reject_cost : float or None
        What a rejected row costs.
    threshold : float or None
        The least confidence of an answered row: the largest probability, or minus the least
        expected cost.
    set_thresholds : ndarray of shape (n_classes,) or None
        The thresholds of the sets (LAC).

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.decisions import DecisionPlan
    >>> plan = DecisionPlan.make(np.array(["a", "b"]), reject_cost=0.2)
    >>> plan.columns([[0.9, 0.1], [0.6, 0.4]])
    {'rejected': array([False,  True])}
    """

    classes: NDArray[Any]
    costs: Costs | None = None
    reject_cost: float | None = None
    threshold: float | None = None
    set_thresholds: FloatArray | None = None

    @classmethod
    def make(
        cls,
        classes: NDArray[Any],
        *,
        costs: Any = None,
        reject_cost: float | None = None,
        answered: float | None = None,
        sets: float | None = None,
        held_out: HeldOut | None = None,
    ) -> DecisionPlan:
        """Make a plan, with thresholds from held-out rows.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            The class labels.
        costs : Costs, or as for `cost_table`, default=None
            The costs of actions.
        reject_cost : float, default=None
            What a rejected row costs: in the unit of `costs`, or if a wrong answer costs 1.
        answered : float, default=None
            The share of rows to answer.
        sets : float, default=None
            The coverage of sets of classes.
        held_out : HeldOut, default=None
            Held-out rows, for `answered` and `sets`.

        Returns
        -------
        plan : DecisionPlan
        """
        if reject_cost is not None and answered is not None:
            raise ValueError("Give a reject cost or a share of rows to answer, not both.")
        if held_out is None and (answered is not None or sets is not None):
            raise ValueError("There are no held-out rows, which the thresholds are chosen on.")
        table = costs
        if costs is not None and not isinstance(costs, Costs):
            table = cost_table(costs, classes)
        if reject_cost is not None:
            nonnegative(reject_cost, "The reject cost")
            table = None if table is None else table.with_reject(reject_cost, REJECTED)
        plan = cls(classes, table, reject_cost)
        threshold = set_thresholds = None
        if answered is not None:
            wanted = share(answered, "The share of rows to answer")
            assert held_out is not None
            if table is not None and table.columns:
                raise ValueError(
                    "Costs that depend on the row do not go with a share of rows to answer: the "
                    "held-out rows do not have them. Give a reject cost."
                )
            threshold = coverage_threshold(plan._confidence(held_out.p, None), wanted)
        if sets is not None:
            assert held_out is not None
            wanted = share(sets, "The coverage of sets")
            set_thresholds = class_thresholds(1.0 - held_out.p, held_out.y, wanted, False)
        return cls(classes, table, reject_cost, threshold, set_thresholds)

    @property
    def decides(self) -> bool:
        """Whether there is anything to decide."""
        given = (self.costs, self.reject_cost, self.threshold, self.set_thresholds)
        return any(one is not None for one in given)

    def columns(self, p: Any, X: Any = None) -> dict[str, Any]:
        """Return the decisions for rows.

        Parameters
        ----------
        p : array-like of shape (n_rows, n_classes)
            Class probabilities.
        X : data frame, default=None
            Columns that are costs.

        Returns
        -------
        columns : dict
            "action", "rejected" and "set" (lists of labels), as far as they were asked for.
        """
        probability = np.asarray(p, dtype=np.float64)
        found: dict[str, Any] = {}
        if self.costs is not None:
            chosen, answered = self._chosen(probability, X)
            actions = self.costs.actions.astype(object)[chosen]
            actions[~answered] = REJECTED
            found["action"] = actions
        if self.reject_cost is not None or self.threshold is not None:
            found["rejected"] = ~self._chosen(probability, X)[1]
        if self.set_thresholds is not None:
            found["set"] = [self.classes[one].tolist() for one in self.sets(probability)]
        return found

    def report(
        self, p: Any, y: IntArray, X: Any = None, weights: FloatArray | None = None
    ) -> DecisionReport:
        """Report what the decisions come to on labelled rows.

        Parameters
        ----------
        p : array-like of shape (n_rows, n_classes)
            Class probabilities.
        y : ndarray of int of shape (n_rows,)
            The numbers of the true classes.
        X : data frame, default=None
            Columns that are costs.
        weights : ndarray of shape (n_rows,), default=None
            How much each row counts.

        Returns
        -------
        report : DecisionReport
        """
        probability = np.asarray(p, dtype=np.float64)
        wrong = (probability.argmax(axis=1) != y).astype(float)
        chosen, answered = self._chosen(probability, X)
        cost = plain = share_answered = error = None
        if self.costs is not None:
            # What rejected rows cost is known only with a reject cost.
            counted = np.ones(len(y), dtype=bool) if self.threshold is None else answered
            cost = _mean(self.costs.of(y, chosen, X), weights, counted)
            paid = self._plain_costs(probability, y, X)
            plain = None if paid is None else _mean(paid, weights, counted)
        elif self.reject_cost is not None:
            cost = _mean(np.where(answered, wrong, self.reject_cost), weights)
        if self.reject_cost is not None or self.threshold is not None:
            share_answered = _mean(answered.astype(float), weights)
            error = _mean(wrong, weights, answered)
        sets = None
        if self.set_thresholds is not None:
            labels = np.arange(len(self.classes))
            found = set_report(self.sets(probability), y, labels, weights)
            sets = SetReport(**{**vars(found), "classes": self.classes})
        area = curve_of(wrong, probability.max(axis=1), weights).area
        return DecisionReport(cost, plain, share_answered, error, area, sets)

    def _chosen(self, p: FloatArray, X: Any) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return the numbers of the chosen actions or classes, and which rows are answered."""
        if self.costs is not None:
            chosen = least_expected(self.costs.expected(p, X))
        else:
            chosen = p.argmax(axis=1)
        answered = np.ones(len(p), dtype=bool)
        if self.threshold is not None:
            answered = self._confidence(p, X) >= self.threshold
        elif self.reject_cost is not None and self.costs is not None:
            answered = chosen < len(self.costs.actions) - 1
        elif self.reject_cost is not None:
            answered = p.max(axis=1) >= 1.0 - self.reject_cost
        return chosen, answered

    def _confidence(self, p: FloatArray, X: Any) -> FloatArray:
        if self.costs is None:
            sure: FloatArray = p.max(axis=1)
            return sure
        least: FloatArray = -self.costs.expected(p, X).min(axis=1)
        return least

    def sets(self, p: FloatArray) -> NDArray[np.bool_]:
        """Return which classes are in the set of each row.

        Parameters
        ----------
        p : ndarray of shape (n_rows, n_classes)
            Class probabilities.

        Returns
        -------
        sets : ndarray of bool of shape (n_rows, n_classes)
        """
        if self.set_thresholds is None:
            raise ValueError("This plan has no sets; give their coverage.")
        found: NDArray[np.bool_] = with_likeliest(sets_of(1.0 - p, self.set_thresholds), p)
        return found

    def _plain_costs(self, p: FloatArray, y: IntArray, X: Any) -> FloatArray | None:
        """Return what the most likely class would cost; None if some class is not an action."""
        assert self.costs is not None
        actions = self.costs.actions.tolist()
        if not all(label in actions for label in self.classes.tolist()):
            return None
        same = np.array([actions.index(label) for label in self.classes.tolist()])
        return self.costs.of(y, same[p.argmax(axis=1)], X)


def _mean(
    values: FloatArray, weights: FloatArray | None, rows: NDArray[np.bool_] | None = None
) -> float | None:
    """Return the weighted mean of some rows; None if none of them counts."""
    own = np.ones(len(values)) if weights is None else weights
    own = own if rows is None else np.where(rows, own, 0.0)
    return float(np.average(values, weights=own)) if own.any() else None
