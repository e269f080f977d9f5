"""The methods that can be compared: our recipes, and popular ones of scikit-learn.

Design note: a candidate holds a function that makes an estimator, not the estimator. The number of
folds depends on the smallest class, which is known only once the data have been split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache, partial
from typing import Any

from sklearn.base import clone

from ..calibration import NoCalibration
from ..codes import OneVsOne, OneVsRest
from ..core.checks import listed
from ..decoding import PairwiseCoupling, ShrunkSoftMax
from ..ensemble.default_members import default_members
from ..ensemble.member_seconds import expected_total
from ..machines import LSSVM, SVM, KernelLogisticRegression, guessed_seconds
from ..multinomial import KernelMultinomialRegression
from ..pipe.classifier import PolychotomyClassifier
from ..recipes import recipe, recipes
from ..tuning.recipe import Recipe
from ..tuning.search import TwoStepSearchCV
from ._peers import Conditions, peers
from ._rivals import PACKAGES, how_to_install, installed, rivals
from ._titles import title_of, told_apart
from ._together import together

# From the numbers of rows, inputs and classes to seconds.
Seconds = Callable[[int, int, int], float]

PEERS = "scikit-learn"
OURS = "polychotomy"
OTHERS = "other"
# Methods that this version does not have, and those whose package is not installed, are skipped.
DEFAULT = (
    *("POOL", "LS2", "PSVC", "TKLR", "PWC_PSVM", "PWC_KLR"),
    *("logistic", "forest", "boosting", "calibrated_svc"),
    *("catboost", "catboost_tempered", "lightgbm", "lightgbm_tempered"),
    *("xgboost", "xgboost_tempered"),
)
# They join them where others are slow: with more training rows, or more classes, than these. The
# first is for any number of classes.
LARGE = ("LSL", "KMR")
MANY_ROWS, MANY_CLASSES = 2_500, 30
# With more classes than this, LSL has one C and one slope for all of them.
HUNDREDS = 200
# For methods that a model file cannot hold, the most similar one that it can.
NEAREST = {
    "boosting": "forest",
    **{rival.name: "forest" for rival in rivals()},
    **{rival.name: "PSVC" for rival in together()},
}
# With more rows, parameters are chosen on so many of them: kernel machines grow faster.
KERNELS_TUNED_ROWS = 4_000
OTHERS_TUNED_ROWS = 16_000
# And with many pairs of classes on fewer: so many scores take 64 MiB for each value of C, of which
# a search has seven. But not on fewer rows of each class than folds.
TUNED_SCORES, TUNED_ROWS_A_CLASS = 1 << 23, 5
FEW_LANDMARKS = 500
GROWTH_OF_KERNELS, GROWTH_OF_OTHERS = 1.7, 1.15
CITED = {
    "DUAN03": "Duan, Keerthi, Chu, Shevade and Poo (2003)",
    "DUAN05": "Duan and Keerthi (2005)",
    "GALAR": "Galar, Fernández, Barrenechea, Bustince and Herrera",
    "VANGESTEL": "Van Gestel, Suykens, Lanckriet, Lambrechts, De Moor and Vandewalle (2002)",
    "FRANK04": "Frank and Kramer (2004)",
    "DUARTE12": "Duarte-Villaseñor, Carrasco-Ochoa, Martínez-Trinidad and Flores-Garrido (2012)",
}


@dataclass(frozen=True)
class Candidate:
    """A method that can be compared.

    Attributes
    ----------
    name : str
        Its name.
    words : str
        What it is, in plain words; no other method has the same ones.
    paper : str
        Where it comes from.
    family : {"polychotomy", "scikit-learn", "other"}
        The library it comes from.
    probabilities : bool
        Whether it gives class probabilities.
    storable : bool
        Whether `polychotomy.save` can write it.
    expected_seconds : callable
        From the numbers of rows, inputs and classes to a rough guess of the seconds on one core. It
        is used for the order only: fast methods are tried first.
    make : callable
        From `Conditions` to an estimator that tunes itself. It expects scaled inputs.
    pipe : PolychotomyClassifier or None
        The pipe, if a sweep can tune it together with others.
    quick : callable or None
        From `Conditions` to an estimator that is not tuned, for a first answer.
    is_pool : bool
        Whether it is a pool, whose members others can share.
    whole : bool
        Whether it chooses its parameters in the same passes over the rows as it is trained in.

    Examples
    --------
    >>> from polychotomy.compare import candidates
    >>> candidates()["PWC_PSVM"].words
    'SVM, pairs, coupled'
    """

    name: str
    words: str
    paper: str
    family: str
    probabilities: bool
    storable: bool
    expected_seconds: Seconds
    make: Callable[[Conditions], Any]
    pipe: PolychotomyClassifier | None = None
    quick: Callable[[Conditions], Any] | None = None
    is_pool: bool = False
    whole: bool = False

    @property
    def title(self) -> str:
        """Plain words first, then the name: ``"SVM, pairs, coupled (PWC_PSVM)"``."""
        return f"{self.words} ({self.name})"

    def tuned_rows(self, n_classes: int) -> int | None:
        """With more rows it is tuned on so many, and fitted on all; None if it cannot do that."""
        if self.is_pool or self.whole:
            return None
        if self.pipe is None:
            return OTHERS_TUNED_ROWS
        if not isinstance(self.pipe.code, OneVsOne):
            return KERNELS_TUNED_ROWS
        n_pairs = max(1, n_classes * (n_classes - 1) // 2)
        most = max(TUNED_SCORES // n_pairs, TUNED_ROWS_A_CLASS * n_classes)
        return min(KERNELS_TUNED_ROWS, most)

    @property
    def growth(self) -> float:
        """The time of a fit grows with about this power of the rows."""
        if self.whole:
            return 1.0
        return GROWTH_OF_KERNELS if self.pipe is not None or self.is_pool else GROWTH_OF_OTHERS

    @property
    def growth_of_training(self) -> float:
        """The same for training with parameters that are chosen: landmarks take linear time."""
        landmarks = getattr(getattr(self.pipe, "machine", None), "landmarks", None)
        return GROWTH_OF_OTHERS if landmarks == "auto" else self.growth

    @property
    def sweep(self) -> str:
        """What it shares with others: machine and code, or members. Else, its own name."""
        if self.is_pool:
            return "pools"
        if self.pipe is None:
            return self.name
        own = " nested" if "refit" in self.pipe.decoder.needs else ""
        return f"{self.pipe.machine!r} {self.pipe.code!r}{own}"

    @property
    def ties(self) -> str:
        """The rule that decides between cells of its grid."""
        return "nll" if self.probabilities else "duan2003"


# Always judged, never recommended: a method that is worse has learned nothing of use.
BASELINE = Candidate(
    *("majority", "the shares of the classes", "baseline", "baseline", True, False),
    *(lambda n_rows, n_features, n_classes: 0.0, lambda conditions: None),
)


def candidates() -> dict[str, Candidate]:
    """Return all methods that can be compared, by name.

    Returns
    -------
    candidates : dict of Candidate

    Examples
    --------
    >>> from polychotomy.compare import candidates
    >>> [name for name, one in candidates().items() if one.family == "scikit-learn"]
    ['logistic', 'forest', 'boosting', 'calibrated_svc']
    """
    return dict(_known(tuple(recipes().values()), tuple(one for one in PACKAGES if installed(one))))


# Every task of a comparison looks its methods up, and to describe all of them takes a while.
@lru_cache(maxsize=1)
def _known(registered: tuple[Recipe, ...], packages: tuple[str, ...]) -> dict[str, Candidate]:
    return {one.name: one for one in _all()}


def _all() -> Iterable[Candidate]:
    yield from (*_pools(), *_tempered(), *_landmarks(), *_recipes(), *_rivals())


def default_names(n_rows: int = 0, n_classes: int = 0) -> list[str]:
    """Return the names of the methods that are compared by default.

    Parameters
    ----------
    n_rows, n_classes : int, default=0
        The training rows and classes of a table. If there are many, there are more methods.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from polychotomy.compare import default_names
    >>> set(default_names(100_000, 5)) - set(default_names(100, 5)) == {"LSL", "KMR"}
    True
    """
    known = candidates()
    more: tuple[str, ...] = ()
    if n_classes > MANY_CLASSES:
        more = LARGE[:1]
    elif n_rows > MANY_ROWS:
        more = LARGE
    return [name for name in (*more, *DEFAULT) if name in known]


def choose(names: Iterable[str] | str | None) -> list[Candidate]:
    """Return the named methods: the default set for None, all of them for ``"all"``."""
    known = candidates()
    if names is None:
        names = default_names()
    elif isinstance(names, str):
        names = list(known) if names == "all" else [names]
    plain = {_plain(name): name for name in known}
    chosen = []
    for name in names:
        if not isinstance(name, str) or _plain(name) not in plain:
            missing = how_to_install(str(name))
            if missing:
                raise ValueError(missing)
            near = get_close_matches(_plain(str(name)), plain, n=2)
            hint = f"Did you mean {listed(plain[key] for key in near)}? " if near else ""
            raise ValueError(
                f"Unknown method {name!r}. {hint}'polychotomy methods' lists all of them."
            )
        chosen.append(known[plain[_plain(name)]])
    if not chosen:
        raise ValueError("methods must name at least one method.")
    return list(dict.fromkeys(chosen))


def fastest_first(
    chosen: Iterable[Candidate], n_rows: int, n_features: int, n_classes: int
) -> list[Candidate]:
    """Sort methods by their expected time on so many training rows, inputs and classes."""
    shape = n_rows, n_features, n_classes
    return sorted(chosen, key=lambda one: one.expected_seconds(*shape))


def _plain(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def _tuned(pipe: PolychotomyClassifier, ties: str) -> Callable[[Conditions], Any]:
    def make(conditions: Conditions) -> Any:
        classifier = prepared(pipe, conditions)
        return TwoStepSearchCV(classifier, ties=ties, show_progress=False)

    return make


def prepared(pipe: PolychotomyClassifier, conditions: Conditions) -> PolychotomyClassifier:
    """Return a copy of a pipe with a seed and a number of threads."""
    classifier: PolychotomyClassifier = clone(pipe)
    classifier.random_state, classifier.n_jobs = conditions.random_state, conditions.n_jobs
    classifier.cv = conditions.splits(5) or classifier.cv
    return classifier


def _of_pipe(
    name: str, pipe: PolychotomyClassifier, words: str, paper: str, probabilities: bool
) -> Candidate:
    # Columns with all rows take longer than pairs; decoders that refit train every fold again.
    times = 1.0 if isinstance(pipe.code, OneVsOne) else 1.5
    times *= 3.0 if "refit" in pipe.decoder.needs else 1.0

    def seconds(n_rows: int, n_features: int, n_classes: int) -> float:
        return times * pipe.expected_seconds(n_rows)

    make = _tuned(pipe, "nll" if probabilities else "duan2003")
    quick = partial(prepared, pipe)
    return Candidate(name, words, paper, OURS, probabilities, True, seconds, make, pipe, quick)


def _recipes() -> Iterable[Candidate]:
    parts = {
        name: (one.machine, one.code, one.calibrator, one.decoder)
        for name, one in recipes().items()
        if not _is_pool(one)
    }
    titles = told_apart(
        {name: title_of(*each) for name, each in parts.items()},
        {name: repr(each) for name, each in parts.items()},
    )
    for name, one in recipes().items():
        if _is_pool(one):
            continue
        pipe = one.classifier()
        paper = "; ".join(CITED[key] for key in one.papers if key in CITED)
        yield _of_pipe(name, pipe, titles[name], paper, one.probabilities)


def _tempered() -> Iterable[Candidate]:
    ours = "ours: coupling of Wu, Lin and Weng (2004), tempered"
    for name, machine, words in (
        ("PSVC", SVM(landmarks="auto"), "SVM, pairs, coupled, tempered"),
        (
            "TKLR",
            KernelLogisticRegression(landmarks="auto"),
            "kernel logistic, pairs, coupled, tempered",
        ),
    ):
        pipe = PolychotomyClassifier(
            machine, OneVsOne(), "auto", PairwiseCoupling("wu_lin_weng"), tempering="auto"
        )
        yield _of_pipe(name, pipe, words, ours, True)


def _landmarks() -> Iterable[Candidate]:
    """Yield methods whose time grows in proportion to the rows, and hardly with the classes."""
    ours = "ours, see docs/scale.md"
    words = f"LS-SVM on {FEW_LANDMARKS} landmarks, one against all, soft-max"
    seconds = _linear_seconds(1.0, 4.5e-7)
    yield Candidate(
        *("LSL", words, ours, OURS, True, True, seconds, _least_squares, None, _least_squares),
        whole=True,
    )
    words = f"kernel logistic on {FEW_LANDMARKS} landmarks, all classes together"
    yield Candidate(
        *("KMR", words, "Roth (2001)", OURS, True, True, _linear_seconds(2.0, 1e-4), _multinomial),
        whole=True,
    )


def _linear_seconds(least: float, each: float) -> Seconds:
    return lambda n_rows, n_features, n_classes: least + each * n_rows * (20 + n_features)


def _least_squares(conditions: Conditions) -> Any:
    # With a C and a bias for every one of a thousand classes, 9 of 10 s were theirs, and with few
    # rows a class the probabilities were no better.
    many = conditions.n_classes > HUNDREDS
    pipe = PolychotomyClassifier(
        LSSVM("shared_evidence" if many else "evidence", landmarks=FEW_LANDMARKS),
        OneVsRest(),
        NoCalibration(),
        ShrunkSoftMax("alone" if many else "shared"),
    )
    return prepared(pipe, conditions)


def _multinomial(conditions: Conditions) -> Any:
    return KernelMultinomialRegression(
        landmarks=FEW_LANDMARKS,
        cv=conditions.splits(5) or 5,
        random_state=conditions.random_state,
        n_jobs=conditions.n_jobs,
    )


def _pools() -> Iterable[Candidate]:
    """Yield the pools of several pipes."""
    words = {
        "POOL": "pool of kernel machines and trees",
        "LS2": "pool of two LS-SVMs",
        "END_KLR": "kernel logistic, ten random nested dichotomies",
    }
    for name, one in recipes().items():
        if _is_pool(one):
            text = words.get(name, "several classifiers that answer together")
            seconds, make = _pool_seconds(one.classifier()), _recipe_maker(name)
            paper = CITED.get(one.papers[0], "ours, see docs/methods.md")
            # Pools share members; other recipes of several classifiers do not.
            shares = hasattr(one.classifier(), "fit_with_parts")
            yield Candidate(name, text, paper, OURS, True, True, seconds, make, is_pool=shares)


def _pool_seconds(pool: Any) -> Seconds:
    def seconds(n_rows: int, n_features: int, n_classes: int) -> float:
        if hasattr(pool, "expected_seconds"):
            return float(pool.expected_seconds(n_rows))
        members = default_members(n_rows=n_rows) if pool.members is None else pool.members
        return expected_total(members, n_rows, n_features, n_classes)

    return seconds


def _rivals() -> Iterable[Candidate]:
    # The numbers are multiples of `guessed_seconds`, the guess for any classifier.
    for family, some in ((PEERS, peers()), (OTHERS, (*rivals(), *together()))):
        for peer in some:
            seconds = _peer_seconds(peer.times)
            yield Candidate(
                *(peer.name, peer.words, peer.source or family, family, True, peer.storable),
                *(seconds, peer.make, None, peer.quick),
            )


def _peer_seconds(times: float) -> Seconds:
    return lambda n_rows, n_features, n_classes: times * guessed_seconds(n_rows)


def _is_pool(one: Any) -> bool:
    """Return whether a recipe is a pool of several pipes."""
    return getattr(one, "build", None) is not None


def _recipe_maker(name: str) -> Callable[[Conditions], Any]:
    def make(conditions: Conditions) -> Any:
        estimator = recipe(name, tuned=True)
        known = estimator.get_params(deep=False)
        options = {
            "random_state": conditions.random_state,
            "n_jobs": conditions.n_jobs,
            "show_progress": False,
            **({} if conditions.together is None else {"cv": conditions.splits(5) or 5}),
        }
        return estimator.set_params(
            **{key: value for key, value in options.items() if key in known}
        )

    return make
