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

}    // namespace gaussian
}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
