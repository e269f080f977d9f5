"""Rivals from other libraries, compared if they are installed.

CatBoost, LightGBM and XGBoost with their own defaults, many trees and early stopping; a stack of
them with other classifiers; and networks for tables. Each appears twice: as it is, and tempered as
our methods are.

Note: TabPFN and TabICL download weights when they are first fitted. Where this file was written
there was no network, so that they are written against their documented interface and were never
run; their names are in `UNTRIED`, and their descriptions say so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sklearn.utils.validation import has_fit_parameter

from ..core.types import FloatArray, IntArray
from ._bagged import BaggedClassifier, GreedyStack, Stopping
from ._peers import Conditions, Peer

MOST_TREES = 1000
PATIENCE = 50
# The packages of the rivals, and how to install them.
PACKAGES = {
    "catboost": ("catboost", "polychotomy[rivals]"),
    "lightgbm": ("lightgbm", "polychotomy[rivals]"),
    "xgboost": ("xgboost", "polychotomy[rivals]"),
    "realmlp": ("pytabkit", "pytabkit"),
    "tabpfn": ("tabpfn", "tabpfn"),
    "tabicl": ("tabicl", "tabicl"),
}
TEMPERED = "_tempered"
UNTRIED = ("tabpfn", "tabicl")


def rivals() -> tuple[Peer, ...]:
    """Return the rivals whose packages are installed, and the stack."""
    found = [peer for name in PACKAGES if installed(name) for peer in _both(name)]
    return (*found, _stack_peer())


def installed(name: str) -> bool:
    """Whether the package of a rival is installed."""
    return find_spec(PACKAGES[name][0]) is not None


def how_to_install(name: str) -> str:
    """Return a sentence if a name is that of a rival that is not installed, else nothing."""
    plain = name.lower().removesuffix(TEMPERED)
    if plain not in PACKAGES or installed(plain):
        return ""
    return f"{name} needs a package that is not installed: pip install '{PACKAGES[plain][1]}'."


def _both(name: str) -> Iterable[Peer]:
    words, times, make, stopping = _RIVALS[name]
    note = " (written against its documentation, never tried)" if name in UNTRIED else ""
    for suffix, more, tempered in (("", "", False), (TEMPERED, ", tempered", True)):
        yield Peer(
            *(f"{name}{suffix}", f"{words}{more}{note}", False, times),
            *(_bagged(make, stopping, tempered), _bagged(make, stopping, tempered, folds=2)),
            source=words.partition(",")[0],
        )


def _bagged(
    make: Callable[[Conditions], Any], stopping: Stopping | None, tempered: bool, folds: int = 5
) -> Callable[[Conditions], Any]:
    def build(conditions: Conditions) -> Any:
        parts = conditions.splits(folds) or folds
        return BaggedClassifier(make(conditions), stopping, tempered=tempered, folds=parts)

    return build


def _catboost(conditions: Conditions) -> Any:
    return import_module("catboost").CatBoostClassifier(
        iterations=MOST_TREES,
        random_seed=conditions.random_state,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )


def _stop_catboost(
    model: Any, X: FloatArray, y: IntArray, held_X: FloatArray, held_y: IntArray
) -> Any:
    return model.fit(X, y, eval_set=(held_X, held_y), early_stopping_rounds=PATIENCE)


def _lightgbm(conditions: Conditions) -> Any:
    return import_module("lightgbm").LGBMClassifier(
        n_estimators=MOST_TREES,
        learning_rate=0.05,
        random_state=conditions.random_state,
        n_jobs=1,
        verbosity=-1,
    )


def _stop_lightgbm(
    model: Any, X: FloatArray, y: IntArray, held_X: FloatArray, held_y: IntArray
) -> Any:
    stop = import_module("lightgbm").early_stopping(PATIENCE, verbose=False)
    # From version 4.7 on, `eval_set` is deprecated.
    new = has_fit_parameter(model, "eval_X")
    held = {"eval_X": held_X, "eval_y": held_y} if new else {"eval_set": [(held_X, held_y)]}
    return model.fit(X, y, callbacks=[stop], **held)


def _xgboost(conditions: Conditions) -> Any:
    return import_module("xgboost").XGBClassifier(
        n_estimators=MOST_TREES,
        learning_rate=0.05,
        early_stopping_rounds=PATIENCE,
        random_state=conditions.random_state,
        n_jobs=1,
    )


def _stop_xgboost(
    model: Any, X: FloatArray, y: IntArray, held_X: FloatArray, held_y: IntArray
) -> Any:
    return model.fit(X, y, eval_set=[(held_X, held_y)], verbose=False)


def _realmlp(conditions: Conditions) -> Any:
    # As its authors advise where probabilities count: the epoch by cross-entropy, smooth no labels.
    return import_module("pytabkit").RealMLP_TD_Classifier(
        val_metric_name="cross_entropy",
        use_ls=False,
        random_state=conditions.random_state,
        n_threads=1,
        device="cpu",
    )


def _stop_realmlp(
    model: Any, X: FloatArray, y: IntArray, held_X: FloatArray, held_y: IntArray
) -> Any:
    # Its trainer tells the log about hardware and epochs, once for every model.
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    return model.fit(X, y, X_val=held_X, y_val=held_y)


def _tabpfn(conditions: Conditions) -> Any:
    return import_module("tabpfn").TabPFNClassifier(random_state=conditions.random_state)


def _tabicl(conditions: Conditions) -> Any:
    return import_module("tabicl").TabICLClassifier(random_state=conditions.random_state)


_RIVALS: dict[str, tuple[str, float, Callable[[Conditions], Any], Stopping | None]] = {
    "catboost": ("CatBoost, bagged, stopped early", 60.0, _catboost, _stop_catboost),
    "lightgbm": ("LightGBM, bagged, stopped early", 20.0, _lightgbm, _stop_lightgbm),
    "xgboost": ("XGBoost, bagged, stopped early", 20.0, _xgboost, _stop_xgboost),
    "realmlp": ("RealMLP, bagged, stopped early", 200.0, _realmlp, _stop_realmlp),
    "tabpfn": ("TabPFN, bagged", 200.0, _tabpfn, None),
    "tabicl": ("TabICL, bagged", 200.0, _tabicl, None),
}
_BOOSTERS = ("catboost", "lightgbm", "xgboost")


def _stack_peer() -> Peer:
    present = [name for name in _BOOSTERS if installed(name)] or ["boosting"]
    words = f"stack of {', '.join(present)}, extra trees, MLP, SVC, logistic; bagged, tempered"
    times = 40.0 + sum(_RIVALS[name][1] for name in present if name in _RIVALS)
    return Peer("stack", words, False, times, _stack, _quick_stack, "Caruana et al. (2004)")


def _stack(conditions: Conditions) -> Any:
    return GreedyStack(_stacked(conditions, 5))


def _quick_stack(conditions: Conditions) -> Any:
    return GreedyStack(_stacked(conditions, 2))


def _stacked(conditions: Conditions, folds: int) -> list[tuple[str, BaggedClassifier]]:
    """Return the members of the stack; scikit-learn's boosting if no other is installed."""
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    from ..probabilistic_svc import ProbabilisticSVC

    seed = conditions.random_state
    boosters: list[tuple[str, Any, Stopping | None]] = [
        (name, _RIVALS[name][2](conditions), _RIVALS[name][3])
        for name in _BOOSTERS
        if installed(name)
    ]
    others: list[tuple[str, Any, Stopping | None]] = [
        ("extra trees", ExtraTreesClassifier(300, random_state=seed), None),
        ("mlp", MLPClassifier((128,), alpha=1e-2, max_iter=300, random_state=seed), None),
        ("svc", ProbabilisticSVC(C=10.0, tempering=None), None),
        ("logistic", LogisticRegression(max_iter=5000), None),
    ]
    boosting = HistGradientBoostingClassifier(early_stopping=False, random_state=seed)
    return [
        (
            name,
            BaggedClassifier(one, stopping, tempered=True, folds=conditions.splits(folds) or folds),
        )
        for name, one, stopping in (boosters or [("boosting", boosting, None)]) + others
    ]
