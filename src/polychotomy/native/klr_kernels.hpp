// The inner loops of kernel logistic regression on symmetric and triangular matrices.
//
// Matrices are row by row, `stride` doubles apart; only their lower triangle is read. Orders are
// multiples of `klr_block`, rows are aligned to 32 bytes: no loop has a remainder.
#pragma once

#include <cstddef>

namespace polychotomy {

// Divisible by the tile of a matrix product (4 x 3) and by all lane counts.
constexpr std::size_t klr_block = 12;

struct KlrKernels {
    // y = A x for symmetric A of order n.
    void (*multiply_symmetric)(const double* a, std::size_t stride, std::size_t n,
                               const double* x, double* y);
    // C -= A B', where C is m x n, A m x k and B n x k, all with the same stride.
    void (*subtract_product)(double* c, const double* a, const double* b, std::size_t stride,
                             std::size_t m, std::size_t n, std::size_t k);
    // Rows of X, each of klr_block entries, times the klr_block x klr_block matrix T.
    void (*multiply_rows)(double* x, std::size_t stride, std::size_t m, const double* t);
    // x becomes L^-1 x, and L^-T x, for lower triangular L of order n.
    void (*solve_forward)(const double* l, std::size_t stride, std::size_t n, double* x);
    void (*solve_backward)(const double* l, std::size_t stride, std::size_t n, double* x);
};

extern const KlrKernels baseline_klr_kernels;
#ifdef POLYCHOTOMY_AVX2
extern const KlrKernels avx2_klr_kernels;
#endif

// Those of the instruction set that `use_baseline_lanes` has chosen.
const KlrKernels& klr_kernels();

}    // namespace polychotomy
