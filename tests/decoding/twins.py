"""Plain, slow twins of the decoders, written from the papers' formulas, and what draws inputs.

Nothing here uses the library: rows are lists, sums are loops, ties are decided in exact
fractions. R[i][j] is r_ij, the confidence in class i against class j.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

moderate = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
few = settings(moderate, max_examples=15)


# ------------------------------------------------------------------------------ drawing inputs

# Multiples of 1/64 add up without rounding, so that ties are ties: 0, 1/2 and 1 among them.
dyadic = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 64).map(lambda k: k / 64))
any_probability = st.one_of(dyadic, st.floats(0.0, 1.0))
inner_probability = st.floats(0.01, 0.99)


def n_pairs(n_classes):
    return n_classes * (n_classes - 1) // 2


@st.composite
def pairwise_rows(draw, element=any_probability, n_rows=3, most=8):
    """Draw (M, r) with r of shape (n_rows, M (M - 1) / 2), sometimes a contradictory cycle."""
    n_classes = draw(st.integers(2, most))
    n_columns = n_pairs(n_classes)
    row = st.lists(element, min_size=n_columns, max_size=n_columns)
    rows = [draw(row) for _ in range(n_rows - 1)]
    rows.append(cycle(n_classes, draw(element)))
    return n_classes, np.array(rows)


def cycle(n_classes, strength):
    """Return r in which every class beats the next, and the last the first."""
    return [
        1.0 - strength if (i, j) == (0, n_classes - 1) and n_classes > 2 else strength
        for i, j in itertools.combinations(range(n_classes), 2)
    ]


# Scores that add up without rounding, of sizes from tiny to huge.
@st.composite
def exact_scores(draw, n_columns, n_rows=3):
    power = draw(st.sampled_from([-900, -70, -20, 0, 0, 0, 20, 70, 900]))
    row = st.lists(st.integers(-64, 64), min_size=n_columns, max_size=n_columns)
    return np.array([draw(row) for _ in range(n_rows)], dtype=float) * 2.0**power


@st.composite
def sizes_for(draw, n_classes):
    return draw(st.lists(st.integers(1, 5), min_size=n_classes, max_size=n_classes))


@st.composite
def code_matrices(draw, most=6, dont_cares=True):
    """Draw any valid code matrix: distinct rows, both signs in every column, no idle class."""
    n_classes = draw(st.integers(2, most))
    entries = st.sampled_from([-1, 0, 1] if dont_cares else [-1, 1])
    word = st.lists(entries, min_size=n_classes, max_size=n_classes)
    columns = draw(st.lists(word.filter(lambda c: 1 in c and -1 in c), min_size=0, max_size=6))
    # These columns alone tell all classes apart.
    for bit in range(max(1, math.ceil(math.log2(n_classes)))):
        columns.append([1 if (m >> bit) & 1 else -1 for m in range(n_classes)])
    return np.array(columns).T


# ------------------------------------------------------------------------------------ one-vs-one


def square(row, n_classes):
    """Return R as a list of lists of fractions; the diagonal is None."""
    full = [[None] * n_classes for _ in range(n_classes)]
    for (i, j), value in zip(itertools.combinations(range(n_classes), 2), row, strict=True):
        full[i][j] = Fraction(float(value))
        full[j][i] = 1 - Fraction(float(value))
    return full


def score_square(row, n_classes):
    """Return the signed scores f_ij = -f_ji as fractions."""
    full = [[None] * n_classes for _ in range(n_classes)]
    for (i, j), value in zip(itertools.combinations(range(n_classes), 2), row, strict=True):
        full[i][j], full[j][i] = Fraction(float(value)), -Fraction(float(value))
    return full


def others(i, n_classes):
    return [j for j in range(n_classes) if j != i]


def votes(full):
    """GALAR (2): s_ij is 1 if r_ij > r_ji."""
    n = len(full)
    return [sum(1 for j in others(i, n) if full[i][j] > full[j][i]) for i in range(n)]


def confidence(full):
    n = len(full)
    return [sum((full[i][j] - full[j][i]) / 2 for j in others(i, n)) for i in range(n)]


def weighted(full):
    """GALAR (3)."""
    n = len(full)
    return [sum(full[i][j] for j in others(i, n)) for i in range(n)]


def best(*criteria):
    """Return the first class that is best by the first criterion, ties by the next, ..."""
    classes = range(len(criteria[0]))
    return max(classes, key=lambda m: (*(c[m] for c in criteria), -m))


def max_wins(full, sizes):
    return best(votes(full), confidence(full), sizes)


def graph(full, order):
    """GALAR 2.4: the first against the last of the list, the loser leaves."""
    left = list(order)
    while len(left) > 1:
        if full[left[0]][left[-1]] >= full[left[-1]][left[0]]:
            left.pop()
        else:
            left.pop(0)
    return left[0]


def valued_preference(full, sizes):
    """GALAR (11)-(12)."""
    n = len(full)
    result = []
    for i in range(n):
        total = 0
        for j in others(i, n):
            strict = full[i][j] - min(full[i][j], full[j][i])
            conflict = min(full[i][j], full[j][i])
            ignorance = 1 - max(full[i][j], full[j][i])
            share = Fraction(sizes[i]) / (Fraction(sizes[i]) + Fraction(sizes[j]))
            total += strict + conflict / 2 + share * ignorance
        result.append(total)
    return result


def non_dominance(full):
    """GALAR (13)-(15)."""
    n = len(full)

    def normalised(i, j):
        total = full[i][j] + full[j][i]
        return full[i][j] / total if total else Fraction(1, 2)

    return [
        1 - max(max(normalised(j, i) - normalised(i, j), 0) for j in others(i, n)) for i in range(n)
    ]


def divergence(p, full, weights=None):
    """GALAR (4); 0 log 0 = 0, and infinite where p rules out what r does not."""
    total = 0.0
    pairs = list(itertools.combinations(range(len(full)), 2))
    for k, (i, j) in enumerate(pairs):
        mu = p[i] / (p[i] + p[j])
        for r, m in ((float(full[i][j]), mu), (float(full[j][i]), 1 - mu)):
            if r > 0:
                total += (1.0 if weights is None else weights[k]) * (
                    math.inf if m <= 0 else r * math.log(r / m)
                )
    return total


def disagreement(p, full):
    """GALAR (18)."""
    n = len(full)
    return sum(
        (float(full[j][i]) * p[i] - float(full[i][j]) * p[j]) ** 2
        for i in range(n)
        for j in others(i, n)
    )


def consistent(p):
    """Return the r of given class probabilities, in the order (0, 1), (0, 2), ..."""
    return np.array([p[i] / (p[i] + p[j]) for i, j in itertools.combinations(range(len(p)), 2)])


# -------------------------------------------------------------------------------------- any code


def induced(p, matrix):
    """Return the probability of the positive side of every column given either side."""
    result = []
    for word in np.asarray(matrix).T:
        plus = sum(p[m] for m in range(len(p)) if word[m] > 0)
        minus = sum(p[m] for m in range(len(p)) if word[m] < 0)
        result.append(plus / (plus + minus))
    return np.array(result)


def hamming(row, word):
    """Return the distance of answers to a codeword; a zero on either side costs 1/2."""
    total = Fraction(0)
    for f, bit in zip(row, word, strict=True):
        if bit == 0 or f == 0:
            total += Fraction(1, 2)
        elif (f > 0) != (bit > 0):
            total += 1
    return total


LOSSES = {
    "hinge": lambda z: max(0.0, 1.0 - z),
    "exponential": lambda z: math.exp(-z),
    "logistic": lambda z: math.log1p(math.exp(-z)) if z > -30 else -z + math.exp(z),
    "squared": lambda z: (1.0 - z) ** 2,
    "linear": lambda z: -z,
}


def loss(row, word, name, dont_care):
    total = 0.0
    for f, bit in zip(row, word, strict=True):
        if bit != 0:
            total += LOSSES[name](bit * f)
        elif dont_care == "loss_at_zero":
            total += LOSSES[name](0.0)
    return total


def bayes_product(likelihoods, matrix, priors):
    """VANGESTEL (18); `likelihoods` is a list of (negative, positive), one a column."""
    p = []
    for m, word in enumerate(matrix):
        product = priors[m]
        for (negative, positive), bit in zip(likelihoods, word, strict=True):
            product *= positive if bit > 0 else negative
        p.append(product)
    return [value / sum(p) for value in p]


def bayes_sequential(likelihoods, matrix, priors):
    """VANGESTEL (20), multiplied by what the concerned classes had before."""
    p = list(priors)
    for (negative, positive), word in zip(likelihoods, np.asarray(matrix).T, strict=True):
        p = _updated(p, negative, positive, word)
    return p


def bayes_printed(likelihoods, matrix, priors):
    """VANGESTEL (20) as printed: the concerned classes get 1 in all, the others keep theirs."""
    p = list(priors)
    for (negative, positive), word in zip(likelihoods, np.asarray(matrix).T, strict=True):
        concerned = [m for m in range(len(p)) if word[m] != 0]
        new = {m: p[m] * (positive if word[m] > 0 else negative) for m in concerned}
        p = [new[m] / sum(new.values()) if m in new else p[m] for m in range(len(p))]
    return [value / sum(p) for value in p]


def bayes_parallel(likelihoods, matrix, priors):
    """Every column's update starts from the priors; the updates are multiplied."""
    p = list(priors)
    for (negative, positive), word in zip(likelihoods, np.asarray(matrix).T, strict=True):
        updated = _updated(priors, negative, positive, word)
        p = [a * u / q for a, u, q in zip(p, updated, priors, strict=True)]
    return [value / sum(p) for value in p]


