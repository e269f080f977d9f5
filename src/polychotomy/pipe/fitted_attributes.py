"""The fitted attributes of the estimator: set from a fitted pipe, read as one, and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..core.state import Sizes, StateError, require
from .fitting import FittedPipe
from .parts import check_together
from .session import Session

if TYPE_CHECKING:
    from .classifier import PolychotomyClassifier


def pipe_of(classifier: PolychotomyClassifier) -> FittedPipe:
    """Return the fitted pipe of a classifier as a value."""
    return FittedPipe(
        parts=classifier.parts_,
        codebook=classifier.codebook_,
        machines=classifier.machines_,
        class_sizes=classifier.class_sizes_,
        priors=classifier._target_priors,
        calibrator=getattr(classifier, "calibrator_", None),
        decoder=getattr(classifier, "decoder_", None),
        tempering=getattr(classifier, "tempering_", None),
    )


def adopt(classifier: PolychotomyClassifier, session: Session, pipe: FittedPipe) -> None:
    """Set the fitted attributes of a classifier from a fitted pipe."""
    classifier.parts_ = pipe.parts
    classifier.classes_, classifier.codebook_ = session.classes, pipe.codebook
    classifier.machines_ = pipe.machines
    classifier.class_sizes_, classifier.n_rows_ = pipe.class_sizes, len(session.data.rows)
    classifier._target_priors, classifier._decoder_seed = pipe.priors, session.decoder_seed
    for name in ("calibrator_", "decoder_", "tempering_", "leave_one_out_columns_"):
        classifier.__dict__.pop(name, None)
    if pipe.leave_one_out_columns is not None:
        classifier.leave_one_out_columns_ = pipe.leave_one_out_columns
    if pipe.decoder is not None:
        adopt_parts(classifier, pipe)


def adopt_parts(classifier: PolychotomyClassifier, pipe: FittedPipe) -> None:
    """Set the calibrator, decoder and tempering of a classifier from a fitted pipe."""
    classifier.calibrator_, classifier.decoder_ = pipe.calibrator, pipe.decoder
    classifier.tempering_ = pipe.tempering


def check_fitted(classifier: PolychotomyClassifier, sizes: Sizes) -> None:
    """Check that the parts of a loaded classifier fit together and to its inputs."""
    book, parts = classifier.codebook_, classifier.parts_
    require(
        classifier.machines_.machine is parts.machine, classifier, "has machines of other parts"
    )
    _, source, sign = book.trained
    same = np.array_equal(classifier.machines_.source, source)
    same = same and np.array_equal(classifier.machines_.sign, sign)
    require(same, classifier, "has machines of another code")
    classifier.machines_.fitted.check_inputs(sizes["d"])
    try:
        check_together(parts, book)
    except ValueError as error:
        raise StateError("The model", f"has parts that cannot be combined: {error}") from None
    there = {"calibrator_", "decoder_"} & set(vars(classifier))
    if not there:
        return  # cv="prefit", not calibrated yet
    require(len(there) == 2, classifier, "has a decoder or a calibrator, but not both")
    own = classifier.calibrator_ is parts.calibrator and classifier.decoder_ is parts.decoder
    require(own, classifier, "has a decoder or a calibrator of other parts")
    require(classifier.decoder_.codebook_ == book, classifier, "has a decoder of another code")
    check_inputs = getattr(classifier.decoder_, "check_inputs", None)
    if check_inputs is not None:
        check_inputs(sizes["d"])
