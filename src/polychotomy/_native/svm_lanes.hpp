// The passes of svm_passes.hpp, several rows at once.
//
// Compiled once per instruction set, under the rules of lanes.hpp: the including file defines
// POLYCHOTOMY_LANES and POLYCHOTOMY_LANE_COUNT, everything is in an unnamed namespace, and no
// function of the standard library is used.

#include <cmath>
#include <cstring>

#include "svm_passes.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {

#if defined(__GNUC__) || defined(__clang__)

constexpr size_t W = POLYCHOTOMY_LANE_COUNT;
typedef double Lane __attribute__((vector_size(8 * POLYCHOTOMY_LANE_COUNT)));
typedef long long Count __attribute__((vector_size(8 * POLYCHOTOMY_LANE_COUNT)));

inline Lane all(double x) { return x - Lane{}; }
inline Count all_counts(long long x) { return x - Count{}; }
inline Lane load(const double* from) {
    Lane lane;
    std::memcpy(&lane, from, sizeof lane);
    return lane;
}
inline void store(double* to, Lane lane) { std::memcpy(to, &lane, sizeof lane); }
inline double at(const Lane& lane, size_t w) { return lane[w]; }
inline size_t at(const Count& lane, size_t w) { return static_cast<size_t>(lane[w]); }
inline Count first_rows() {
    Count rows;
    for (size_t w = 0; w < W; ++w) rows[w] = static_cast<long long>(w);
    return rows;
}

#else

// One row at a time for compilers without vector types.
constexpr size_t W = 1;
typedef double Lane;
typedef long long Count;

inline Lane all(double x) { return x; }
inline Count all_counts(long long x) { return x; }
inline Lane load(const double* from) { return *from; }
inline void store(double* to, Lane lane) { *to = lane; }
inline double at(Lane lane, size_t) { return lane; }
inline size_t at(Count lane, size_t) { return static_cast<size_t>(lane); }
inline Count first_rows() { return 0; }

#endif

constexpr double infinity = HUGE_VAL;

// The largest value of a stream of lanes and where it was, lane by lane.
struct Largest {
    Lane value;
    Count row;

    explicit Largest(double start) : value(all(start)), row(all_counts(-1)) {}
    void see(Lane candidate, Count here) {
        const auto better = candidate > value;
        value = better ? candidate : value;
        row = better ? here : row;
    }
};

// The largest quotient of a stream, found without a division: a / b > c / d if ad > cb.
struct LargestQuotient {
    Lane top = all(0.0), bottom = all(1.0);
    Count row = all_counts(-1);

    void see(Lane new_top, Lane new_bottom, Count here) {
        const auto better = new_top * bottom > top * new_bottom;
        top = better ? new_top : top;
        bottom = better ? new_bottom : bottom;
        row = better ? here : row;
    }
    Largest quotient() const {
        Largest found(0.0);
        found.see(top / bottom, row);
        return found;
    }
};

struct Best {
    double value;
    size_t row;
};

// The best of two streams over the even and the odd blocks; the smallest row among equals. There
// are no branches, which could hardly be predicted.
inline Best best_of(const Largest& even, const Largest& odd) {
    const Lane values = odd.value > even.value ? odd.value : even.value;
    double value = at(values, 0);
    for (size_t w = 1; w < W; ++w) value = at(values, w) > value ? at(values, w) : value;
    const Lane target = all(value);
    const Count last = all_counts(-1);
    // As unsigned numbers the rows of what is not the best are larger than any other.
    const Count even_rows = even.value == target ? even.row : last;
    const Count odd_rows = odd.value == target ? odd.row : last;
    size_t row = no_row;
    for (size_t w = 0; w < W; ++w) {
        row = at(even_rows, w) < row ? at(even_rows, w) : row;
        row = at(odd_rows, w) < row ? at(odd_rows, w) : row;
    }
    return {value, row};
}

SvmExtremes step(double* residual, const double* rising, const double* falling, double amount,
                 const double* bar, size_t n) {
    const Lane factor = all(amount), zero = all(0.0);
    Largest up_even(-infinity), up_odd(-infinity);
    Lane low_even = all(infinity), low_odd = all(infinity);
    Count here = first_rows();
    const auto advance = [&](size_t k, Largest& up, Lane& low) {
        const Lane r = load(residual + k) - factor * (load(rising + k) - load(falling + k));
        store(residual + k, r);
        // The forms of these comparisons let NaN, which bars both, through to the sums.
        const Lane both = load(bar + k), up_bar = both > zero ? zero : both;
        const Lane low_value = r + (both < zero ? zero : both);
        up.see(r + up_bar, here);
        low = low_value < low ? low_value : low;
        here += static_cast<long long>(W);
    };
    for (size_t k = 0; k < n; k += 2 * W) {
        advance(k, up_even, low_even);
        advance(k + W, up_odd, low_odd);
    }
    const Best best = best_of(up_even, up_odd);
    const Lane low = low_even < low_odd ? low_even : low_odd;
    double least = at(low, 0);
    for (size_t w = 1; w < W; ++w) least = at(low, w) < least ? at(low, w) : least;
    return {best.value, best.row, least};
}

template <bool equal_diagonal>
size_t find_partner(const SvmPartnerSearch& search, const double* row, size_t n) {
    const Lane own = all(search.own_residual), own_diagonal = all(search.own_diagonal);
    const Lane least = all(search.least_curvature), zero = all(0.0);
    LargestQuotient even, odd;
    Count here = first_rows();
    const auto look = [&](size_t k, LargestQuotient& largest) {
        const Lane both = load(search.bar + k), low_bar = both < zero ? zero : both;
        const Lane gap = own - (load(search.residual + k) + low_bar);
        const Lane right = gap > zero ? gap : zero;
        const Lane other = equal_diagonal ? own_diagonal : load(search.diagonal + k);
        const Lane raw = own_diagonal + other - 2.0 * load(row + k);
        const Lane curvature = raw > least ? raw : least;
        largest.see(right * right, curvature, here);
        here += static_cast<long long>(W);
    };
    for (size_t k = 0; k < n; k += 2 * W) {
        look(k, even);
        look(k + W, odd);
    }
    return best_of(even.quotient(), odd.quotient()).row;
}

size_t partner(const SvmPartnerSearch& search, const double* row, size_t n) {
    return search.diagonal ? find_partner<false>(search, row, n) : find_partner<true>(search, row, n);
}

void subtract(double* residual, const double* row, double amount, size_t n) {
    const Lane factor = all(amount);
    for (size_t k = 0; k < n; k += W)
        store(residual + k, load(residual + k) - factor * load(row + k));
}

}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
