"""Calibrators."""

from __future__ import annotations

from typing import Any

from ...calibration import CALIBRATORS, Isotonic, Platt, PooledPlatt
from .._values import FLOAT, array, instance, number, require
from .registry import checks


@checks(*CALIBRATORS.values())
def _calibrator(calibrator: Any) -> None:
    pass


@checks(Platt, fitted="slopes_ intercepts_")
def _platt(calibrator: Platt) -> None:
    (n_columns,) = array(calibrator, "slopes_", (None,), FLOAT).shape
    array(calibrator, "intercepts_", (n_columns,), FLOAT)


@checks(PooledPlatt, fitted="slope_ slopes_ intercepts_ strengths_")
def _pooled_platt(calibrator: PooledPlatt) -> None:
    (n_columns,) = array(calibrator, "slopes_", (None,), FLOAT).shape
    array(calibrator, "intercepts_", (n_columns,), FLOAT)
    array(calibrator, "strengths_", (2,), FLOAT)
    number(calibrator, "slope_")


@checks(Isotonic, fitted="regressions_")
def _isotonic(calibrator: Isotonic) -> None:
    from sklearn.isotonic import IsotonicRegression

    regressions = instance(calibrator, "regressions_", list)
    known = all(
        type(each) is IsotonicRegression and hasattr(each, "X_thresholds_") for each in regressions
    )
    require(known, calibrator, "has no valid regressions_")


def n_calibrated(calibrator: Any) -> int | None:
    """Return for how many columns a calibrator was fitted; None if it learns nothing."""
    if isinstance(calibrator, Platt | PooledPlatt):
        return len(calibrator.slopes_)
    return len(calibrator.regressions_) if isinstance(calibrator, Isotonic) else None
