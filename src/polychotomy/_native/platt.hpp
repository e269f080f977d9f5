// Platt's sigmoids, one per column of scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace polychotomy {

struct PlattData {
    const double* scores;          // n_rows x n_columns, finite
    const std::int8_t* labels;     // n_rows x n_columns over {-1, 0, +1}; 0: row not used
    const double* weights;         // n_rows, nonnegative, or null for all ones
    std::size_t n_rows;
    std::size_t n_columns;
};

struct Sigmoid {
    double slope = 0.0;        // A of P(+1 | f) = 1 / (1 + exp(A f + B))
    double intercept = 0.0;    // B
    bool converged = true;
};

// Fills one sigmoid a column; false if interrupted.
bool fit_platt(const PlattData& data, int max_iterations, Sigmoid* sigmoids,
               const std::function<bool()>& interrupted);

}    // namespace polychotomy
