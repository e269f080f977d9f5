// The scores of rows that were left out of training, for all machines of a path of C values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "row_lists.hpp"

namespace polychotomy {

// Machines indexed by fold, value of C and column, on one Gram matrix of n_rows.
struct TrainedPath {
    const double* gram;
    const double* coefficients;    // (n_folds, n_values, n_columns, n_rows)
    const double* biases;          // (n_folds, n_values, n_columns)
    std::size_t n_folds, n_values, n_columns, n_rows;
};

// Fills scores, of shape (n_values, all test rows, n_columns), for the test rows of every fold;
// false if interrupted.
bool held_out_scores(const TrainedPath& path, const RowLists& tests, double* scores,
                     std::size_t n_threads, const std::function<bool()>& interrupted);

}    // namespace polychotomy
