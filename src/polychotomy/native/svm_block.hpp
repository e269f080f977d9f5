// The parts of a decomposition method for support vector machines without a Gram matrix of all
// rows: a few rows are moved at a time, with the Gram matrix of these rows only (Joachims 1999).
#pragma once

#include <cstddef>
#include <cstdint>

namespace polychotomy {

using std::size_t;

// The rows that may move, in the notation of svm_state.hpp; the others stay where they are.
struct SvmBlock {
    const double* gram;    // n x n
    size_t n;
    const double* lower;
    const double* upper;
    double* beta;        // from the values before to those after
    double* gradient;    // likewise
    double least_curvature;
    double stopping_gap;
    std::int64_t max_iterations;
};

// Returns the number of pairs moved.
std::int64_t solve_svm_block(const SvmBlock& block);

// gradient -= sum_k amounts[k] * rows[places[k]], where rows have n entries.
void subtract_rows(double* gradient, size_t n, const double* rows, const std::int64_t* places,
                   const double* amounts, size_t count);

// block[k, l] = rows[places[k], columns[l]], both of `count`, where rows have n entries.
void gather_block(const double* rows, size_t n, const std::int64_t* places,
                  const std::int64_t* columns, size_t count, double* block);

}    // namespace polychotomy
