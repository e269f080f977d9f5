"""From the columns of a table to numbers: the transformer before a classifier.

Design note: everything is learned from the training rows (medians, scales, categories, shares of
classes), so it is a transformer that is fitted again in every split. Only what a field says by
itself, the seconds of a date, is worked out when a table is read.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from ..core.registry import stored
from ..core.state import INPUTS, Array, Field
from ..core.types import FloatArray

MISSING_CATEGORY = "(missing)"
# With more categories a column becomes one number for each class, not one for each category.
MOST_ONE_HOT = 50
# With more classes than this, that would be too many, and rare categories are put together.
MOST_CLASS_SHARES = 20
HASHED_WORDS, TEXT_DIRECTIONS = 1 << 12, 30
DAY = 86_400.0
PARTS = ("year", "month", "weekday", "hour", "seconds")


@stored("estimator.date_parts")
class DateParts(TransformerMixin, BaseEstimator):
    """Moments in time as numbers: year, month, weekday (Monday is 0), hour, and seconds.

    The seconds are since the earliest moment that it was fitted to. A missing moment is missing in
    all of them.

    Attributes
    ----------
    first_ : ndarray of shape (n_features_in_,)
        The earliest moment of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from polychotomy.tables import DateParts
    >>> moments = np.array([["2024-05-17T06:30"], ["2024-05-18"]], dtype="datetime64[s]")
    >>> DateParts().fit_transform(moments.astype(float))
    array([[2.024e+03, 5.000e+00, 4.000e+00, 6.500e+00, 0.000e+00],
           [2.024e+03, 5.000e+00, 5.000e+00, 0.000e+00, 6.300e+04]])
    """

    fitted_state: ClassVar[dict[str, Field]] = {**INPUTS, "first_": Array("d")}

    def fit(self, X: Any, y: Any = None) -> DateParts:
        """Find the earliest moment of each column.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Seconds since 1970; NaN for missing.
        y : ignored

        Returns
        -------
        self
        """
        from sklearn.utils.validation import validate_data

        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        there = np.where(np.isnan(X), np.inf, X).min(axis=0)
        self.first_ = np.where(np.isfinite(there), there, 0.0)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return five numbers for each column.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Seconds since 1970; NaN for missing.

        Returns
        -------
        parts : ndarray of shape (n_rows, 5 * n_columns)
        """
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        parts = np.stack([*_parts(X), X - self.first_], axis=2)
        return parts.reshape(len(X), -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the numbers, such as "day: year".

        Parameters
        ----------
        input_features : array-like of str, default=None
            The names of the columns.

        Returns
        -------
        names : ndarray of str
        """
        names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        return np.array([f"{name}: {part}" for name in names for part in PARTS], dtype=object)


def _parts(moments: FloatArray) -> tuple[FloatArray, ...]:
    missing = np.isnan(moments)
    days = np.floor(np.where(missing, 0.0, moments) / DAY)
    months = days.astype("int64").astype("datetime64[D]").astype("datetime64[M]").astype("int64")
    parts = (
        1970.0 + months // 12,
        1.0 + months % 12,
        (days + 3.0) % 7.0,  # 1970 began on a Thursday
        (np.where(missing, 0.0, moments) - DAY * days) / 3600.0,
    )
    return tuple(np.where(missing, np.nan, part) for part in parts)


def encoder(columns: Any, n_classes: int = 0) -> Any:
    """Return the transformer of columns into numbers; see `TableSchema.preprocessor`."""
    from sklearn.compose import ColumnTransformer

    parts: list[tuple[str, Any, Any]] = []

    def add(name: str, transformer: Any, chosen: list[str]) -> None:
        if chosen:
            parts.append((name, transformer, chosen))

    def names(kind: str, many: bool = False) -> list[str]:
        return [
            one.name
            for one in columns
            if one.kind == kind and (len(one.categories) > MOST_ONE_HOT) == many
        ]

    add("numbers", _numbers(), names("number"))
    add("categories", _categories(), names("category"))
    shares = n_classes <= MOST_CLASS_SHARES
    add("many_categories", _class_shares() if shares else _grouped(), names("category", many=True))
    add("dates", _dates(), names("date"))
    for number, name in enumerate(names("text"), 1):
        # A name, not a list: these encoders read a list of texts, not a table of one column.
        parts.append((f"text_{number}", _text(), name))
    return ColumnTransformer(parts, sparse_threshold=0.0)


def _numbers() -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )


def _dates() -> Any:
    from sklearn.pipeline import make_pipeline

    return make_pipeline(DateParts(), *(step for _, step in _numbers().steps))


def _missing_words() -> Any:
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy="constant", fill_value=MISSING_CATEGORY)


def _categories(**options: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    settings = {"handle_unknown": "ignore", "sparse_output": False, **options}
    return make_pipeline(_missing_words(), OneHotEncoder(**settings))


def _grouped() -> Any:
    """Return an encoder that puts all but the most frequent categories together."""
    return _categories(max_categories=MOST_ONE_HOT, handle_unknown="infrequent_if_exist")


def _class_shares() -> Any:
    """Return an encoder by the shares of the classes among the rows of a category."""
    from sklearn import __version__
    from sklearn.model_selection import KFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler, TargetEncoder

    # Note: folds without classes, because a rare class need not be in all of them.
    if tuple(int(part) for part in __version__.split(".")[:2]) >= (1, 9):
        shares = TargetEncoder(cv=KFold(5, shuffle=True, random_state=0))
    else:
        shares = TargetEncoder(random_state=0)
    return make_pipeline(_missing_words(), shares, StandardScaler())


def _text() -> Any:
    """Return an encoder by the main directions of which words and pairs of words a text has."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.pipeline import make_pipeline

    hashed = HashingVectorizer(n_features=HASHED_WORDS, ngram_range=(1, 2))
    return make_pipeline(hashed, TruncatedSVD(TEXT_DIRECTIONS, random_state=0))
