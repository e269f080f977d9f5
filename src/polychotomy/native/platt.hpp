// Platt's sigmoids, one for every column of scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "row_lists.hpp"

namespace polychotomy {

// Several sets of scores for the same rows, each to be fitted on several subsets of them.
struct PlattData {
    const double* scores;          // n_sets x n_rows x n_columns, finite
    const std::int8_t* labels;     // n_rows x n_columns over {-1, 0, +1}; 0: row not used
    const double* weights;         // n_rows, nonnegative, or null for all ones
    std::size_t n_sets;
    std::size_t n_rows;
    std::size_t n_columns;
    RowLists subsets;
    std::size_t n_subsets;
};

struct Sigmoid {
    double slope = 0.0;        // A of P(+1 | f) = 1 / (1 + exp(A f + B))
    double intercept = 0.0;    // B
    bool converged = true;
};

// Fills sigmoids, n_subsets x n_sets x n_columns; false if interrupted. They do not depend on the
// number of threads.
bool fit_platt(const PlattData& data, int max_iterations, Sigmoid* sigmoids,
               std::size_t n_threads, const std::function<bool()>& interrupted);

}    // namespace polychotomy
