"""Checks of scikit-learn's encoders of words in a model file.

Codes are positions in a matrix, which are written without checks: none may lie outside of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._values import array, instance, integer, is_number, labels, require

MAX_HASHED = 1 << 22
# The pattern of a word, which is run on the user's texts: a hostile one could run forever.
WORD = r"(?u)\b\w\w+\b"


def check_one_hot(encoder: Any) -> None:
    """Check that codes lie within the matrix that they are written into."""
    categories = _categories(encoder)
    sizes = _sizes_after_grouping(encoder, [len(each) for each in categories])
    if "drop_idx_" not in vars(encoder):
        return  # an ordinal encoder: it writes one code for each input
    dropped = encoder.drop_idx_
    numbers = [None] * len(categories) if dropped is None else list(dropped)
    grouped = sizes != [len(each) for each in categories]
    require(dropped is None or not grouped, encoder, "groups rare categories, and drops some")
    widths = []
    for size, number in zip(sizes, numbers, strict=True):
        known = number is None or (isinstance(number, int | np.integer) and 0 <= number < size)
        require(known, encoder, "drops a category that does not exist")
        widths.append(size - (number is not None))
    internal = vars(encoder).get("_drop_idx_after_grouping")
    same = (None if internal is None else list(internal)) == (None if dropped is None else numbers)
    require(same, encoder, "drops other categories than it declares")
    columns = vars(encoder).get("_n_features_outs")
    require(type(columns) is list and columns == widths, encoder, "has codes out of range")


def check_target_encoder(encoder: Any) -> None:
    """Check that every category has its number for each class."""
    sizes = [len(each) for each in _categories(encoder)]
    require(vars(encoder).get("_infrequent_enabled") is False, encoder, "groups rare categories")
    kind, n_classes = vars(encoder).get("target_type_"), len(labels(encoder))
    require(kind in ("binary", "multiclass"), encoder, "has no valid target_type_")
    if kind == "multiclass":
        sizes = [size for size in sizes for _ in range(n_classes)]
        array(encoder, "target_mean_", (n_classes,), "f")
    else:
        mean = vars(encoder).get("target_mean_")
        require(n_classes == 2 and is_number(mean), encoder, "has no valid target_mean_")
    encodings = instance(encoder, "encodings_", list)
    fine = len(encodings) == len(sizes) and all(
        type(each) is np.ndarray and each.shape == (size,) and each.dtype == np.float64
        for each, size in zip(encodings, sizes, strict=False)
    )
    require(fine, encoder, "has encodings_ of other categories or classes")
    fine = all(np.isfinite(each).all() for each in encodings)
    require(fine, encoder, "has a NaN or infinite value in encodings_")


def check_hashing(hashing: Any) -> None:
    """Check that texts are taken apart by words alone, and by no function of the file."""
    integer(hashing, "n_features", 1, MAX_HASHED)
    wanted = {
        **{"input": "content", "analyzer": "word", "token_pattern": WORD, "stop_words": None},
        **{"preprocessor": None, "tokenizer": None, "strip_accents": None},
    }
    for name, value in wanted.items():
        require(vars(hashing).get(name) == value, hashing, f"has a {name} that is not on the list")
    require(hashing.dtype is np.float64, hashing, "has a dtype that is not on the list")
    low, high = instance(hashing, "ngram_range", tuple)
    fine = type(low) is int and type(high) is int and 1 <= low <= high <= 8
    require(fine, hashing, "has an ngram_range out of range")


def _categories(encoder: Any) -> list[Any]:
    categories: list[Any] = instance(encoder, "categories_", list)
    plain = all(type(each) is np.ndarray and each.ndim == 1 for each in categories)
    require(plain, encoder, "has no valid categories_")
    require(len(categories) == encoder.n_features_in_, encoder, "has categories of other inputs")
    return categories


def _sizes_after_grouping(encoder: Any, sizes: list[int]) -> list[int]:
    """Return how many codes each input has, after checking how rare categories are grouped."""
    grouping = vars(encoder).get("_infrequent_enabled")
    require(type(grouping) is bool, encoder, "does not say whether it groups rare categories")
    if not grouping:
        return sizes
    rare = instance(encoder, "_infrequent_indices", list)
    codes = instance(encoder, "_default_to_infrequent_mappings", list)
    fine = len(rare) == len(codes) == len(sizes)
    require(fine, encoder, "groups rare categories of other inputs")
    found = []
    for size, group, code in zip(sizes, rare, codes, strict=True):
        require((group is None) == (code is None), encoder, "groups only some rare categories")
        if group is None:
            found.append(size)
            continue
        plain = all(type(each) is np.ndarray and each.dtype.kind in "iu" for each in (group, code))
        require(plain and group.ndim == 1 and code.shape == (size,), encoder, "has no valid groups")
        inside = len(group) > 0 and group.min() >= 0 and group.max() < size
        require(inside and len(np.unique(group)) == len(group), encoder, "has groups out of range")
        found.append(size - len(group) + 1)
        fine = code.min() >= 0 and code.max() == found[-1] - 1
        require(fine, encoder, "has codes out of range")
    return found
