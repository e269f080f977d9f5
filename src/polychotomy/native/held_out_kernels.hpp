// The inner loop of held-out scores.
#pragma once

#include <cstddef>

namespace polychotomy {

// Rows of memory are padded to a multiple of this.
constexpr std::size_t held_out_lanes = 8;

struct HeldOutKernels {
    // out[v n + t] = sum_j weights[j n_values + v] rows[j][t] for all v < n_values and t < n; n is
    // a multiple of `held_out_lanes`.
    void (*combine)(const double* const* rows, const double* weights, std::size_t n_terms,
                    std::size_t n_values, std::size_t n, double* out);
};

}    // namespace polychotomy
