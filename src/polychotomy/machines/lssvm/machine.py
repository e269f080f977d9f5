"""The least-squares support vector machine in the evidence framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...core.margins import Margins
from ...core.math import sigmoid
from ...core.registry import register
from ...core.types import FloatArray
from ...kernels import Kernel
from ..feature_blocks import feature_seconds
from ..kernel_machine import LANDMARK_PARAMETERS, MEMORY, KernelMachine
from ..parameters import FLAG, NOTHING, Rule, number, one_of_these

if TYPE_CHECKING:
    from .columns import LSSVMColumns
    from .evidence import Hyperparameters
    from .feature_columns import LSSVMFeatures


@register("ls_svm")
class LSSVM(KernelMachine):
    """Least-squares support vector machine (LS-SVM) with Bayesian hyperparameters.

    The squared error of the labels -1 and +1, ``(mu/2) |w|^2 + (zeta/2) sum e_i^2``, VANGESTEL
    (2)-(6), leads to a linear system, which all columns of a code without don't-cares share. The
    evidence framework chooses ``C = zeta / mu`` (level 2) and the width of the kernel (level 3)
    without cross-validation. It also provides the variance of scores, (12), and probabilities, the
    moderated outputs (10)-(11).

    Parameters
    ----------
    C : "evidence", "shared_evidence" or float, default="evidence"
        ``zeta / mu``; "evidence" finds the value of largest evidence for every binary problem,
        "shared_evidence" one for all problems with the same rows and width, by the sum of their
        log evidence. With hundreds of classes against the rest, which have few rows each, scores
        are then on one scale, and training is faster.
    kernel : {"rbf", "laplacian", "linear", "poly"} or callable, default="rbf"
        The kernel. A precomputed kernel is refused, because variances need the kernel of a new row
        with itself.
    sigma2 : "evidence", float or None, default=None
        The width of the Gaussian kernel, ``exp(-|x - z|^2 / (2 sigma2))``. "evidence" finds the
        width of largest evidence. If None, `gamma` is used.
    gamma : {"scale", "auto"} or float, default="scale"
        The width in scikit-learn's form, ``exp(-gamma |x - z|^2)``, the width of "laplacian",
        ``exp(-gamma sum_j |x_j - z_j|)``, or the scale of "poly".
    degree : float, default=3
        The degree of "poly".
    coef0 : float, default=0.0
        The constant of "poly".
    shared_sigma2 : bool, default=False
        Whether binary problems on the same rows share the width that "evidence" finds.
    occam : bool, default=False
        Whether to compare widths by the evidence with the paper's Occam terms instead of the exact
        marginal likelihood. The Occam terms can prefer a constant classifier.
    memory_limit : float, default=None
        The largest size in bytes of Gram matrices and what is computed from them; by default half
        of the free memory. Binary problems solved in parallel share it, so a tight limit means
        fewer at a time. If a single problem is above the limit, `fit` raises MemoryError.
    landmarks : int or "auto", default=None
        If given, the machine is linear in the features of this many training rows, and time and
        memory no longer grow with the square of the number of rows. With as many landmarks as rows
        it is the exact machine, which None is. "auto" is exact if no binary problem has more than
        3,000 rows (5,000 with a given C and width); above, it takes 1,000 landmarks, and from 6,000
        rows on, they are doubled until the loss of held-out rows of a subsample hardly falls. With
        landmarks, one width is chosen for all
        columns, on at most 20,000 rows.
    landmark_choice : {"pivoted_cholesky", "uniform", "k_means++"}, default="pivoted_cholesky"
        How landmarks are chosen: by randomly pivoted Cholesky, uniformly, or far from each other.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels; a positive score means the second label.
    C_, sigma2_, mu_, zeta_ : float
        The hyperparameters; ``sigma2_`` is None for kernels other than "rbf".
    support_ : ndarray of shape (n_support,)
        The training rows, except those of weight 0.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Their inputs.
    dual_coef_ : ndarray of shape (1, n_support)
        Their weights.
    intercept_ : ndarray of shape (1,)
        The bias.

    Notes
    -----
    A row of weight v has the noise variance ``1 / (zeta v)``: it counts v times in the error, but
    once as a row in the evidence. The sign of one term of (12) is corrected, because as printed it
    gives negative variances.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from polychotomy import LSSVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = make_pipeline(StandardScaler(), LSSVM(sigma2="evidence")).fit(X[::2], y[::2])
    >>> round(clf.score(X[1::2], y[1::2]), 2)
    0.96
    """

    own_parameters: ClassVar[dict[str, Rule]] = {
        "C": one_of_these("evidence", "shared_evidence") | number(0.0),
        "sigma2": one_of_these("evidence") | number(0.0) | NOTHING,
        "shared_sigma2": FLAG,
        "occam": FLAG,
        "memory_limit": MEMORY,
        **LANDMARK_PARAMETERS,
    }

    def __init__(
        self,
        C: str | float = "evidence",
        *,
        kernel: Any = "rbf",
        sigma2: str | float | None = None,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        shared_sigma2: bool = False,
        occam: bool = False,
        memory_limit: float | None = None,
        landmarks: int | str | None = None,
        landmark_choice: str = "pivoted_cholesky",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.sigma2 = sigma2
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.shared_sigma2 = shared_sigma2
        self.occam = occam
        self.memory_limit = memory_limit
        self.landmarks = landmarks
        self.landmark_choice = landmark_choice

    @property
    def exact_reach(self) -> float:  # type: ignore[override]
        """How far it is exact by itself: with a given C, one factorisation is all."""
        return 1.0 if isinstance(self.C, str) or isinstance(self.sigma2, str) else 5.0 / 3.0

    def exact_columns(self) -> LSSVMColumns:
        """Return the machine that reads the kernel of all rows."""
        # Imported here, because most programs use no LS-SVM.
        from .columns import LSSVMColumns

        return LSSVMColumns(self)

    def feature_columns(self) -> LSSVMFeatures:
        """Return the machine that reads features of landmarks."""
        from .feature_columns import LSSVMFeatures

        return LSSVMFeatures(self)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return example configurations for the shared tests."""
        return [cls(), cls(landmarks=20), cls("shared_evidence", landmarks=20)]

    def settle(self, X: Any, counts: FloatArray | None) -> Kernel:
        """Return the kernel with its parameters fixed for the training rows."""
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                "LSSVM cannot take kernel='precomputed': the variance of a score needs the kernel "
                "of a new row with itself; pass a function of two matrices instead."
            )
        return super().settle(X, counts)

    def latent(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the mean and variance of the regression score z, (5) and (12).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        mean, variance : ndarray of shape (n_rows,)
        """
        margins = self._margins(X)
        assert margins.mean is not None
        assert margins.variance is not None
        return margins.mean[:, 0], margins.variance[:, 0]

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log odds of the second class, by its moderated output.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            Where the class prior decides, their sign differs from that of the scores of `latent`.
        """
        from .predictive import moderated_log_odds

        margins = self._margins(X)
        assert margins.mean is not None
        assert margins.variance is not None
        assert margins.noise is not None
        return moderated_log_odds(
            margins.mean, margins.variance, margins.noise, self._fitted.pieces[0].prior
        )[:, 0]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the moderated outputs: VANGESTEL (10)-(11), with the class prior.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The inputs.

        Returns
        -------
        p : ndarray of shape (n_rows, 2)
            The probabilities, in the order of `classes_`.
        """
        scores = self.decision_function(X)
        return np.stack([sigmoid(-scores), sigmoid(scores)], axis=1)

    @property
    def tuned_parameters(self) -> tuple[str, ...]:
        """The parameters that a search tunes by default: none if the evidence chooses C."""
        return () if isinstance(self.C, str) else super().tuned_parameters

    def expected_seconds(self, n_rows: int) -> float:
        """Return a rough estimate of the training time on one core: one tridiagonal matrix."""
        number = self.landmarks_for(n_rows)
        if number is not None:
            return feature_seconds(n_rows, number)
        return 5e-10 * n_rows**3

    @property
    def C_(self) -> float:
        """The regularisation ``zeta / mu``."""
        return float(self._hyperparameters().gamma[0])

    @property
    def mu_(self) -> float:
        """The strength of the regulariser."""
        return float(self._hyperparameters().mu[0])

    @property
    def zeta_(self) -> float:
        """The precision of the noise."""
        return float(self._hyperparameters().zeta[0])

    @property
    def sigma2_(self) -> float | None:
        """The width of the Gaussian kernel."""
        check_is_fitted(self, "classes_")
        return getattr(self._fitted.kernel, "sigma2", None)

    def _hyperparameters(self) -> Hyperparameters:
        check_is_fitted(self, "classes_")
        found: Hyperparameters = self._fitted.pieces[0].hyperparameters
        return found

    def _margins(self, X: Any) -> Margins:
        X = self._checked(X)
        margins: Margins = self.as_columns().margins(self._fitted, X, probability=True)
        return margins
