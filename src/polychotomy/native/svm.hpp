// Binary support vector machines on a shared Gram matrix.
//
// Every (subset of rows, label column) is one task: a path of C values, solved from the smallest
// C to the largest, each from the solution before. Tasks share nothing but the Gram matrix, so
// the results do not depend on the number of threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "row_lists.hpp"

namespace polychotomy {

using std::size_t;

enum class SvmStatus : std::int8_t { converged = 0, iteration_limit, untrained, indefinite };

// One of the two pointers is null.
struct SvmGram {
    const double* wide;
    const float* narrow;
    size_t n;
};

struct SvmProblems {
    SvmGram gram;
    double largest_entry;           // of the Gram matrix, absolute
    const std::int8_t* labels;      // n x n_columns
    size_t n_columns;
    RowLists subsets;
    size_t n_subsets;
    const double* C_values;
    size_t n_C;
    const double* weights;          // n, or null for all ones
    double tolerance;
    std::int64_t max_iterations;    // for each value of C
};

// All are indexed (subset, C, column) in this order, coefficients by row after that.
struct SvmResults {
    double* coefficients;
    double* biases;
    double* gaps;
    std::int64_t* iterations;
    std::int8_t* status;
};

// `interrupted` is called about ten times a second from the calling thread; once it returns true,
// the workers stop, and solve_svm returns false with the results unfinished.
bool solve_svm(const SvmProblems& problems, const SvmResults& results, size_t n_threads,
               const std::function<bool()>& interrupted);

}    // namespace polychotomy
