"""From parameter values to the parts of the pipe, and which parts can be combined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import clone, is_classifier

from ..calibration import Calibrator, NoCalibration, Platt
from ..codes import Code, CustomCode, OneVsOne
from ..core.checks import listed
from ..core.codebook import Codebook
from ..core.registry import find_part, part_names, refuse_class, stored
from ..core.registry import parts as parts_of
from ..core.state import Field, Holds, Instance
from ..decoding import Decoder
from ..machines import AnyLearner, ColumnMachine
from ..tempering import Tempering

AnyPart = TypeVar("AnyPart", Code, Calibrator, Decoder)


@stored("pipe.parts")
@dataclass(frozen=True)
class Parts:
    """The parts of a pipe, each a copy that belongs to it."""

    machine: ColumnMachine
    machine_name: str
    code: Code
    calibrator: Calibrator
    decoder: Decoder
    tempering: Tempering | None = None

    fitted_state: ClassVar[dict[str, Field]] = {
        "machine": Holds(fitted=False),
        "machine_name": Instance(str),
        "code": Holds(Code),
        "calibrator": Holds(Calibrator, fitted=False),
        "decoder": Holds(Decoder, fitted=False),
        "tempering": Holds(Tempering, fitted=False, optional=True),
    }

    @property
    def has_probabilities(self) -> bool:
        """Whether binary probabilities are available, from a calibrator or from the machine."""
        return self.calibrator.learns or self.machine.has_probability

    @property
    def uses_probabilities(self) -> bool:
        """Whether binary probabilities reach the decoder."""
        return self.calibrator.learns or (
            self.machine.has_probability and wants_probabilities(self.decoder)
        )

    @property
    def reads_inputs(self) -> bool:
        """Whether the code or the decoder reads the inputs, which must be numbers then."""
        return "inputs" in self.code.needs | self.decoder.needs

    @property
    def yields_probabilities(self) -> bool:
        """Whether the pipe gives class probabilities."""
        return self.decoder.yields_probabilities(self.uses_probabilities)


def resolve(machine: Any, code: Any, calibrator: Any, decoder: Any, tempering: Any = None) -> Parts:
    """Turn the parameters of an estimator into its parts."""
    the_machine, machine_name = resolve_machine(machine)
    the_code = resolve_code(code)
    if _is_auto(decoder):
        probabilities = (
            the_machine.has_probability
            or _is_auto(calibrator)
            or resolve_calibrator(calibrator).learns
        )
        the_decoder = _default_decoder(the_code, probabilities)
    else:
        the_decoder = resolve_decoder(decoder)
    the_calibrator = calibrator_for(calibrator, the_machine, the_decoder)
    return Parts(
        the_machine,
        machine_name,
        the_code,
        the_calibrator,
        the_decoder,
        resolve_tempering(tempering),
    )


def calibrator_for(calibrator: Any, machine: ColumnMachine, decoder: Decoder) -> Calibrator:
    """Return the calibrator of a parameter value; "auto" is Platt only if it is needed."""
    if not _is_auto(calibrator):
        return resolve_calibrator(calibrator)
    likelihood = "likelihoods" in decoder.needs and machine.has_likelihood
    needed = requires_probabilities(decoder) and not (machine.has_probability or likelihood)
    return Platt() if needed else NoCalibration()


def requires_probabilities(decoder: Decoder) -> bool:
    """Whether a decoder cannot work without binary probabilities."""
    return bool(decoder.needs & {"probabilities", "likelihoods"})


def wants_probabilities(decoder: Decoder) -> bool:
    """Whether a decoder uses a machine's own probabilities if there are any."""
    return requires_probabilities(decoder) or (
        "scores" not in decoder.needs and decoder.yields_probabilities(True)
    )


