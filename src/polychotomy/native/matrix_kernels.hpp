// The inner loops on symmetric and triangular matrices.
//
// Matrices are row by row, `stride` doubles apart; only their lower triangle is read. Orders are
// multiples of `matrix_block`, rows are aligned to 32 bytes: no loop has a remainder.
#pragma once

#include <cstddef>

namespace polychotomy {

// Divisible by the tile of a matrix product (4 x 3) and by all lane counts.
constexpr std::size_t matrix_block = 12;

struct MatrixKernels {
    // y = A x for symmetric A of order n.
    void (*multiply_symmetric)(const double* a, std::size_t stride, std::size_t n,
                               const double* x, double* y);
    // C -= A B', where C is m x n, A m x k and B n x k, all with the same stride.
    void (*subtract_product)(double* c, const double* a, const double* b, std::size_t stride,
                             std::size_t m, std::size_t n, std::size_t k);
    // The lower triangle of C -= A A'; C is of order m, A m x k; m a multiple of matrix_block.
    void (*subtract_square)(double* c, std::size_t c_stride, const double* a,
                            std::size_t a_stride, std::size_t m, std::size_t k);
    // Rows of X, each of matrix_block entries, times the matrix_block x matrix_block matrix T.
    void (*multiply_rows)(double* x, std::size_t stride, std::size_t m, const double* t);
    // x becomes L^-1 x, and L^-T x, for lower triangular L of order n.
    void (*solve_forward)(const double* l, std::size_t stride, std::size_t n, double* x);
    void (*solve_backward)(const double* l, std::size_t stride, std::size_t n, double* x);
};

}    // namespace polychotomy
