"""Encoders of words in model files: codes that do not fit are refused before they are used."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

from polychotomy.core.state import StateError
from polychotomy.persistence._sklearn_checks import check_sklearn

WORDS = np.array([*"aabbbccdef"], dtype=object)[:, None]
THREE = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])


def rare():
    return OneHotEncoder(max_categories=3).fit(WORDS)


def shares(y=THREE):
    return TargetEncoder().fit(WORDS, y)


def change(encoder, **attributes):
    vars(encoder).update(attributes)
    return encoder


ENCODERS = {
    "one hot": (
        rare,
        {
            "codes out": {"_default_to_infrequent_mappings": [np.array([0, 1, 2, 2, 2, 9])]},
            "groups out of range": {"_infrequent_indices": [np.array([2, 3, 4, 77])]},
            "no valid groups": {"_default_to_infrequent_mappings": [np.zeros(4, dtype=int)]},
            "only some": {"_infrequent_indices": [None]},
            "of other inputs": {"_infrequent_indices": []},
            "has codes": {"_n_features_outs": [9]},
            "does not say": {"_infrequent_enabled": None},
        },
    ),
    "class shares": (
        shares,
        {
            "other categories or classes": {"encodings_": [np.zeros(6)] * 2},
            "a NaN": {"encodings_": [np.full(6, np.nan)] * 3},
            "target_type_": {"target_type_": "continuous"},
            "target_mean_": {"target_mean_": np.zeros(4)},
            "no valid categories_": {"categories_": [3]},
            "rare": {"_infrequent_enabled": True},
        },
    ),
    "class shares of two": (
        lambda: shares(THREE > 0),
        {"target_mean_": {"target_mean_": np.inf}},
    ),
    "hashed words": (
        HashingVectorizer,
        {
            "n_features": {"n_features": 0},
            "tokenizer": {"tokenizer": len},
            "token_pattern": {"token_pattern": "(a+)+b"},
            "analyzer": {"analyzer": len},
            "dtype": {"dtype": object},
            "ngram_range": {"ngram_range": (1, 10**6)},
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ENCODERS)
def test_every_change_is_refused(name):
    make, changes = ENCODERS[name]
    check_sklearn(make())
    for words, attributes in changes.items():
        with pytest.raises(StateError, match=words):
            check_sklearn(change(make(), **attributes))
