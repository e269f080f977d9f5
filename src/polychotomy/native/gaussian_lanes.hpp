// The Gaussian kernel of inner products or distances: plain loops, which compilers turn into lanes.
//
// Compiled once per instruction set, under the rules of lanes.hpp: the including file defines
// POLYCHOTOMY_LANES, everything is in an unnamed namespace, and no function of the standard
// library is used.

#include <cstring>

#include "svm_block.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {

// exp for -700 <= x <= 0, as in lanes.hpp: 2^n times a Taylor polynomial.
inline double exponential(double x) {
    constexpr double shifter = 0x1.8p52;
    const double shifted = x * 0x1.71547652b82fep0 + shifter;    // x / log(2), rounded
    const double n = shifted - shifter;
    const double rest = (x - n * 0x1.62e42fefa38p-1) - n * 0x1.ef35793c7673p-45;
    double sum = 1.0 / 6227020800.0;
    sum = sum * rest + 1.0 / 479001600.0;
    sum = sum * rest + 1.0 / 39916800.0;
    sum = sum * rest + 1.0 / 3628800.0;
    sum = sum * rest + 1.0 / 362880.0;
    sum = sum * rest + 1.0 / 40320.0;
    sum = sum * rest + 1.0 / 5040.0;
    sum = sum * rest + 1.0 / 720.0;
    sum = sum * rest + 1.0 / 120.0;
    sum = sum * rest + 1.0 / 24.0;
    sum = sum * rest + 1.0 / 6.0;
    sum = sum * rest + 0.5;
    sum = sum * rest + 1.0;
    sum = sum * rest + 1.0;
    // The low bits of `shifted` are n: put them into the exponent.
    unsigned long long bits, power;
    std::memcpy(&bits, &sum, sizeof bits);
    std::memcpy(&power, &shifted, sizeof power);
    bits += power << 52;
    std::memcpy(&sum, &bits, sizeof sum);
    return sum;
}

// Rounding can make a distance negative; NaN stays.
inline double bounded_exponential(double x) {
    const double most = x > 0.0 ? 0.0 : x;
    return exponential(most < -700.0 ? -700.0 : most);
}

inline void gaussian_of_products(const GaussianProducts& given) {
    const double twice = 2.0 * given.gamma;
    for (size_t i = 0; i < given.n_rows; ++i) {
        double* row = given.products + i * given.n_columns;
        const double own = given.row_terms[i];
        for (size_t j = 0; j < given.n_columns; ++j) {
            const double raw = (twice * row[j] - own) - given.column_terms[j];
            row[j] = bounded_exponential(raw);
        }
    }
}

inline void gaussian_of_distances(const double* distances, double* kernel, size_t count,
                                  double gamma) {
    for (size_t k = 0; k < count; ++k) kernel[k] = bounded_exponential(-gamma * distances[k]);
}

}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