def _updated(p, negative, positive, word):
    concerned = [m for m in range(len(p)) if word[m] != 0]
    mass = sum(p[m] for m in concerned)
    new = {m: p[m] * (positive if word[m] > 0 else negative) for m in concerned}
    total = sum(new.values())
    return [mass * new[m] / total if m in new else p[m] for m in range(len(p))]


# -------------------------------------------------------------------------------------- soft-max


def class_exponents(row, kind, weights):
    """Return the exponents of DUAN03 (1) or (7); `row` holds the canonical scores of one row."""
    n = len(weights)
    if kind == "one_vs_rest":
        return [weights[k][0] * row[k] + weights[k][1] for k in range(n)]
    f = {}
    for (i, j), value in zip(itertools.combinations(range(n), 2), row, strict=True):
        f[i, j], f[j, i] = value, -value
    return [
        sum(w * f[k, t] for w, t in zip(weights[k][:-1], others(k, n), strict=True))
        + weights[k][-1]
        for k in range(n)
    ]


def soft_max(row, kind, weights):
    z = class_exponents(row, kind, weights)
    e = [math.exp(value - max(z)) for value in z]
    return [value / sum(e) for value in e]


# ---------------------------------------------------------------------------------------- toys


def toy_scorer(X, y, rows, matrix):
    """Train one-vs-one machines: nearer to one class's mean than to the other's."""
    ends = []
    for word in np.asarray(matrix).T:
        i, j = int(np.argmax(word)), int(np.argmin(word))
        centre = [X[[r for r in rows if y[r] == k]].mean(axis=0) for k in (i, j)]
        ends.append(centre)

    def scores(points):
        return np.array(
            [[((x - b) ** 2).sum() - ((x - a) ** 2).sum() for a, b in ends] for x in points]
        ).reshape(len(points), len(ends))

    return scores
