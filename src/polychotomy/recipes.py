"""The papers' methods by name: a table of configured parts.

To add a method takes one line, ``register_recipe(Recipe(name, code, machine, calibrator, ...))``.

Note: a method is data, not a class. A class for each of the papers' methods, some sixty, would
repeat the parameters of `PolychotomyClassifier` in each, and hide which parts two methods share.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from .calibration import NoCalibration, Platt
from .codes import ErrorCorrectingCode, MinimalCode, NestedCode, OneVsOne, OneVsRest
from .core.checks import listed
from .decoding import (
    BayesianDecoding,
    BinaryTree,
    BranchProduct,
    DecisionGraph,
    Decoder,
    DynamicallyOrdered,
    HammingDecoding,
    LossDecoding,
    MaxWins,
    Nesting,
    NonDominance,
    PairwiseCoupling,
    SoftMax,
    ValuedPreference,
    WeightedVoting,
    WinnerTakesAll,
)
from .machines import LSSVM, SVM, KernelLogisticRegression
from .tuning.recipe import Recipe, RecipeTable, find_recipe, known_recipes, register_recipe


def recipes() -> RecipeTable:
    """Return all methods of the papers, and ours: name, code, machine, ..., decoder and paper.

    Returns
    -------
    table : RecipeTable
        A dictionary from names to `Recipe`; it prints as a table.

    Examples
    --------
    >>> import polychotomy
    >>> table = polychotomy.recipes()
    >>> [name for name, method in table.items() if "DUAN05" in method.papers]
    ['WTA_SVM', 'MWV_SVM', 'PWC_PSVM', 'PWC_KLR']
    """
    return RecipeTable(known_recipes())


def recipe(
    name: str,
    *,
    machine: Any = None,
    tuned: bool = False,
    paper: str | None = None,
    **params: Any,
) -> Any:
    """Return a method of the papers, or one of ours, by its name.

    Kernel machines are those of the papers up to 3,000 rows. For more rows they have
    ``landmarks="auto"``; set it to None for exact machines of any number of rows.

    Parameters
    ----------
    name : str
        A name from `recipes`. Case and punctuation are ignored.
    machine : classifier, default=None
        A binary machine to use instead of the recipe's. If it has a `predict_proba`, the
        calibrator is omitted.
    tuned : bool, default=False
        Whether to wrap the method in its paper's search for C and sigma2: the two grids of DUAN03
        and DUAN05 with 5 folds, which are also used for GALAR's methods; only the coarse grid,
        with 10 folds, for VANGESTEL's SVMs. An LS-SVM tunes itself by its evidence. LS2 and POOL
        always tune themselves.
    paper : {"DUAN03", "DUAN05"}, default=None
        The paper whose tie rule to use, for methods that are in both; by default the first.
    **params : dict
        Further parameters of `PolychotomyClassifier` (`NestedDichotomies` for END_KLR,
        `PolychotomyPool` for LS2 and POOL), such as `n_jobs` and `random_state`.

    Returns
    -------
    classifier : PolychotomyClassifier, TwoStepSearchCV, NestedDichotomies or PolychotomyPool

    Examples
    --------
    >>> import polychotomy
    >>> polychotomy.recipe("WTA_KLR")
    PolychotomyClassifier(calibrator=NoCalibration(), code=OneVsRest(),
                          decoder=WinnerTakesAll(),
                          machine=KernelLogisticRegression(landmarks='auto'))
    >>> polychotomy.recipe("PWC_PSVM", tuned=True).ties
    'duan2003'
    """
    chosen = find_recipe(name)
    if paper is not None and paper not in chosen.papers:
        raise ValueError(
            f"paper must be one that describes {chosen.name}, {listed(chosen.papers)}; got "
            f"{paper!r}."
        )
    classifier = chosen.classifier(machine, **params)
    if not tuned or chosen.build is not None:
        return classifier
    if not hasattr(classifier.machine, "as_columns"):
        raise ValueError(
            f"The papers' searches are over C and sigma2, which {type(machine).__name__} does not "
            "have; use tuned=False inside a search of your own."
        )
    if not classifier.machine.tuned_parameters:
        return classifier
    from .tuning.search import TwoStepSearchCV

    if "VANGESTEL" in chosen.papers:
        return TwoStepSearchCV(classifier, fine=None, cv=params.get("cv", 10))
    ties = "duan2005" if paper == "DUAN05" else "duan2003"
    return TwoStepSearchCV(classifier, ties=ties)


def _duan() -> Iterator[Recipe]:
    both = ("DUAN03", "DUAN05")
    none, platt = NoCalibration(), Platt()
    for name, C in (("SMC", "cv"), ("SSMC", None)):
        for short, code in (("1va", OneVsRest()), ("1v1", OneVsOne())):
            yield Recipe(f"{name}{short}", code, SVM(), none, SoftMax(C), both[:1])
    machines = (
        ("SVM", SVM(), none),
        ("PSVM", SVM(), platt),
        ("KLR", KernelLogisticRegression(), none),
    )
    for name, machine, calibrator in machines:
        papers = both if name == "SVM" else both[:1]
        yield Recipe(f"WTA_{name}", OneVsRest(), machine, calibrator, WinnerTakesAll(), papers)
        yield Recipe(f"MWV_{name}", OneVsOne(), machine, calibrator, MaxWins(), papers)
        if name != "SVM":
            coupling = PairwiseCoupling("hastie_tibshirani")
            yield Recipe(f"PWC_{name}", OneVsOne(), machine, calibrator, coupling, both)


def _galar() -> Iterator[Recipe]:
    decoders: tuple[tuple[str, Decoder], ...] = (
        ("VOTE", MaxWins()),
        ("WV", WeightedVoting()),
        ("PC", PairwiseCoupling("hastie_tibshirani")),
        ("DDAG", DecisionGraph()),
        ("LVPC", ValuedPreference()),
        ("ND", NonDominance()),
        ("BTC", BinaryTree()),
        ("NEST", Nesting()),
        ("PE", PairwiseCoupling("wu_lin_weng")),
        ("MAX", WinnerTakesAll()),
        ("DOO", DynamicallyOrdered()),
    )
    for name, decoder in decoders:
        code = OneVsRest() if name in ("MAX", "DOO") else OneVsOne()
        yield Recipe(name, code, SVM(), Platt(), decoder, ("GALAR",))


def _van_gestel() -> Iterator[Recipe]:
    machines = {
        "LSSVM_LIN": LSSVM(kernel="linear"),
        "LSSVM_RBF": LSSVM(sigma2="evidence"),
        "SVM_LIN": SVM(kernel="linear"),
        "SVM_RBF": SVM(),
    }
    codes = {
        "1vs1": OneVsOne(),
        "1vsA": OneVsRest(),
        "MOC": MinimalCode(),
        "ECOC": ErrorCorrectingCode(),
    }
    for (name, machine), (short, code) in product(machines.items(), codes.items()):
        hamming, other = HammingDecoding(), LossDecoding("hinge", dont_care="ignored")
        second: tuple[str, Decoder] = ("loss", other)
        if isinstance(machine, LSSVM):
            second = ("Bayes", BayesianDecoding())
        for decoding, decoder in (("Hamming", hamming), second):
            yield Recipe(
                f"{name}_{short}_{decoding}",
                code,
                machine,
                NoCalibration(),
                decoder,
                ("VANGESTEL",),
            )


# Pools are imported only when one is built, because their imports are slow.
def _two_least_squares(**params: Any) -> Any:
    from .ensemble.default_members import ls_members
    from .ensemble.pool import PolychotomyPool

    return PolychotomyPool(ls_members(), **params)


def _full_pool(**params: Any) -> Any:
    from .ensemble.pool import PolychotomyPool

    return PolychotomyPool(**params)


def _nested_ensemble(**params: Any) -> Any:
    from .ensemble.nested import NestedDichotomies

    return NestedDichotomies(KernelLogisticRegression(), **params)


def _nested() -> Iterator[Recipe]:
    machine, code = KernelLogisticRegression(), NestedCode("centroid")
    papers = ("DUARTE12",)
    yield Recipe("NDC_KLR", code, machine, NoCalibration(), BranchProduct(), papers)
    yield Recipe("END_KLR", None, None, None, None, ("FRANK04",), _nested_ensemble)


def _ours() -> Iterator[Recipe]:
    for name, build in (("LS2", _two_least_squares), ("POOL", _full_pool)):
        yield Recipe(name, None, None, None, None, ("ours",), build)


for _family in (_duan, _galar, _van_gestel, _nested, _ours):
    for _one in _family():
        register_recipe(_one)
