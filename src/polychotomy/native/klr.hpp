// Kernel logistic regression: many binary problems on one Gram matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "klr_newton.hpp"
#include "row_lists.hpp"

namespace polychotomy {

struct KlrProblems {
    const double* gram;              // n_rows x n_rows, symmetric
    const std::int8_t* labels;       // n_rows x n_columns over {-1, 0, +1}; 0: row not used
    const double* weights;           // n_rows, nonnegative; 0: row not used
    std::size_t n_rows;
    std::size_t n_columns;
    RowLists subsets;
    std::size_t n_subsets;
    const double* C_values;          // ascending: each starts from the solution before
    std::size_t n_C;
    KlrOptions options;
};

// Arrays of the caller, which are 0 where nothing is written.
struct KlrResults {
    double* coefficients;            // n_subsets x n_C x n_columns x n_rows
    double* biases;                  // n_subsets x n_C x n_columns, as the next three
    std::int32_t* status;
    std::int32_t* iterations;
    double* criterion;
};

// Solves all problems on `n_threads` threads. `interrupted` is called by the calling thread every
// tenth of a second; if it returns true, the threads stop, and the result is false.
bool solve_klr(const KlrProblems& problems, const KlrResults& results, std::size_t n_threads,
               const std::function<bool()>& interrupted);

}    // namespace polychotomy
