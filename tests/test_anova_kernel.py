"""The ANOVA kernel against its definition, and what it is good for."""

from itertools import chain, combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone

import polychotomy as pc
from polychotomy.kernels import Anova


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 10.0), st.integers(1, 6))
def test_it_is_the_sum_over_all_sets_of_inputs(seed, gamma, n_inputs):
    rng = np.random.default_rng(seed)
    X, Z = (rng.integers(-3, 4, size=(5, n_inputs)) / 2.0 for _ in range(2))
    sets = chain.from_iterable(combinations(range(n_inputs), k) for k in range(n_inputs + 1))
    wanted = sum(
        np.exp(-gamma * np.abs(X[:, None, list(one)] - Z[None, :, list(one)]).sum(axis=2))
        for one in sets
    )
    kernel = Anova(gamma)
    np.testing.assert_allclose(kernel.between(X, Z), wanted / 2**n_inputs)
    np.testing.assert_allclose(kernel.between(csr_array(X), csr_array(Z)), kernel.between(X, Z))
    both = np.concatenate([X, Z])
    gram = kernel.between(both, both)
    np.testing.assert_array_equal(np.diagonal(gram), kernel.diagonal(both))
    assert np.linalg.eigvalsh(gram).min() > -1e-12


def test_it_finds_thresholds_of_single_inputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = np.where(X[:, 0] > 1.0, 0, np.where(X[:, 1] > 0.5, 1, 2))
    gaussian = pc.PolychotomyClassifier(pc.KernelLogisticRegression(C=10.0))
    anova = clone(gaussian).set_params(machine__kernel="anova", machine__gamma=0.2)
    scores = [one.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) for one in (gaussian, anova)]
    assert 1.0 - scores[1] < 0.6 * (1.0 - scores[0])
