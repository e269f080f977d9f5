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

#endif

constexpr double infinity = HUGE_VAL;

// The largest value of a stream of lanes and where it was, lane by lane.
struct Largest {
    Lane value;
    Count block;

    explicit Largest(double start) : value(all(start)), block(all_counts(-1)) {}
    void see(Lane candidate, Count here) {
        const auto better = candidate > value;
        value = better ? candidate : value;
        block = better ? here : block;
    }
};

// The best of two streams over the even and the odd blocks; the smallest row among equals, so
// that the choice does not depend on the number of lanes.
struct Best {
    double value;
    size_t row;
};

inline void consider(Best& best, const Largest& stream) {
    for (size_t w = 0; w < W; ++w) {
        const double value = at(stream.value, w);
        const size_t block = at(stream.block, w);
        if (block == no_row) continue;
        const size_t row = block + w;
        if (value > best.value || (value == best.value && row < best.row)) best = {value, row};
    }
}

SvmExtremes step(double* residual, const double* rising, const double* falling, double amount,
                 SvmBars bars, size_t n) {
    const Lane factor = all(amount);
    Largest up_even(-infinity), up_odd(-infinity);
    Lane low_even = all(infinity), low_odd = all(infinity);
    Count here = all_counts(0);
    const auto advance = [&](size_t k, Largest& up, Lane& low) {
        const Lane r = load(residual + k) - factor * (load(rising + k) - load(falling + k));
        store(residual + k, r);
        up.see(r + load(bars.up + k), here);
        const Lane barred = r + load(bars.low + k);
        low = barred < low ? barred : low;
        here += static_cast<long long>(W);
    };
    for (size_t k = 0; k < n; k += 2 * W) {
        advance(k, up_even, low_even);
        advance(k + W, up_odd, low_odd);
    }
    Best best = {-infinity, no_row};
    consider(best, up_even);
    consider(best, up_odd);
    const Lane low = low_even < low_odd ? low_even : low_odd;
    double least = at(low, 0);
    for (size_t w = 1; w < W; ++w) least = at(low, w) < least ? at(low, w) : least;
    return {best.value, best.row, least};
}

size_t partner(const SvmPartnerSearch& search, const double* row, size_t n) {
    const Lane own = all(search.own_residual), own_diagonal = all(search.own_diagonal);
    const Lane least = all(search.least_curvature), zero = all(0.0);
    Largest even(0.0), odd(0.0);
    Count here = all_counts(0);
    const auto look = [&](size_t k, Largest& largest) {
        const Lane gap = own - (load(search.residual + k) + load(search.low_bar + k));
        const Lane right = gap > zero ? gap : zero;
        const Lane raw = own_diagonal + load(search.diagonal + k) - 2.0 * load(row + k);
        const Lane curvature = raw > least ? raw : least;
        largest.see(right * right / curvature, here);
        here += static_cast<long long>(W);
    };
    for (size_t k = 0; k < n; k += 2 * W) {
        look(k, even);
        look(k + W, odd);
    }
    Best best = {0.0, no_row};
    consider(best, even);
    consider(best, odd);
    return best.row;
}

void subtract(double* residual, const double* row, double amount, size_t n) {
    const Lane factor = all(amount);
    for (size_t k = 0; k < n; k += W)
        store(residual + k, load(residual + k) - factor * load(row + k));
}

}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
