"""The only list of parts: the names that users can write, and what a model file may contain.

A part is one class in one file. The decorator `register` gives the class its name. The class itself
declares what it needs, its fitted state, and the configurations that tests try. Constructors, error
messages, documentation, shared tests, persistence and the command line all read this registry.

Note: before, every package had a table of names, and persistence a list of classes. A new decoder
touched four or five files, a new machine eleven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import isclass, isfunction, signature
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

from .checks import listed, suggestion
from .state import Field

Class = TypeVar("Class", bound=type)

_parts: dict[str, dict[str, type]] = {}
_stored: dict[str, type] = {}
_format_names: dict[type, str] = {}


class Part:
    """What all parts have: a kind, a name, a fitted state and examples.

    Attributes
    ----------
    part_kind : str
        "code", "machine", "kernel", "calibrator", "decoder" or "tempering"; set by its base class.
    name : str
        The name under which it is registered.
    fitted_state : mapping of str to Field
        The attributes that fitting adds, with their kinds and shapes; a model file may contain no
        others. Declarations of base classes are included.
    """

    part_kind: ClassVar[str]
    name: ClassVar[str]
    fitted_state: ClassVar[Mapping[str, Field]] = {}

    @classmethod
    def examples(cls) -> list[Self]:
        """Return example configurations; the shared tests run all of them."""
        return [cls()]


def register(name: str) -> Callable[[Class], Class]:
    """Register a part under a name.

    Parameters
    ----------
    name : str
        The name that users write for it.

    Returns
    -------
    decorator : callable
        For a class that inherits from `Code`, `Calibrator`, `Decoder`, `Kernel` or `Machine`.

    Examples
    --------
    >>> from polychotomy.core.registry import find_part, parts, register
    >>> parts("calibrator")["platt"].__name__
    'Platt'
    >>> find_part("calibrator", "plat")
    Traceback (most recent call last):
    ...
    ValueError: Unknown calibrator 'plat'. Did you mean 'platt'?
    """

    def add(cls: Class) -> Class:
        kind = getattr(cls, "part_kind", None)
        if kind is None:
            raise TypeError(
                f"{cls.__name__} must inherit from Code, Calibrator, Decoder, Kernel or Machine to "
                "be registered."
            )
        cls.name = name  # type: ignore[attr-defined]
        table = _parts.setdefault(kind, {})
        _refuse_second(table.get(name), cls, f"{kind} {name!r}")
        table[name] = cls
        return stored(f"{kind}.{name}")(cls)

    return add


def stored(format_name: str) -> Callable[[Class], Class]:
    """Allow a class that is not a part in model files, under a name of the file format.

    The class declares `fitted_state`. The name must never change, even if the class moves.
    """

    def add(cls: Class) -> Class:
        if "." in cls.__qualname__:
            # A class inside a function or a class cannot be found again by its name.
            return cls
        _refuse_second(_stored.get(format_name), cls, repr(format_name))
        _stored[format_name] = cls
        _format_names[cls] = format_name
        _keep_signature(cls)
        return cls

    return add


def _keep_signature(cls: type) -> None:
    """Let `inspect` find the signature of a class's own `__init__`, in place of working it out.

    Note: scikit-learn asks for it whenever it copies an estimator or reads its parameters, which
    a search does a thousand times. To work it out takes forty times as long.
    """
    init = vars(cls).get("__init__")
    if isfunction(init):
        init.__signature__ = signature(init)  # type: ignore[attr-defined]


def parts(kind: str) -> Mapping[str, Any]:
    """Return all parts of a kind by name, as a view that grows with the registry."""
    return MappingProxyType(_parts.setdefault(kind, {}))


def stored_classes() -> Mapping[str, type]:
    """Return the classes that a model file may contain, by their names in the file."""
    return MappingProxyType(_stored)


def format_name(cls: type) -> str | None:
    """Return the name of a class in model files; None if they cannot contain it."""
    return _format_names.get(cls)


def find_part(kind: str, name: str, more: Iterable[str] = ()) -> Any:
    """Return the class with this name, or raise an error that suggests similar names."""
    known = parts(kind)
    if name not in known:
        raise ValueError(f"Unknown {kind} {name!r}. {suggestion(name, [*sorted(known), *more])}")
    return known[name]


def part_names(kind: str, more: Iterable[str] = ()) -> str:
    """Return the names of a kind as text, for messages."""
    return listed([*sorted(parts(kind)), *more])


def refuse_class(value: Any, kind: str) -> None:
    """Raise TypeError for a class instead of an instance."""
    if isclass(value):
        raise TypeError(
            f"{kind} must be an instance, not a class: write {value.__name__}(), with brackets."
        )


def _refuse_second(known: type | None, cls: type, what: str) -> None:
    # The same class again means that its module was reloaded.
    same = known is None or (known.__module__, known.__qualname__) == (
        cls.__module__,
        cls.__qualname__,
    )
    if not same:
        assert known is not None
        raise ValueError(
            f"{what} is registered already, by {known.__module__}.{known.__qualname__}; choose "
            "another name."
        )
