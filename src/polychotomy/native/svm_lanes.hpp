// The passes of svm_passes.hpp, several rows at once; see lanes.hpp for the rules.
#pragma once

#include <cmath>

#include "lanes.hpp"
#include "svm_passes.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {
namespace svm {

template <class Real>
inline IntegersOf<Real> first_rows() {
    IntegersOf<Real> rows{};
    for (size_t w = 0; w < Register<Real>::width; ++w)
        set(rows, w, static_cast<IntegerOf<Real>>(w));
    return rows;
}

// The largest value of a stream of lanes and where it was, lane by lane.
template <class Real>
struct Largest {
    LaneOf<Real> value;
    IntegersOf<Real> row;

    explicit Largest(Real start) : value(all(start)), row(all_integers<Real>(-1)) {}
    void see(LaneOf<Real> candidate, IntegersOf<Real> here) {
        const auto better = candidate > value;
        value = better ? candidate : value;
        row = better ? here : row;
    }
};

// The largest quotient of a stream, found without a division: a / b > c / d if ad > cb. Divisions
// took most of the time of this loop.
template <class Real>
struct LargestQuotient {
    LaneOf<Real> top = all(Real(0)), bottom = all(Real(1));
    IntegersOf<Real> row = all_integers<Real>(-1);

    void see(LaneOf<Real> new_top, LaneOf<Real> new_bottom, IntegersOf<Real> here) {
        const auto better = new_top * bottom > top * new_bottom;
        top = better ? new_top : top;
        bottom = better ? new_bottom : bottom;
        row = better ? here : row;
    }
    Largest<Real> quotient() const {
        Largest<Real> found(Real(0));
        found.see(top / bottom, row);
        return found;
    }
};

template <class Real>
struct Best {
    Real value;
    size_t row;
};

// The best of two streams over the even and the odd blocks; the smallest row among equals. There
// are no branches, because the processor could not predict them.
template <class Real>
inline Best<Real> best_of(const Largest<Real>& even, const Largest<Real>& odd) {
    constexpr size_t W = Register<Real>::width;
    const LaneOf<Real> values = odd.value > even.value ? odd.value : even.value;
    Real value = at(values, 0);
    for (size_t w = 1; w < W; ++w) value = at(values, w) > value ? at(values, w) : value;
    const LaneOf<Real> target = all(value);
    const IntegersOf<Real> none = all_integers<Real>(-1);
    // Rows that are not the best become -1, which is larger than any row as an unsigned number.
    const IntegersOf<Real> even_rows = even.value == target ? even.row : none;
    const IntegersOf<Real> odd_rows = odd.value == target ? odd.row : none;
    size_t row = no_row;
    for (size_t w = 0; w < W; ++w) {
        const auto first = static_cast<size_t>(at(even_rows, w));
        const auto second = static_cast<size_t>(at(odd_rows, w));
        row = first < row ? first : row;
        row = second < row ? second : row;
    }
    return {value, row};
}

template <class Real>
SvmViolatingPair update(Real* output, const Real* row_i, const Real* row_j, Real delta,
                        const Real* up_level, const Real* low_level, size_t n) {
    constexpr size_t W = Register<Real>::width;
    constexpr Real infinity = static_cast<Real>(HUGE_VAL);
    const LaneOf<Real> factor = all(delta);
    Largest<Real> up_even(-infinity), up_odd(-infinity);
    LaneOf<Real> low_even = all(infinity), low_odd = all(infinity);
    IntegersOf<Real> here = first_rows<Real>();
    const auto advance = [&](size_t k, Largest<Real>& up, LaneOf<Real>& low) {
        const LaneOf<Real> moved = load(output + k) + factor * (load(row_i + k) - load(row_j + k));
        store(output + k, moved);
        up.see(load(up_level + k) - moved, here);
        const LaneOf<Real> gradient = load(low_level + k) - moved;
        low = gradient < low ? gradient : low;
        here += static_cast<IntegerOf<Real>>(W);
    };
    for (size_t k = 0; k < n; k += 2 * W) {
        advance(k, up_even, low_even);
        advance(k + W, up_odd, low_odd);
    }
    const Best<Real> best = best_of(up_even, up_odd);
    const LaneOf<Real> low = low_even < low_odd ? low_even : low_odd;
    Real least = at(low, 0);
    for (size_t w = 1; w < W; ++w) least = at(low, w) < least ? at(low, w) : least;
    return {best.value, best.row, least, no_row};
}

template <class Real>
SvmViolatingPair find_pair(const Real* output, const Real* up_level, const Real* low_level,
                           size_t n) {
    constexpr size_t W = Register<Real>::width;
    constexpr Real infinity = static_cast<Real>(HUGE_VAL);
    Largest<Real> up_even(-infinity), up_odd(-infinity), low_even(-infinity), low_odd(-infinity);
    IntegersOf<Real> here = first_rows<Real>();
    const auto see = [&](size_t k, Largest<Real>& up, Largest<Real>& low) {
        const LaneOf<Real> value = load(output + k);
        up.see(load(up_level + k) - value, here);
        low.see(value - load(low_level + k), here);
        here += static_cast<IntegerOf<Real>>(W);
    };
    for (size_t k = 0; k < n; k += 2 * W) {
        see(k, up_even, low_even);
        see(k + W, up_odd, low_odd);
    }
    const Best<Real> up = best_of(up_even, up_odd), low = best_of(low_even, low_odd);
    return {up.value, up.row, -static_cast<double>(low.value), low.row};
}

template <bool equal_diagonal, class Real>
size_t select_j_by_gain(const SvmSecondOrder<Real>& search, const Real* row_i, size_t n) {
    constexpr size_t W = Register<Real>::width;
    const LaneOf<Real> G_i = all(search.G_i), K_ii = all(search.K_ii);
    const LaneOf<Real> least = all(search.least_curvature), zero = all(Real(0));
    LargestQuotient<Real> even, odd;
    IntegersOf<Real> here = first_rows<Real>();
    const auto look = [&](size_t k, LargestQuotient<Real>& largest) {
        const LaneOf<Real> gap = G_i - (load(search.low_level + k) - load(search.output + k));
        const LaneOf<Real> violation = gap > zero ? gap : zero;
        const LaneOf<Real> K_jj = equal_diagonal ? K_ii : load(search.diagonal + k);
        const LaneOf<Real> raw = K_ii + K_jj - Real(2) * load(row_i + k);
        const LaneOf<Real> curvature = raw > least ? raw : least;
        largest.see(violation * violation, curvature, here);
        here += static_cast<IntegerOf<Real>>(W);
    };
    for (size_t k = 0; k < n; k += 2 * W) {
        look(k, even);
        look(k + W, odd);
    }
    return best_of(even.quotient(), odd.quotient()).row;
}

template <class Real>
size_t select_j(const SvmSecondOrder<Real>& search, const Real* row_i, size_t n) {
    return search.diagonal ? select_j_by_gain<false>(search, row_i, n)
                           : select_j_by_gain<true>(search, row_i, n);
}

// Four rows at a time, so that the sums are read and written once for all of them. The compiler
// vectorises this loop, which may mix two precisions.
template <class Real>
void add_rows(double* sums, const Real* const* rows, const double* amounts, size_t count,
              size_t n) {
    size_t j = 0;
    for (; j + 4 <= count; j += 4) {
        const Real *first = rows[j], *second = rows[j + 1], *third = rows[j + 2],
                   *fourth = rows[j + 3];
        const double a = amounts[j], b = amounts[j + 1], c = amounts[j + 2], d = amounts[j + 3];
        for (size_t k = 0; k < n; ++k)
            sums[k] += (a * first[k] + b * second[k]) + (c * third[k] + d * fourth[k]);
    }
    for (; j < count; ++j) {
        const Real* row = rows[j];
        const double amount = amounts[j];
        for (size_t k = 0; k < n; ++k) sums[k] += amount * row[k];
    }
}

template <class Real>
constexpr SvmPasses<Real> passes() {
    return {update<Real>, find_pair<Real>, select_j<Real>, add_rows<Real>};
}

}    // namespace svm
}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
