// The soft-max combination on subsets of rows, along values of C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "softmax_newton.hpp"

namespace polychotomy {

struct SoftMaxProblems {
    SoftMaxScores data;
    RowLists train, test;
    std::size_t n_subsets;
    const double* C_values;    // (subsets, values), ascending; the last may be infinite
    std::size_t n_C;
    SoftMaxOptions options;
};

// Arrays of the caller, (subsets, values), with the weights in one more dimension.
struct SoftMaxResults {
    double* weights;
    std::int32_t* converged;
    std::int32_t* iterations;
    double* errors;    // the weight of the test rows whose class is not the most probable one
    double* losses;    // the weighted sum of -log p of the true class over the test rows
};

// False if it was interrupted. The results do not depend on the number of threads.
bool solve_softmax(const SoftMaxProblems& problems, const SoftMaxResults& results,
                   std::size_t n_threads, const std::function<bool()>& interrupted);

}    // namespace polychotomy
