// The loops of gaussian_kernels.hpp, several entries at once; see lanes.hpp for the rules.
#pragma once

#include "gaussian_kernels.hpp"
#include "lanes.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {
namespace gaussian {

// Rounding can make a distance negative. NaN stays NaN.
inline Lane bounded_exponential(Lane x) {
    const Lane most = x > all(0.0) ? all(0.0) : x;
    return exponential(most < all(-700.0) ? all(-700.0) : most);
}

// The last entries of a row may be fewer than a lane.
inline Lane load_some(const double* from, size_t count) {
    double lane[W] = {};
    std::memcpy(lane, from, count * sizeof(double));
    return load(lane);
}
inline void store_some(double* to, Lane lane, size_t count) {
    std::memcpy(to, &lane, count * sizeof(double));
}

void of_products(const GaussianProducts& given) {
    const size_t n = given.n_columns, whole = n / W * W;
    const double twice = 2.0 * given.gamma;
    for (size_t i = 0; i < given.n_rows; ++i) {
        double* row = given.products + i * n;
        const double own = given.row_terms[i];
        const auto kernel = [&](Lane product, Lane term) {
            return bounded_exponential((twice * product - own) - term);
        };
        for (size_t j = 0; j < whole; j += W)
            store(row + j, kernel(load(row + j), load(given.column_terms + j)));
        if (whole < n)
            store_some(row + whole,
                       kernel(load_some(row + whole, n - whole),
                              load_some(given.column_terms + whole, n - whole)),
                       n - whole);
    }
}

void of_distances(const double* distances, double* kernel, size_t count, double gamma) {
    const size_t whole = count / W * W;
    for (size_t k = 0; k < whole; k += W)
        store(kernel + k, bounded_exponential(-gamma * load(distances + k)));
    if (whole < count)
        store_some(kernel + whole,
                   bounded_exponential(-gamma * load_some(distances + whole, count - whole)),
                   count - whole);
}

// exp for x <= 0, which is 0 below -87, where results would be subnormal: 2^n times a Taylor
// polynomial on [-log(2)/2, log(2)/2]. The first term left out is 5e-9. NaN stays NaN.
inline LaneOf<float> vanishing_exponential(LaneOf<float> x) {
    typedef LaneOf<float> Floats;
    typedef IntegersOf<float> Integers;
    const Floats zero = all(0.0f), least = all(-87.0f), shifter = all(0x1.8p23f);
    const Floats inside = x < least ? least : (x > zero ? zero : x);
    const Floats shifted = inside * 0x1.715476p0f + shifter;    // x / log(2), rounded
    const Floats n = shifted - shifter;
    const Floats rest = (inside - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
    const float inverse_factorials[] = {1.0f / 5040.0f, 1.0f / 720.0f, 1.0f / 120.0f, 1.0f / 24.0f,
                                        1.0f / 6.0f,    0.5f,          1.0f,          1.0f};
    Floats sum = all(inverse_factorials[0]);
    for (int k = 1; k < 8; ++k) sum = sum * rest + inverse_factorials[k];
    // The low bits of `shifted` are n: put them into the exponent.
    Integers bits{}, exponent{};
    std::memcpy(&bits, &sum, sizeof sum);
    std::memcpy(&exponent, &shifted, sizeof shifted);
    bits += exponent << 23;
    Floats result;
    std::memcpy(&result, &bits, sizeof result);
    return x < least ? zero : result;
}

void of_single_products(const SingleGaussianProducts& given) {
    constexpr size_t width = Register<float>::width;
    const size_t n = given.n_columns, whole = n / width * width;
    for (size_t i = 0; i < given.n_rows; ++i) {
        float* row = given.products + i * n;
        const float own = given.row_terms[i];
        for (size_t j = 0; j < whole; j += width)
            store(row + j,
                  vanishing_exponential((load(row + j) - own) - load(given.column_terms + j)));
        if (whole < n) {
            float products[width] = {}, terms[width] = {};
            std::memcpy(products, row + whole, (n - whole) * sizeof(float));
            std::memcpy(terms, given.column_terms + whole, (n - whole) * sizeof(float));
            store(products, vanishing_exponential((load(products) - own) - load(terms)));
            std::memcpy(row + whole, products, (n - whole) * sizeof(float));
        }
    }
}

}    // namespace gaussian
}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
