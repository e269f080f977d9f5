// Lanes, registers of several numbers, and functions of them.
//
// The files *_lanes.hpp are compiled once per instruction set, by lanes_baseline.cpp and
// lanes_avx2.cpp. These define POLYCHOTOMY_LANES, the name of a namespace, and
// POLYCHOTOMY_LANE_COUNT, the number of doubles in a register. Two rules hold in all of them:
//
// - Everything is in an unnamed namespace, and the standard library is not used, except for what
//   compilers replace by instructions (memcpy). The linker keeps one copy of a function that two
//   files share. If that were the AVX2 one, the module would crash on older processors.
// - Loops have no order among lanes: a row gets the same result whatever rows are beside it.
//
// Vector types of the compiler were chosen over intrinsics, which would need one version of the
// code for each instruction set, and over loops left to the compiler, which it does not always
// vectorise.
#pragma once

#include <cstddef>
#include <cstring>

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {

using std::size_t;

// The types that belong to a register of Reals. A Mask is the result of a comparison.
template <class Real>
struct Register;

#if (defined(__GNUC__) || defined(__clang__)) && !defined(POLYCHOTOMY_PLAIN_LANES)

template <>
struct Register<double> {
    static constexpr size_t width = POLYCHOTOMY_LANE_COUNT;
    typedef double Lane __attribute__((vector_size(8 * POLYCHOTOMY_LANE_COUNT)));
    typedef long long Integers __attribute__((vector_size(8 * POLYCHOTOMY_LANE_COUNT)));
    typedef long long Integer;
    typedef Integers Mask;
};

template <>
struct Register<float> {
    static constexpr size_t width = 2 * POLYCHOTOMY_LANE_COUNT;
    typedef float Lane __attribute__((vector_size(8 * POLYCHOTOMY_LANE_COUNT)));
    typedef int Integers __attribute__((vector_size(8 * POLYCHOTOMY_LANE_COUNT)));
    typedef int Integer;
    typedef Integers Mask;
};

template <class Any>
inline auto at(const Any& lane, size_t w) {
    return lane[w];
}
template <class Any, class Entry>
inline void set(Any& lane, size_t w, Entry value) {
    lane[w] = value;
}
template <class Mask>
inline Mask opposite(Mask mask) {
    return ~mask;
}

#else

// One number at a time, for compilers without vector types.
template <class Real>
struct Register {
    static constexpr size_t width = 1;
    typedef Real Lane;
    typedef long long Integers;
    typedef long long Integer;
    typedef bool Mask;
};

template <class Any>
inline Any at(const Any& lane, size_t) {
    return lane;
}
template <class Any, class Entry>
inline void set(Any& lane, size_t, Entry value) {
    lane = value;
}
inline bool opposite(bool mask) { return !mask; }

#endif

template <class Real>
using LaneOf = typename Register<Real>::Lane;
template <class Real>
using IntegersOf = typename Register<Real>::Integers;
template <class Real>
using IntegerOf = typename Register<Real>::Integer;

// Most loops are in double precision.
typedef Register<double>::Lane Lane;
typedef Register<double>::Integers Bits;
typedef Register<double>::Mask Mask;
constexpr size_t W = Register<double>::width;

template <class Real>
inline LaneOf<Real> all(Real x) {
    return x - LaneOf<Real>{};
}
template <class Real>
inline IntegersOf<Real> all_integers(IntegerOf<Real> x) {
    return x - IntegersOf<Real>{};
}
template <class Real>
inline LaneOf<Real> load(const Real* from) {
    LaneOf<Real> lane;
    std::memcpy(&lane, from, sizeof lane);
    return lane;
}
template <class Real>
inline void store(Real* to, LaneOf<Real> lane) {
    std::memcpy(to, &lane, sizeof lane);
}
inline double total(Lane x) {
    double sum = at(x, 0);
    for (size_t w = 1; w < W; ++w) sum += at(x, w);
    return sum;
}
inline Lane larger(Lane x, Lane y) { return x > y ? x : y; }
inline Lane smaller(Lane x, Lane y) { return x < y ? x : y; }
inline bool every(Mask mask) {
    long long both = -1;
    for (size_t w = 0; w < W; ++w) both &= at(mask, w);
    return both != 0;
}
inline Bits bits_of(Lane x) {
    Bits bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline Lane from_bits(Bits x) {
    Lane lane;
    std::memcpy(&lane, &x, sizeof lane);
    return lane;
}

// exp for |x| <= 700: 2^n times a Taylor polynomial on [-log(2)/2, log(2)/2]. The first term left
// out is 4e-18.
inline Lane exponential(Lane x) {
    const Lane shifter = all(0x1.8p52);
    const Lane shifted = x * 0x1.71547652b82fep0 + shifter;    // x / log(2), rounded
    const Lane n = shifted - shifter;
    const Lane rest = (x - n * 0x1.62e42fefa38p-1) - n * 0x1.ef35793c7673p-45;
    const double inverse_factorials[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0,
                                         1.0 / 3628800.0,    1.0 / 362880.0,    1.0 / 40320.0,
                                         1.0 / 5040.0,       1.0 / 720.0,       1.0 / 120.0,
                                         1.0 / 24.0,         1.0 / 6.0,         0.5,
                                         1.0,                1.0};
    Lane sum = all(inverse_factorials[0]);
    for (int k = 1; k < 14; ++k) sum = sum * rest + inverse_factorials[k];
    // The low bits of `shifted` are n: put them into the exponent.
    return from_bits(bits_of(sum) + (bits_of(shifted) << 52));
}

// exp for x <= 0 which is 0 below -350: products of two results are not subnormal, and fast.
inline Lane vanishing_exponential(Lane x) {
    const Lane least = all(-350.0);
    return x > least ? exponential(larger(x, least)) : all(0.0);
}

// log for normal x > 0: x = 2^n m with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh((m - 1) / (m + 1)).
// The first term left out is 1e-18.
inline Lane logarithm(Lane x) {
    const Bits root_half = all_integers<double>(0x3fe6a09e667f3bcdLL);
    const Bits n = (bits_of(x) - root_half) >> 52;
    const Lane m = from_bits(bits_of(x) - (n << 52));
    const Bits offset = all_integers<double>(0x4338000000000000LL);    // of 1.5 * 2^52
    const Lane exponent = from_bits(n + offset) - 0x1.8p52;
    const Lane t = (m - 1.0) / (m + 1.0);
    const Lane square = t * t;
    Lane sum = all(1.0 / 23.0);
    for (int k = 21; k > 0; k -= 2) sum = sum * square + 1.0 / k;
    return exponent * 0x1.62e42fefa39efp-1 + 2.0 * t * sum;
}

}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