def check_together(parts: Parts, codebook: Codebook) -> None:
    """Refuse parts that cannot be combined, and name some that can.

    Note: the rules are declared by the parts (`fits`, `needs`, `has_probability`, ...), and read
    here. A table of allowed combinations would have to list parts that users register.
    """
    decoder, name = parts.decoder, type(parts.decoder).__name__
    if not decoder.fits(codebook):
        fitting = [
            key for key, other in sorted(parts_of("decoder").items()) if other().fits(codebook)
        ]
        what = f"The decoder {name} is for {' or '.join(sorted(decoder.codes))} codes"
        if codebook.name in decoder.codes:  # but not as it is configured
            what = f"The decoder {decoder!r} is for other codes"
        raise ValueError(
            f"{what}, but the code is {codebook.name}. For this code choose the decoder "
            f"{listed(fitting)}."
        )
    _check_tempering(parts)
    if "likelihoods" in decoder.needs and parts.machine.has_likelihood:
        return
    if requires_probabilities(decoder) and not parts.has_probabilities:
        fitting = [
            key
            for key, other in sorted(parts_of("decoder").items())
            if other().fits(codebook) and not requires_probabilities(other())
        ]
        raise ValueError(
            f"The decoder {name} needs probabilities, but {parts.machine_name} has no "
            "predict_proba and there is no calibrator. Choose calibrator='platt' or 'isotonic', "
            f"or the decoder {listed(fitting)}."
        )


def _check_tempering(parts: Parts) -> None:
    if parts.tempering is None:
        return
    name = type(parts.decoder).__name__
    if not parts.yields_probabilities:
        raise ValueError(
            f"tempering needs class probabilities, which {name} does not yield here. Choose a "
            "decoder that does, such as 'pairwise_coupling' or 'code_coupling', or tempering=None."
        )
    if "refit" in parts.decoder.needs:
        raise ValueError(
            "tempering needs out-of-fold class probabilities, which are not available from "
            f"{name}, a decoder that trains machines of its own. Choose another, or tempering=None."
        )


def resolve_machine(machine: Any) -> tuple[ColumnMachine, str]:
    """Return the machine of a parameter value, and the class name of the classifier."""
    if machine is None:
        machine = "svm"
    if isinstance(machine, str):
        machine = find_part("machine", machine)()
    refuse_class(machine, "machine")
    if not hasattr(machine, "fit"):
        raise TypeError(
            f"machine must be a scikit-learn classifier such as LogisticRegression(), or one of "
            f"{part_names('machine')}; got {machine!r}."
        )
    if not is_classifier(machine):
        raise TypeError(f"machine must be a classifier; {type(machine).__name__} is not one.")
    return columns_of(clone(machine)), type(machine).__name__


def columns_of(machine: Any) -> ColumnMachine:
    """Return the machine that trains a binary classifier on all columns of a code."""
    if hasattr(machine, "as_columns"):
        found: ColumnMachine = machine.as_columns()
        return found
    return AnyLearner(machine)


def resolve_code(code: Any) -> Code:
    """Return the code of a parameter value; a matrix becomes a `CustomCode`."""
    if code is None:
        return OneVsOne()
    if isinstance(code, Codebook):
        return CustomCode(code.matrix)
    if not isinstance(code, str | Code | type) and np.ndim(code) == 2:
        return CustomCode(code)
    return _resolve(code, Code)


def resolve_calibrator(calibrator: Any) -> Calibrator:
    """Return the calibrator of a parameter value."""
    if calibrator is None:
        return NoCalibration()
    return _resolve(calibrator, Calibrator, ("auto",))


def resolve_decoder(decoder: Any) -> Decoder:
    """Return the decoder of a parameter value."""
    return _resolve(decoder, Decoder, ("auto",))


def resolve_tempering(tempering: Any) -> Tempering | None:
    """Return the tempering of a parameter value, or None."""
    refuse_class(tempering, "tempering")
    if tempering is None or tempering is False:
        return None
    if tempering is True or _is_auto(tempering):
        return Tempering()
    if isinstance(tempering, str) and tempering in parts_of("tempering"):
        return _resolve(tempering, Tempering)
    if not isinstance(tempering, Tempering):
        raise TypeError(
            f"tempering must be None, 'auto', True or a Tempering(), got {tempering!r}."
        )
    copy: Tempering = clone(tempering)
    return copy


def _resolve(value: Any, base: type[AnyPart], more: Iterable[str] = ()) -> AnyPart:
    """Return a new part: made from its name, or a copy of an object."""
    kind = base.part_kind
    refuse_class(value, kind)
    if isinstance(value, str):
        found: AnyPart = find_part(kind, value, more)()
        return found
    if not isinstance(value, base):
        raise TypeError(
            f"{kind} must be a {base.__name__} or one of {part_names(kind, more)}, got {value!r}."
        )
    copy: AnyPart = clone(value)
    return copy


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _default_decoder(code: Code, probabilities: bool) -> Decoder:
    return resolve_decoder(code.default_decoder(probabilities))
