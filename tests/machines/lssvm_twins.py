"""Plain, slow twins of the LS-SVM core: dense matrices, refits, explicit features."""

import numpy as np
from scipy.integrate import quad
from scipy.linalg import null_space
from scipy.stats import multivariate_normal, norm


def rows(seed, n=20, n_inputs=3):
    return np.random.default_rng(seed).standard_normal((n, n_inputs))


def labels(seed, n=20, n_columns=3):
    """Return random labels with both signs in every column."""
    Y = np.random.default_rng([seed, 1]).choice([-1.0, 1.0], (n, n_columns))
    Y[0], Y[1] = 1.0, -1.0
    return Y


def learnable(X, seed=0, n_columns=3, noise=0.8):
    """Return labels that the inputs say something about, but not all."""
    rng = np.random.default_rng([seed, 2])
    signal = X @ rng.standard_normal((X.shape[1], n_columns))
    return np.where(signal + noise * rng.standard_normal(signal.shape) > 0, 1.0, -1.0)


def row_weights(seed, n=20):
    return np.random.default_rng([seed, 3]).uniform(0.2, 3.0, n)


def gaussian(X, Z=None, width=2.0):
    Z = X if Z is None else Z
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / width)


def ones_or(weights, n):
    return np.ones(n) if weights is None else weights


def bordered(K, Y, gamma, weights=None):
    """Solve the bordered system by elimination."""
    n = len(K)
    matrix = np.ones((n + 1, n + 1))
    matrix[:n, :n] = K + np.diag(1 / (gamma * ones_or(weights, n)))
    matrix[n, n] = 0
    solution = np.linalg.solve(matrix, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return solution[:n], solution[n]


def paper_system(K, y, gamma):
    """Solve (4) of the paper for one column; return alpha and b."""
    n = len(y)
    matrix = np.zeros((n + 1, n + 1))
    matrix[0, 1:] = matrix[1:, 0] = y
    matrix[1:, 1:] = np.outer(y, y) * K + np.eye(n) / gamma
    solution = np.linalg.solve(matrix, np.append(0.0, np.ones(n)))
    return solution[1:], solution[0]


def refits(K, Y, gamma, weights=None):
    scores = np.empty_like(Y)
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        v = None if weights is None else weights[rest]
        a, b = bordered(K[np.ix_(rest, rest)], Y[rest], gamma, v)
        scores[i] = K[i, rest] @ a + b
    return scores


def centred_eigenvalues(K, weights=None):
    """Return the eigenvalues of P S K S P, the 0 of the bias among them."""
    s = np.sqrt(ones_or(weights, len(K)))
    P = np.eye(len(K)) - np.outer(s, s) / (s @ s)
    return np.linalg.eigvalsh(P @ (s[:, None] * K * s) @ P)


def energies(K, y, gamma, weights=None):
    """Return E_W, E_D and the log-determinant of level 2 for one column."""
    v = ones_or(weights, len(K))
    a, b = bordered(K, y[:, None], gamma, weights)
    errors = y - K @ a[:, 0] - b[0]
    contrasts = null_space(np.sqrt(v)[None])
    s = np.sqrt(v)
    G = contrasts.T @ (s[:, None] * K * s) @ contrasts
    log_determinant = np.linalg.slogdet(G + np.eye(len(G)) / gamma)[1]
    return 0.5 * a[:, 0] @ K @ a[:, 0], 0.5 * (v * errors**2).sum(), log_determinant


def marginal_likelihood(K, y, mu, zeta, weights=None):
    """Return the log marginal likelihood of a Gaussian process with a flat bias.

    Orthonormal contrasts A, free of the bias, are normal; the density with the bias integrated
    out is theirs times ``n^-1/2``.
    """
    C = K / mu + np.diag(1 / (zeta * ones_or(weights, len(K))))
    A = null_space(np.ones((1, len(K))))
    density = multivariate_normal(cov=A.T @ C @ A).logpdf(A.T @ y)
    return density - 0.5 * np.log(len(K))


def integrated_over_the_bias(K, y, mu, zeta, weights=None):
    """Return the same by numerical integration."""
    C = K / mu + np.diag(1 / (zeta * ones_or(weights, len(K))))
    density = multivariate_normal(cov=C)
    inverse = np.linalg.inv(C)
    middle = inverse.sum(axis=0) @ y / inverse.sum()
    top = density.logpdf(y - middle)
    width = 12 / np.sqrt(inverse.sum())
    integral = quad(
        lambda b: np.exp(density.logpdf(y - b) - top), middle - width, middle + width, epsabs=1e-13
    )[0]
    return top + np.log(integral)


def feature_variance(Phi, new, mu, zeta, weights=None):
    """Return g' H^-1 g with H the Hessian of (2) in the weights and the bias."""
    g = np.column_stack([new, np.ones(len(new))])
    design = np.column_stack([Phi, np.ones(len(Phi))])
    H = zeta * design.T @ (ones_or(weights, len(Phi))[:, None] * design)
    H[:-1, :-1] += mu * np.eye(Phi.shape[1])
    return np.einsum("ij,ij->i", g, np.linalg.solve(H, g.T).T)


def paper_variance(K, y, cross, own, mu, zeta, sign):
    """Return (12) with U_G and D_G from (13); `sign` is that of its fifth term."""
    n = len(y)
    omega = np.outer(y, y) * K
    values, vectors = np.linalg.eig((np.eye(n) - np.outer(y, y) / n) @ omega)
    kept = values.real > 1e-9 * values.real.max()
    values, vectors = values.real[kept], vectors.real[:, kept]
    U = vectors / np.sqrt(np.einsum("ij,ik,kj->j", vectors, omega, vectors))
    HD = U @ np.diag(1 / (mu + zeta * values) - 1 / mu) @ U.T
    theta = y * cross
    oy = omega @ y
    return (
        np.einsum("ij,jk,ik->i", theta, HD, theta)
        + own / mu
        + 1 / (n * zeta)
        - 2 / n * theta @ HD @ oy
        + sign * 2 / n / mu * theta @ y
        + oy @ HD @ oy / n**2
        + y @ oy / (mu * n**2)
    )


def process_variance(K, cross, own, mu, zeta, weights=None):
    """Return the variance of a Gaussian process with a flat bias."""
    C = K / mu + np.diag(1 / (zeta * ones_or(weights, len(K))))
    solved = np.linalg.solve(C, cross.T / mu)
    ones = np.linalg.solve(C, np.ones(len(K)))
    explained = np.einsum("ij,ji->i", cross / mu, solved)
    return own / mu - explained + (1 - cross / mu @ ones) ** 2 / ones.sum()


def moderated(z, variance, noise, prior):
    """Return (10) with (11) as they are printed."""
    deviation = np.sqrt(noise + variance)
    positive = prior * norm.pdf(1 - z, scale=deviation)
    negative = (1 - prior) * norm.pdf(1 + z, scale=deviation)
    return positive / (positive + negative)
