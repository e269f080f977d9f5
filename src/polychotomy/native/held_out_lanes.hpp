// The loop of held_out_kernels.hpp with lanes along the test rows; see lanes.hpp for the rules.
#pragma once

#include "lanes.hpp"
#include "held_out_kernels.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {
namespace held_out {

// The sums of `values` values for two lanes of rows stay in registers over all terms. A sum is the
// same whatever other values are beside it.
template <size_t values>
void combine_tile(const double* const* rows, const double* weights, size_t n_terms,
                  size_t n_values, size_t n, size_t start, double* out) {
    Lane first[values] = {}, second[values] = {};
    for (size_t j = 0; j < n_terms; ++j) {
        const Lane low = load(rows[j] + start), high = load(rows[j] + start + W);
        const double* weight = weights + j * n_values;
#pragma GCC unroll 4
        for (size_t v = 0; v < values; ++v) {
            first[v] += weight[v] * low;
            second[v] += weight[v] * high;
        }
    }
    for (size_t v = 0; v < values; ++v) {
        store(out + v * n + start, first[v]);
        store(out + v * n + start + W, second[v]);
    }
}

void combine(const double* const* rows, const double* weights, size_t n_terms, size_t n_values,
             size_t n, double* out) {
    for (size_t start = 0; start < n; start += 2 * W) {
        size_t v = 0;
        for (; v + 4 <= n_values; v += 4)
            combine_tile<4>(rows, weights + v, n_terms, n_values, n, start, out + v * n);
        const size_t left = n_values - v;
        const auto tile = left == 3   ? combine_tile<3>
                          : left == 2 ? combine_tile<2>
                                      : combine_tile<1>;
        if (left) tile(rows, weights + v, n_terms, n_values, n, start, out + v * n);
    }
}

}    // namespace held_out
}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
