"""Costs of actions: a table of numbers, of columns, or a function of the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.checks import listed
from ..core.types import FloatArray, IntArray
from .inputs import class_probabilities, label_array, numbers_of


@dataclass(frozen=True)
class Costs:
    """What every action costs for every true class.

    The cost of action a for a row of class k is ``fixed[k, a]``, plus, for every entry of
    `columns`, the value of that column in the row times ``columns[name][k, a]``.

    Attributes
    ----------
    fixed : ndarray of shape (n_classes, n_actions)
        The part that is the same for all rows.
    actions : ndarray of shape (n_actions,)
        The labels of the actions.
    columns : dict of str to ndarray of shape (n_classes, n_actions)
        Where the value of an input column is the cost.
    function : callable or None
        The costs of rows as a function of the inputs, in place of the other two.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.decisions import cost_table
    >>> costs = cost_table({"ill": {"treat": 1, "wait": 20}, "well": {"treat": 5, "wait": 0}},
    ...                    ["ill", "well"])
    >>> costs.actions[costs.expected([[0.1, 0.9], [0.3, 0.7]]).argmin(axis=1)]
    array(['wait', 'treat'], dtype='<U5')
    """

    fixed: FloatArray
    actions: NDArray[Any]
    columns: dict[str, FloatArray] = field(default_factory=dict)
    function: Callable[[Any], Any] | None = None

    def expected(self, p: ArrayLike, X: Any = None) -> FloatArray:
        """Return the expected cost of every action: ``sum_k p_k cost[k, a]``.

        Parameters
        ----------
        p : array-like of shape (n_rows, n_classes)
            Class probabilities.
        X : data frame or array-like, default=None
            The inputs, for costs that depend on the row.

        Returns
        -------
        expected : ndarray of shape (n_rows, n_actions)
        """
        probability = self._probabilities(p)
        if self.function is not None:
            found: FloatArray = np.einsum("nk,nka->na", probability, self._computed(X, probability))
            return found
        expected: FloatArray = probability @ self.fixed
        for name, where in self.columns.items():
            expected = expected + column_values(X, name)[:, None] * (probability @ where)
        return expected

    def of(self, y: IntArray, chosen: IntArray, X: Any = None) -> FloatArray:
        """Return what the chosen actions cost, row by row.

        Parameters
        ----------
        y, chosen : ndarray of int of shape (n_rows,)
            The numbers of the true classes and of the chosen actions.
        X : data frame or array-like, default=None
            The inputs, for costs that depend on the row.

        Returns
        -------
        cost : ndarray of shape (n_rows,)
        """
        if self.function is not None:
            table = self._computed(X, np.empty((len(y), len(self.fixed))))
            paid: FloatArray = table[np.arange(len(y)), y, chosen]
            return paid
        cost: FloatArray = self.fixed[y, chosen]
        for name, where in self.columns.items():
            cost = cost + column_values(X, name) * where[y, chosen]
        return cost

    def with_reject(self, cost: float, label: Any = "rejected") -> Costs:
        """Return the costs with one more action, which costs the same for every class."""
        if label in self.actions.tolist():
            raise ValueError(f"costs has the action {label!r} already; remove the reject cost.")
        if self.function is not None:
            raise ValueError("A function of costs must return the reject action itself.")
        price = np.full((len(self.fixed), 1), nonnegative(cost, "reject_cost"))
        return Costs(
            np.hstack([self.fixed, price]),
            label_array([*self.actions.tolist(), label]),
            {key: np.hstack([one, np.zeros_like(price)]) for key, one in self.columns.items()},
        )

    def _probabilities(self, p: ArrayLike) -> FloatArray:
        probability = class_probabilities(p)
        if probability.shape[1] != len(self.fixed):
            raise ValueError(
                f"p has {probability.shape[1]} columns, but costs has {len(self.fixed)} classes."
            )
        return probability

    def _computed(self, X: Any, probability: FloatArray) -> FloatArray:
        assert self.function is not None
        table = np.asarray(self.function(X), dtype=np.float64)
        wanted = (len(probability), probability.shape[1], len(self.actions))
        if table.shape == wanted[1:]:
            table = np.broadcast_to(table, wanted)
        if table.shape != wanted:
            raise ValueError(
                f"The function in costs must return an array of shape {wanted} (rows, classes, "
                f"actions) or {wanted[1:]}; got {table.shape}."
            )
        bad = np.argwhere(~(np.isfinite(table) & (table >= 0)))
        if len(bad):
            raise ValueError(
                f"The function in costs returned {table[tuple(bad[0])]} for row {bad[0][0]}; "
                "costs must be nonnegative numbers."
            )
        return table


def cost_table(costs: Any, classes: ArrayLike, actions: Sequence[Any] | None = None) -> Costs:
    """Read costs that the user gives in one of several forms.

    Parameters
    ----------
    costs : array-like, data frame, dict of dicts, callable or None
        The cost of every action (column) for every true class (row). A data frame has the classes
        as its index and the actions as its columns. A dict of dicts is ``{class: {action: cost}}``.
        In both, an entry that is a text names a column of the inputs, whose value is the cost. A
        callable gets the inputs, and returns an array of shape (n_rows, n_classes, n_actions).
        None is 0 for the true class and 1 for any other.
    classes : array-like of shape (n_classes,)
        The labels of the classes.
    actions : sequence, default=None
        The labels of the actions, for arrays and callables; the classes by default.

    Returns
    -------
    costs : Costs

    Examples
    --------
    >>> from polychotomy.decisions import cost_table
    >>> cost_table([[0, 1, 0.2], [5, 0, 0.2]], ["a", "b"], ["a", "b", "ask"]).actions
    array(['a', 'b', 'ask'], dtype='<U3')
    >>> cost_table({"a": {"a": 0, "b": 1}}, ["a", "b"])
    Traceback (most recent call last):
    ...
    ValueError: costs has no row for class 'b'; its rows are 'a'.
    """
    labels = np.asarray(classes)
    if costs is None:
        return Costs(1.0 - np.eye(len(labels)), labels)
    if callable(costs):
        names = label_array(labels.tolist() if actions is None else actions)
        return Costs(np.zeros((len(labels), len(names))), names, function=costs)
    if hasattr(costs, "columns") and hasattr(costs, "index"):
        costs = {
            row: dict(zip(costs.columns.tolist(), values, strict=True))
            for row, values in zip(costs.index.tolist(), costs.to_numpy().tolist(), strict=True)
        }
    if isinstance(costs, Mapping):
        if actions is not None:
            raise ValueError("actions is for costs without labels; these have labels already.")
        return _labelled(costs, labels)
    return _plain(costs, labels, actions)


def costs_by_text(costs: Mapping[str, Mapping[str, Any]], classes: NDArray[Any]) -> Costs:
    """Read costs whose labels are texts, as in a file; classes are found by their text.

    Parameters
    ----------
    costs : dict of dicts
        As for `cost_table`, with texts as labels.
    classes : ndarray of shape (n_classes,)
        The labels of the classes, of any type.

    Returns
    -------
    costs : Costs

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.decisions.costs import costs_by_text
    >>> table = {"1": {"1": 0, "2": 3, "ask": 1}, "2": {"1": 3, "2": 0, "ask": 1}}
    >>> costs_by_text(table, np.array([1, 2])).actions
    array([1, 2, 'ask'], dtype=object)
    """
    known = {str(label): label for label in classes.tolist()}
    rows = {
        known.get(label, label): {known.get(action, action): cost for action, cost in row.items()}
        for label, row in costs.items()
    }
    return cost_table(rows, classes)


def _plain(costs: Any, classes: NDArray[Any], actions: Sequence[Any] | None) -> Costs:
    table = np.asarray(costs)
    if table.dtype.kind not in "biuf":
        raise TypeError(
            f"costs must be numbers, got {costs!r:.60}. Give columns of the inputs in a dict of "
            "dicts or a data frame, with the labels of classes and actions."
        )
    if table.ndim != 2 or len(table) != len(classes):
        raise ValueError(
            f"costs must have a row for each of the {len(classes)} classes and a column for each "
            f"action; got an array of shape {table.shape}."
        )
    if actions is None and table.shape[1] != len(classes):
        raise ValueError(
            f"costs has {table.shape[1]} columns for {len(classes)} classes; name them with "
            "actions=[...]."
        )
    names = label_array(classes.tolist() if actions is None else actions)
    if len(names) != table.shape[1]:
        raise ValueError(f"actions has {len(names)} labels for {table.shape[1]} columns of costs.")
    _refuse_twice(names.tolist())
    fixed = table.astype(np.float64)
    bad = np.argwhere(~(np.isfinite(fixed) & (fixed >= 0)))
    if len(bad):
        k, a = bad[0]
        _refuse_number(fixed[k, a], classes.tolist()[k], names.tolist()[a])
    return Costs(fixed, names)


def _labelled(costs: Mapping[Any, Any], classes: NDArray[Any]) -> Costs:
    rows = list(costs)
    for label in classes.tolist():
        if label not in costs:
            raise ValueError(f"costs has no row for class {label!r}; its rows are {listed(rows)}.")
    for label in rows:
        if label not in classes.tolist():
            raise ValueError(
                f"costs has a row {label!r}, which is not a class; the classes are "
                f"{listed(classes.tolist(), 'and')}."
            )
        if not isinstance(costs[label], Mapping):
            raise TypeError(
                f"costs[{label!r}] must be a dict of the costs of actions, got {costs[label]!r}."
            )
    actions = list(costs[rows[0]])
    for label in rows:
        if set(costs[label]) != set(actions):
            other = sorted(set(actions) ^ set(costs[label]), key=str)[0]
            raise ValueError(
                f"costs has the action {other!r} for some classes, but not for all: compare the "
                f"rows {rows[0]!r} and {label!r}."
            )
    if not actions:
        raise ValueError("costs has no actions.")
    fixed = np.zeros((len(classes), len(actions)))
    columns: dict[str, FloatArray] = {}
    for k, label in enumerate(classes.tolist()):
        for a, action in enumerate(actions):
            entry = costs[label][action]
            if isinstance(entry, str):
                columns.setdefault(entry, np.zeros_like(fixed))[k, a] = 1.0
            elif isinstance(entry, int | float | np.number) and not isinstance(entry, bool):
                fixed[k, a] = entry
                if not (np.isfinite(entry) and entry >= 0):
                    _refuse_number(entry, label, action)
            else:
                raise TypeError(
                    f"costs must be numbers or names of columns; action {action!r} for class "
                    f"{label!r} has {entry!r}."
                )
    return Costs(fixed, label_array(actions), columns)


def _refuse_number(value: Any, label: Any, action: Any) -> None:
    what = f"costs has {value} for action {action!r} and class {label!r}"
    if value < 0:
        raise ValueError(
            f"{what}; costs must be nonnegative. To give a gain, add the same number to all costs "
            "of the class: no decision changes."
        )
    raise ValueError(f"{what}; every cost must be a finite number.")


def _refuse_twice(names: list[Any]) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"costs has the action {twice[0]!r} twice.")


def nonnegative(value: Any, name: str) -> float:
    """Return a number after checking that it is finite and not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{name} must be a nonnegative number, got {value!r}.")
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a nonnegative number, got {value!r}.")
    return float(value)


