"""Statistics against SciPy, hand computations, enumeration, and published examples."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from polychotomy import statistics
from polychotomy.statistics import (
    Printed,
    Summary,
    average_ranks,
    compare_with_printed,
    corrected_t_test,
    critical_difference,
    friedman_test,
    indistinguishable,
    paired_t_test,
    rank_methods,
    summarise,
    wilcoxon_test,
)

NAN = float("nan")
few = settings(max_examples=40, deadline=None)
# Coarse values make ties and zeros common.
coarse = st.integers(-4, 4).map(float)

# Demsar (2006), Table 6: areas under the curve of C4.5 with and without tuning of m and cf on 14
# data sets. (The third and fourth figure of voting are both printed as 0.975, but ranked 2 and 3.)
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.975, 0.9749],
        [0.957, 0.978, 0.946, 0.970],
    ]
)
METHODS = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]


# Mean and deviation


def test_mean_and_deviation_by_hand():
    summary = summarise([2.0, 4.0, 4.0, 6.0])
    assert summary.mean == 4.0
    assert summary.deviation == pytest.approx(math.sqrt(8 / 3))
    assert summary.standard_error == pytest.approx(math.sqrt(8 / 3) / 2)
    assert (summary.n_runs, summary.n_failed) == (4, 0)


def test_failed_runs_are_left_out_and_counted():
    summary = summarise([1.0, NAN, 3.0])
    assert (summary.mean, summary.n_runs, summary.n_failed) == (2.0, 2, 1)
    assert "1 failed" in str(summary)


@pytest.mark.parametrize("values", [[], [NAN, NAN], [5.0]])
def test_too_few_runs_have_no_deviation(values):
    summary = summarise(values)
    assert math.isnan(summary.deviation)
    assert math.isnan(summary.standard_error)
    assert math.isnan(summary.mean) == (values != [5.0])


# The paired t-test


@few
@given(
    st.lists(st.tuples(coarse, coarse), min_size=2, max_size=30),
    st.sampled_from(["less", "greater", "two-sided"]),
)
def test_paired_t_test_is_scipys(pairs, alternative):
    first, second = np.array(pairs).T
    found = paired_t_test(first, second, alternative)
    if np.ptp(first - second) > 0:
        expected = stats.ttest_rel(first, second, alternative=alternative)
        assert_allclose([found.statistic, found.p_value], expected, rtol=1e-10)
    # Swapping the methods swaps the tails.
    other = {"less": "greater", "greater": "less"}.get(alternative, alternative)
    swapped = paired_t_test(second, first, other)
    assert swapped.p_value == pytest.approx(found.p_value)


def test_equal_differences():
    for value, p in ((0.0, 0.5), (-0.1, 0.0), (0.1, 1.0)):
        first = np.array([0.1, 0.2, 0.4, 0.7])
        second = first - value
        # Exactly equal differences, and differences that are equal up to rounding.
        found = paired_t_test(np.full(4, value), np.zeros(4))
        assert found.p_value == p
        assert paired_t_test(first, second).p_value == pytest.approx(p, abs=1e-9)
    nothing = paired_t_test([1.0, 2.0], [1.0, 2.0], "two-sided")
    assert (nothing.statistic, nothing.p_value, nothing.difference) == (0.0, 1.0, 0.0)


def test_pairs_with_a_failed_run_are_left_out():
    first, second = [1.0, NAN, 3.0, 4.0, 2.0], [2.0, 1.0, NAN, 6.0, 2.5]
    for test in (paired_t_test, wilcoxon_test):
        found, complete = test(first, second), test([1.0, 4.0, 2.0], [2.0, 6.0, 2.5])
        assert found == replace(complete, n_dropped=2)
        assert "2 left out" in str(found)


def test_too_few_pairs_cannot_be_judged():
    for found in (
        paired_t_test([1.0], [2.0]),
        paired_t_test([NAN, 1.0], [1.0, 2.0]),
        wilcoxon_test([NAN], [1.0]),
    ):
        assert math.isnan(found.statistic)
        assert math.isnan(found.p_value)


# The corrected resampled t-test


def test_corrected_t_test_by_hand():
    # Differences -1, -2, -3: mean -2, deviation 1; 2/3 against 1/3.
    found = corrected_t_test([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], test_to_train=0.5)
    assert found.statistic == pytest.approx(-2 / math.sqrt(1 / 3 + 0.5))
    assert found.p_value == pytest.approx(stats.t.cdf(found.statistic, df=2))


def test_correction_widens_the_plain_test():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 10))
    plain = paired_t_test(first, second, "two-sided")
    narrow, wide = (
        corrected_t_test(first, second, test_to_train=ratio, alternative="two-sided")
        for ratio in (1e-12, 0.5)
    )
    assert narrow.p_value == pytest.approx(plain.p_value)
    # For 10 runs of 2/3 to 1/3 the variance is six times as large.
    assert wide.statistic == pytest.approx(plain.statistic / math.sqrt(6))


def test_correction_keeps_the_level_where_the_plain_test_does_not():
    """Two methods that are alike, judged on many partitions of one sample."""
    rng = np.random.default_rng(1)
    n_rows, n_runs, n_studies = 60, 15, 600
    claims = {"plain": 0, "corrected": 0}
    for _ in range(n_studies):
        # The difference on each row; a partition tests 20 of the 60 rows.
        rows = rng.normal(size=n_rows)
        tested = rng.permuted(np.tile(rows, (n_runs, 1)), axis=1)[:, :20].mean(axis=1)
        none, claim = np.zeros(n_runs), {"alternative": "two-sided"}
        claims["plain"] += paired_t_test(tested, none, **claim).p_value < 0.05
        corrected = corrected_t_test(tested, none, test_to_train=0.5, **claim)
        claims["corrected"] += corrected.p_value < 0.05
    # Four standard errors of a level of 0.05 are 0.036.
    assert abs(claims["corrected"] / n_studies - 0.05) < 0.036
    assert claims["plain"] / n_studies > 0.3


# Wilcoxon


def test_demsars_example_of_wilcoxon():
    # Section 3.1.3: sums of ranks 93 and 12, two zeros split; significant at 0.05 (12 <= 21).
    found = wilcoxon_test(DEMSAR[:, 0], DEMSAR[:, 1])
    assert found.statistic == 12.0
    assert found.p_value < 0.05
    assert wilcoxon_test(DEMSAR[:, 0], DEMSAR[:, 1], "less").p_value < 0.025


def enumerated_p_value(differences, alternative):
    """Return the p-value by trying all signs of the differences."""
    ranks = stats.rankdata(np.abs(differences))[differences != 0]
    observed = ranks[differences[differences != 0] > 0].sum()
    sums = np.array([np.dot(s, ranks) for s in itertools.product((0, 1), repeat=len(ranks))])
    low, high = np.mean(sums <= observed + 1e-9), np.mean(sums >= observed - 1e-9)
    return {"less": low, "greater": high, "two-sided": min(1.0, 2 * min(low, high))}[alternative]


@few
@given(
    st.lists(coarse, min_size=1, max_size=8).map(np.array),
    st.sampled_from(["less", "greater", "two-sided"]),
)
def test_wilcoxon_is_exact_with_ties_and_zeros(differences, alternative):
    found = wilcoxon_test(differences, np.zeros(len(differences)), alternative)
    assert found.p_value == pytest.approx(enumerated_p_value(differences, alternative))


@pytest.mark.parametrize("n", [3, 12, 40, 100])
def test_wilcoxon_without_ties_is_scipys(n):
    differences = np.random.default_rng(n).normal(0.3, 1.0, n)
    for alternative in ("less", "greater", "two-sided"):
        found = wilcoxon_test(differences, np.zeros(n), alternative)
        expected = stats.wilcoxon(differences, alternative=alternative, method="exact")
        assert found.p_value == pytest.approx(expected.pvalue)
        if alternative == "two-sided":
            assert found.statistic == expected.statistic


def test_wilcoxon_changes_over_to_the_normal_approximation(monkeypatch):
    differences = np.random.default_rng(0).normal(0.1, 1.0, 100).round(1)
    exact = wilcoxon_test(differences, np.zeros(100)).p_value
    monkeypatch.setattr(statistics._paired, "MOST_EXACT_PAIRS", 0)
    assert wilcoxon_test(differences, np.zeros(100)).p_value == pytest.approx(exact, rel=0.02)


def test_wilcoxon_with_all_differences_zero():
    found = wilcoxon_test([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert (found.statistic, found.p_value) == (3.0, 1.0)


# Ranks


def test_demsars_example_of_ranks():
    assert_allclose(
        average_ranks(DEMSAR, lower_is_better=False), [3.143, 2.0, 2.893, 1.964], atol=5e-4
    )
    found = friedman_test(DEMSAR, correct_ties=False)
    # Page 15: 9.28, and 3.69 with 3 and 39 degrees of freedom, whose critical value is 2.85.
    assert found.statistic == pytest.approx(9.28, abs=0.005)
    assert found.f_statistic == pytest.approx(3.69, abs=0.005)
    assert found.f_p_value < 0.05
    assert stats.f.sf(2.85, 3, 39) == pytest.approx(0.05, abs=5e-4)


@pytest.mark.parametrize(
    ("alpha", "quantiles"),
    [
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_demsars_table_of_critical_values(alpha, quantiles):
    # Table 5 (a), for 2 to 10 methods.
    for k, quantile in enumerate(quantiles, start=2):
        q = critical_difference(k, 1, alpha) / math.sqrt(k * (k + 1) / 6)
        assert q == pytest.approx(quantile, abs=1.1e-3)


def test_demsars_example_of_groups():
    # Page 16: the critical differences are 1.25 at 0.05 and 1.12 at 0.10; at 0.10 C4.5 differs
    # from C4.5+m and from C4.5+m+cf.
    strict = rank_methods(DEMSAR, METHODS, lower_is_better=False)
    loose = rank_methods(DEMSAR, METHODS, lower_is_better=False, alpha=0.10)
    assert strict.critical_difference == pytest.approx(1.25, abs=0.005)
    assert loose.critical_difference == pytest.approx(1.12, abs=0.005)
    assert strict.methods == ("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5")
    assert strict.groups == (strict.methods,)
    assert loose.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5"))


tables = st.tuples(st.integers(2, 8), st.integers(3, 6)).flatmap(
    lambda shape: st.lists(
        st.lists(coarse, min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    ).map(np.array)
)


@few
@given(tables)
def test_friedman_is_scipys_and_iman_davenport_an_analysis_of_variance(scores):
    found = friedman_test(scores)
    ranks = stats.rankdata(scores, axis=1)
    n, k = scores.shape
    total = ((ranks - ranks.mean()) ** 2).sum()
    if total == 0:
        assert (found.statistic, found.p_value, found.f_statistic, found.f_p_value) == (0, 1, 0, 1)
        return
    expected = stats.friedmanchisquare(*scores.T)
    assert_allclose([found.statistic, found.p_value], expected, rtol=1e-9, atol=1e-12)
    # F is that of a two-way analysis of variance of the ranks (Conover).
    methods = n * ((ranks.mean(axis=0) - ranks.mean()) ** 2).sum()
    rest = total - methods
    if rest > 1e-9:
        f = (methods / (k - 1)) / (rest / ((n - 1) * (k - 1)))
        assert found.f_statistic == pytest.approx(f)
    else:
        assert (found.f_statistic, found.f_p_value) == (np.inf, 0.0)


def test_friedman_p_value_by_permutation():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(8, 4)) + np.array([0.0, 0.2, 0.6, 0.9])
    found = friedman_test(scores)
    ranks = stats.rankdata(scores, axis=1)
    shuffled = rng.permuted(np.tile(ranks, (20_000, 1, 1)), axis=2)
    # With fixed rows the statistic grows with the squares of the methods' sums of ranks.
    p = np.mean((shuffled.sum(axis=1) ** 2).sum(axis=1) >= (ranks.sum(axis=0) ** 2).sum() - 1e-9)
    assert 0.005 < p < 0.5
    # Both are approximations; Iman and Davenport's is the nearer one.
    assert abs(found.f_p_value - p) < 0.01
    assert abs(found.f_p_value - p) < abs(found.p_value - p)


def test_data_sets_with_a_failed_run_are_left_out():
    holed = np.vstack([DEMSAR, [[0.5, NAN, 0.6, 0.7]]])
    assert_array_equal(average_ranks(holed), average_ranks(DEMSAR))
    found = rank_methods(holed, METHODS)
    assert found.ranks == rank_methods(DEMSAR, METHODS).ranks
    assert (found.friedman.n_data_sets, found.friedman.n_dropped) == (14, 1)
    assert "1 left out" in str(found)


def test_one_data_set_cannot_be_tested():
    found = rank_methods([[0.3, 0.1]], ["a", "b"])
    assert found.methods == ("b", "a")
    assert math.isnan(found.friedman.p_value)
    assert math.isnan(found.friedman.f_p_value)
    assert found.groups == (("b", "a"),)


def test_no_data_set_at_all():
    found = rank_methods([[0.3, NAN]], ["a", "b"])
    assert all(math.isnan(rank) for rank in found.ranks)
    assert math.isnan(found.critical_difference)
    assert found.groups == ()


@few
@given(st.lists(st.integers(0, 12).map(lambda r: r / 2), min_size=2, max_size=8), st.floats(0.1, 4))
def test_groups_are_the_largest_cliques(ranks, difference):
    groups = [set(group) for group in indistinguishable(ranks, difference)]
    alike = {
        frozenset(some)
        for size in range(2, len(ranks) + 1)
        for some in itertools.combinations(range(len(ranks)), size)
        if np.ptp(np.array(ranks)[list(some)]) < difference
    }
    largest = [some for some in alike if not any(some < other for other in alike)]
    assert sorted(map(sorted, groups)) == sorted(map(sorted, largest))


def test_ranks_as_far_apart_as_the_critical_difference_differ():
    assert indistinguishable([1.0, 2.0, 3.0], 1.0) == []
    assert indistinguishable([1.0, 2.0, 3.0], 1.001) == [(0, 1), (1, 2)]


# Printed results


def test_difference_to_a_printed_mean_by_hand():
    ours = Summary(mean=8.0, deviation=0.6, n_runs=9)
    found = compare_with_printed(ours, Printed(7.0, 0.8, 16))
    # sqrt(0.36 / 9 + 0.64 / 16) = sqrt(0.08)
    assert found.standard_error == pytest.approx(math.sqrt(0.08))
    assert found.standard_errors == found.at_least == pytest.approx(1 / math.sqrt(0.08))
    below = compare_with_printed(Summary(6.0, 0.6, 9), Printed(7.0, 0.8, 16))
    assert below.standard_errors == -found.standard_errors


def test_rounding_of_printed_values():
    ours = Summary(mean=7.70, deviation=0.5, n_runs=20)
    printed = Printed.parse("7.66±0.73", n_runs=20)
    found = compare_with_printed(ours, printed)
    # Anything the paper could have rounded to this gives at least as many standard errors.
    for mean in np.linspace(7.655, 7.665, 11):
        for deviation in np.linspace(0.725, 0.735, 11):
            exact = compare_with_printed(ours, Printed(mean, deviation, 20))
            assert exact.standard_errors >= found.at_least - 1e-12
    assert found.at_least == pytest.approx(0.035 / math.sqrt((0.25 + 0.735**2) / 20))
    # A difference within the rounding is none.
    assert compare_with_printed(Summary(7.664, 0.5, 20), printed).at_least == 0.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7.66±0.73", (7.66, 0.73, 0.01, 0.01)),
        ("87.5(2.7)", (87.5, 2.7, 0.1, 0.1)),
        ("92.0 (2.2)", (92.0, 2.2, 0.1, 0.1)),
        (".0452±.0378", (0.0452, 0.0378, 1e-4, 1e-4)),
        ("12 +- 3", (12, 3, 1, 1)),
    ],
)
def test_printed_results_are_read(text, expected):
    read = Printed.parse(text, n_runs=20)
    assert (read.mean, read.deviation, read.mean_unit, read.deviation_unit) == expected


def test_printed_differences_without_a_deviation():
    same, other = Printed(1.0, 0.0, 20), Printed(2.0, 0.0, 20)
    ours = Summary(1.0, 0.0, 20)
    assert compare_with_printed(ours, same).standard_errors == 0.0
    assert compare_with_printed(ours, other).standard_errors == -np.inf
    for lost in (summarise([]), summarise([1.0])):
        assert math.isnan(compare_with_printed(lost, other).standard_errors)


# Sentences


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: paired_t_test([1.0], [1.0, 2.0]), "they have 1 and 2 runs"),
        (lambda: paired_t_test([1.0, 2.0], [1.0, np.inf]), "second has an infinite value in run 1"),
        (lambda: paired_t_test([[1.0]], [[2.0]]), "first must have one dimension"),
        (lambda: paired_t_test([1.0], [1.0], "lesser"), "Did you mean 'less'"),
        (lambda: wilcoxon_test([1.0], [1.0], "both"), "Choose 'less', 'greater' or 'two-sided'"),
        (lambda: corrected_t_test([1.0], [1.0], test_to_train=0.0), "test_to_train must be"),
        (lambda: friedman_test([[1.0], [2.0]]), "two or more methods"),
        (lambda: rank_methods([[1.0, 2.0]], ["a"]), "must be 2 different names"),
        (lambda: rank_methods([[1.0, 2.0]], ["a", "a"]), "must be 2 different names"),
        (lambda: average_ranks([[1.0, np.inf]]), "scores has an infinite value in row 0"),
        (lambda: critical_difference(1, 5), "at least two methods"),
        (lambda: critical_difference(3, 5, alpha=5), "alpha must be between 0 and 1"),
        (lambda: Printed.parse("about 7", 20), "'about 7' is not a mean and deviation"),
        (lambda: compare_with_printed(Summary(1.0, 1.0, 2), Printed(1.0, 1.0, 0)), "at least 1"),
    ],
)
def test_bad_input_is_explained(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
