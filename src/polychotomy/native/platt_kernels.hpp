// The inner loop of Platt's sigmoids.
#pragma once

#include <cstddef>

namespace polychotomy {

constexpr std::size_t platt_lanes = 4;

// The rows of one column, padded to a multiple of `platt_lanes` with rows of weight 0.
struct PlattRows {
    const double* scores;
    const double* targets;
    const double* weights;
    std::size_t n_rows;
    bool unit_weights;    // all 1, except for the padding
};

// The negative log-likelihood of the sigmoid 1 / (1 + exp(a f + b)) and its derivatives.
struct PlattSums {
    double value = 0.0;
    double a = 0.0, b = 0.0, aa = 0.0, ab = 0.0, bb = 0.0;
};

struct PlattKernels {
    PlattSums (*evaluate)(const PlattRows& rows, double a, double b);
};

}    // namespace polychotomy
