"""The papers' methods by their names: a table of configured parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from sklearn.base import clone

from ._checks import listed, suggestion
from ._parts import resolve
from .calibration import NoCalibration, Platt
from .classifier import PolychotomyClassifier
from .codes import ErrorCorrectingCode, MinimalCode, OneVsOne, OneVsRest
from .decoding import (
    BayesianDecoding,
    BinaryTree,
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


@dataclass(frozen=True)
class Recipe:
    """A named method: parts that go together, and where they come from.

    Parameters
    ----------
    name : str
        Its name in the paper, or made of the paper's words.
    code : Code
        How the classes are split.
    machine : classifier
        The binary machine.
    calibrator : Calibrator
        How scores become probabilities.
    decoder : Decoder
        How binary answers become classes.
    papers : tuple of str
        "DUAN03", "DUAN05", "GALAR" or "VANGESTEL"; "ours" for methods of this library.
    build : callable, default=None
        What makes the classifier of a method that is not one pipe, whose parts are all None.

    Examples
    --------
    >>> import polychotomy
    >>> polychotomy.recipes()["PWC_PSVM"].decoder
    PairwiseCoupling(method='hastie_tibshirani')
    """

    name: str
    code: Any
    machine: Any
    calibrator: Any
    decoder: Any
    papers: tuple[str, ...]
    build: Callable[..., Any] | None = None

    @property
    def probabilities(self) -> bool:
        """Whether it gives class probabilities."""
        if self.build is not None:
            return True
        return resolve(self.machine, self.code, self.calibrator, self.decoder).yields_probabilities

    def classifier(self, machine: Any = None, **params: Any) -> Any:
        """Return the method as a classifier, with another machine if one is given."""
        if self.build is not None:
            if machine is not None:
                raise ValueError(
                    f"{self.name} is a pool with machines of its own; leave machine out, or give "
                    "PolychotomyPool members with yours."
                )
            return self.build(**params)
        calibrator = self.calibrator
        if machine is not None and calibrator.learns and hasattr(machine, "predict_proba"):
            # It has probabilities of its own.
            calibrator = NoCalibration()
        return PolychotomyClassifier(
            machine=clone(self.machine if machine is None else machine),
            code=clone(self.code),
            calibrator=clone(calibrator),
            decoder=clone(self.decoder),
            **params,
        )


class RecipeTable(dict[str, Recipe]):
    """All recipes by name; it prints as a table.

    Examples
    --------
    >>> import polychotomy
    >>> len(polychotomy.recipes())
    57
    """

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the recipes as rows: name, code, machine, calibrator, decoder, ... ."""
        for recipe in self.values():
            yield {
                "name": recipe.name,
                **{
                    part: repr(getattr(recipe, part)) if recipe.build is None else "several"
                    for part in ("code", "machine", "calibrator", "decoder")
                },
                "probabilities": recipe.probabilities,
                "paper": ", ".join(recipe.papers),
            }

    def __str__(self) -> str:
        rows = [
            {key: str(value) for key, value in row.items()}
            | {"probabilities": "yes" if row["probabilities"] else "no"}
            for row in self.rows()
        ]
        widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]}
        lines = [{key: key for key in widths}, *rows]
        return "\n".join(
            "  ".join(f"{row[key]:<{width}}" for key, width in widths.items()).rstrip()
            for row in lines
        )

    __repr__ = __str__


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
    return RecipeTable(_TABLE)


def recipe(
    name: str,
    *,
    machine: Any = None,
    tuned: bool = False,
    paper: str | None = None,
    **params: Any,
) -> Any:
    """Return a method of the papers, or one of ours, by its name.

    Parameters
    ----------
    name : str
        A name out of `recipes`; upper and lower case, and the signs between words, do not matter.
    machine : classifier, default=None
        Another binary machine than the recipe's. Where it has a `predict_proba`, the calibrator is
        left out.
    tuned : bool, default=False
        Whether to put the method into its paper's own search of C and sigma2: the two grids of
        DUAN03 and DUAN05 with 5 folds, which serve GALAR's methods too; the coarse one
        with 10 folds for VANGESTEL's SVMs. An LS-SVM tunes itself by its evidence, and LS2 and
        POOL tune themselves anyway.
    paper : {"DUAN03", "DUAN05"}, default=None
        Whose tie rule to use, for methods that are in both; the first by default.
    **params : dict
        Further parameters of `PolychotomyClassifier` (`PolychotomyPool` for LS2 and POOL), such as
        `n_jobs` and `random_state`.

    Returns
    -------
    classifier : PolychotomyClassifier, TwoStepSearchCV or PolychotomyPool

    Examples
    --------
    >>> import polychotomy
    >>> polychotomy.recipe("WTA_KLR")
    PolychotomyClassifier(calibrator=NoCalibration(), code=OneVsRest(),
                          decoder=WinnerTakesAll(),
                          machine=KernelLogisticRegression())
    >>> polychotomy.recipe("PWC_PSVM", tuned=True).ties
    'duan2003'
    """
    chosen = find_recipe(name)
    if paper is not None and paper not in chosen.papers:
        raise ValueError(
            f"paper must be one in which {chosen.name} is, {listed(chosen.papers)}; got {paper!r}."
        )
    classifier = chosen.classifier(machine, **params)
    if not tuned or chosen.build is not None:
        return classifier
    if not hasattr(classifier.machine, "as_columns"):
        raise ValueError(
            f"The papers' searches are over C and sigma2, which {type(machine).__name__} has not; "
            "use tuned=False inside a search of your own."
        )
    if isinstance(classifier.machine, LSSVM):
        return classifier
    from .search import TwoStepSearchCV

    if "VANGESTEL" in chosen.papers:
        return TwoStepSearchCV(classifier, fine=None, cv=params.get("cv", 10))
    ties = "duan2005" if paper == "DUAN05" else "duan2003"
    return TwoStepSearchCV(classifier, ties=ties)


def find_recipe(name: str) -> Recipe:
    """Return the recipe of a name, or say which names are near."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a string such as 'PWC_PSVM', got {name!r}.")
    known = {_plain(key): recipe for key, recipe in _TABLE.items()}
    if _plain(name) not in known:
        hint = suggestion(_plain(name), list(known))
        for plain, found in known.items():
            hint = hint.replace(repr(plain), repr(found.name))
        raise ValueError(f"Unknown recipe {name!r}. {hint}")
    return known[_plain(name)]


def find_pipe_recipe(name: str) -> Recipe:
    """Return the recipe of a name, for where a method has to be one pipe."""
    recipe = find_recipe(name)
    if recipe.build is not None:
        raise ValueError(
            f"{recipe.name} is a pool, which tunes its members itself and shares no machines with "
            f"other methods; fit it on its own, polychotomy.recipe({recipe.name!r}).fit(X, y)."
        )
    return recipe


def _plain(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


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


# Pools are imported when one is built: they bring much along.
def _two_least_squares(**params: Any) -> Any:
    from .pool import PolychotomyPool, ls_members

    return PolychotomyPool(ls_members(), **params)


def _full_pool(**params: Any) -> Any:
    from .pool import PolychotomyPool

    return PolychotomyPool(**params)


def _ours() -> Iterator[Recipe]:
    for name, build in (("LS2", _two_least_squares), ("POOL", _full_pool)):
        yield Recipe(name, None, None, None, None, ("ours",), build)


_TABLE = {one.name: one for family in (_duan, _galar, _van_gestel, _ours) for one in family()}
