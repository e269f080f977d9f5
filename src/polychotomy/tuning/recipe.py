"""Named methods: the recipe class, and finding recipes by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from ..calibration import NoCalibration
from ..core.checks import suggestion
from ..machines.kernel_machine import KernelMachine
from ..pipe.classifier import PolychotomyClassifier
from ..pipe.parts import resolve


@dataclass(frozen=True)
class Recipe:
    """A named method: its parts, and the papers that describe it.

    Parameters
    ----------
    name : str
        Its name in the paper, or one made of the paper's terms.
    code : Code
        How the classes are split.
    machine : classifier
        The binary machine.
    calibrator : Calibrator
        How scores become probabilities.
    decoder : Decoder
        How binary answers become classes.
    papers : tuple of str
        "DUAN03", "DUAN05", "GALAR" or "VANGESTEL"; "FRANK04" and "DUARTE12" for nested
        dichotomies (see `NestedCode`); "ours" for methods of this library.
    build : callable, default=None
        Makes the classifier of a method that is not a single pipe. The parts are None then.

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

    def classifier(self, machine: Any = None, landmarks: Any = "auto", **params: Any) -> Any:
        """Return the method as a classifier, with another machine if one is given.

        Its own machine is exact for few rows, and may take `landmarks` for many.
        """
        if self.build is not None:
            if machine is not None:
                raise ValueError(
                    f"{self.name} has machines of its own. Omit machine, or give your machine to "
                    "PolychotomyPool (in members) or to NestedDichotomies."
                )
            return self.build(**params)
        calibrator = self.calibrator
        if machine is not None and calibrator.learns and hasattr(machine, "predict_proba"):
            # The machine has probabilities of its own.
            calibrator = NoCalibration()
        if machine is None:
            machine = clone(self.machine)
            if isinstance(machine, KernelMachine) and machine.landmarks is None:
                machine.set_params(landmarks=landmarks)
        return PolychotomyClassifier(
            machine=clone(machine),
            code=clone(self.code),
            calibrator=clone(calibrator),
            decoder=clone(self.decoder),
            **params,
        )


_recipes: dict[str, Recipe] = {}
# Their names by what is left of them without case and signs, by which they are found.
_names: dict[str, str] = {}


def register_recipe(recipe: Recipe) -> Recipe:
    """Register a method by name, for `polychotomy.recipe`, `MethodSweep` and studies.

    Parameters
    ----------
    recipe : Recipe
        The method.

    Returns
    -------
    recipe : Recipe

    Examples
    --------
    >>> from polychotomy import SVM, MaxWins, NoCalibration, OneVsOne, Recipe
    >>> from polychotomy.tuning.recipe import register_recipe
    >>> papers = ("DUAN03", "DUAN05")
    >>> method = Recipe("MWV_SVM", OneVsOne(), SVM(), NoCalibration(), MaxWins(), papers)
    >>> register_recipe(method).classifier().decoder
    MaxWins()
    """
    known = _names.setdefault(_plain(recipe.name), recipe.name)
    if known != recipe.name:
        raise ValueError(
            f"The name {recipe.name!r} differs from that of the recipe {known!r} only in case or "
            "punctuation. Choose another name."
        )
    _recipes[recipe.name] = recipe
    return recipe


def known_recipes() -> dict[str, Recipe]:
    """Return all methods by name."""
    return dict(_recipes)


class RecipeTable(dict[str, Recipe]):
    """All recipes by name; it prints as a table.

    Examples
    --------
    >>> import polychotomy
    >>> len(polychotomy.recipes())
    59
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


def find_recipe(name: str) -> Recipe:
    """Return the recipe with a name; the error for an unknown name suggests similar ones."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a string such as 'PWC_PSVM', got {name!r}.")
    if _plain(name) not in _names:
        hint = suggestion(_plain(name), list(_names))
        for plain, known in _names.items():
            hint = hint.replace(repr(plain), repr(known))
        raise ValueError(f"Unknown recipe {name!r}. {hint}")
    return _recipes[_names[_plain(name)]]


def find_pipe_recipe(name: str) -> Recipe:
    """Return the recipe with a name; refuse ensembles, which are not a single pipe."""
    recipe = find_recipe(name)
    if recipe.build is not None:
        raise ValueError(
            f"{recipe.name} is an ensemble, which shares no machines with other methods. Fit it "
            f"separately: polychotomy.recipe({recipe.name!r}).fit(X, y)."
        )
    return recipe


def _plain(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())
