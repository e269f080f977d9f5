"""scikit-learn's callbacks, such as its progress bar, for searches.

They were added in scikit-learn 1.9. Its module is imported only if callbacks are used, because
importing it takes long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from typing import Any, Self, TypeVar, cast

from sklearn.utils.metaestimators import available_if

from ..core.progress import Ticker, progress

Fit = TypeVar("Fit", bound=Callable[..., Any])


def _has_callbacks(estimator: Any) -> bool:
    return find_spec("sklearn.callback") is not None


class TakesCallbacks:
    """A search that reports its progress to scikit-learn's callbacks."""

    @available_if(_has_callbacks)
    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set scikit-learn's callbacks, which are called for every cell; needs scikit-learn 1.9.

        Parameters
        ----------
        *callbacks : callback
            For example ``sklearn.callback.ProgressBar()``. They replace the search's own progress
            bars. Without arguments, all callbacks are removed.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from polychotomy import TwoStepSearchCV
        >>> class Cells:
        ...     n_done = 0
        ...     def setup(self, estimator, context): pass
        ...     def teardown(self, estimator, context): pass
        ...     def on_fit_task_begin(self, estimator, context): pass
        ...     def on_fit_task_end(self, estimator, context):
        ...         self.n_done += context.task_name == "cell"
        >>> cells = Cells()
        >>> search = TwoStepSearchCV(fine=None).set_callbacks(cells)
        >>> search.fit(*load_iris(return_X_y=True)).n_splits_, cells.n_done
        (5, 49)
        """
        from sklearn.callback import CallbackSupportMixin

        found: Self = CallbackSupportMixin.set_callbacks(self, *callbacks)
        return found


def with_callbacks(fit: Fit) -> Fit:
    """Make sure that callbacks are torn down when `fit` ends, with or without an error."""

    @wraps(fit)
    def managed(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        if not _listening(estimator):
            return fit(estimator, *args, **kwargs)
        from sklearn.callback import with_callbacks

        return with_callbacks(fit)(estimator, *args, **kwargs)

    return cast(Fit, managed)


@contextmanager
def shown(estimator: Any, wanted: bool, X: Any, y: Any) -> Iterator[Ticker]:
    """Show the progress of a search: to its callbacks if any, otherwise by bars if `wanted`."""
    if not _listening(estimator):
        with progress(wanted) as bars:
            yield bars
        return
    from sklearn.callback import CallbackSupportMixin

    # The number of sweeps is not known yet.
    root = CallbackSupportMixin._init_callback_context(estimator, max_subtasks=None)
    root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    tasks: dict[str, tuple[Any, int]] = {}

    def tick(name: str, done: int, total: int) -> None:
        if name not in tasks:
            task = root.subcontext(task_name=name, max_subtasks=total)
            task.call_on_fit_task_begin(estimator=estimator)
            tasks[name] = task, 0
        task, before = tasks[name]
        for _ in range(before, done):
            cell = task.subcontext(task_name="cell")
            cell.call_on_fit_task_begin(estimator=estimator)
            cell.call_on_fit_task_end(estimator=estimator)
        tasks[name] = task, done
        if before < done == total:
            task.call_on_fit_task_end(estimator=estimator)

    yield tick
    root.call_on_fit_task_end(estimator=estimator, X=X, y=y)


def _listening(estimator: Any) -> bool:
    """Whether callbacks are set, on the search or on an estimator that contains it."""
    return hasattr(estimator, "_skl_callbacks")