def column_values(X: Any, name: str) -> FloatArray:
    """Return a column of costs of a data frame, after checking that it can be one."""
    if not hasattr(X, "columns"):
        raise TypeError(
            f"costs names the column {name!r}, so that X must be a data frame; got "
            f"{type(X).__name__}."
        )
    if name not in list(X.columns):
        raise ValueError(f"costs names the column {name!r}, which X does not have.")
    values = np.asarray(X[name], dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        raise ValueError(
            f"The column {name!r} is used as a cost, but has {values[bad[0]]} in row "
            f"{X.index[bad[0]] if hasattr(X, 'index') else bad[0]}; "
            "costs must be nonnegative numbers."
        )
    return values


def least_expected(expected: FloatArray) -> IntArray:
    """Return the number of the cheapest action of every row; of equal ones, the first."""
    least: IntArray = expected.argmin(axis=1)
    return least


def mean_cost(
    y: ArrayLike, p: ArrayLike, costs: Any = None, classes: Any = None, X: Any = None
) -> float:
    """Return the mean cost of the actions of least expected cost.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The true classes.
    p : array-like of shape (n_rows, n_classes)
        Class probabilities.
    costs : Costs, or as for `cost_table`
        The costs.
    classes : array-like of shape (n_classes,), default=None
        The labels of the columns of `p`; those in `y`, sorted, by default.
    X : data frame, default=None
        The inputs, for costs that depend on the row.

    Returns
    -------
    cost : float

    Examples
    --------
    >>> from polychotomy.decisions import mean_cost
    >>> mean_cost([0, 1], [[0.9, 0.1], [0.7, 0.3]], [[0, 1], [10, 0]])
    0.5
    """
    labels = np.unique(np.asarray(y)) if classes is None else np.asarray(classes)
    table = costs if isinstance(costs, Costs) else cost_table(costs, labels)
    chosen = least_expected(table.expected(p, X))
    return float(table.of(numbers_of(y, labels), chosen, X).mean())
