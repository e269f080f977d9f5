#include "matrix.hpp"

#include <algorithm>
#include <cmath>

namespace polychotomy {

namespace {

// Blocks of a product. A block of B stays in the second-level cache, four rows of A in the first.
constexpr std::size_t most_columns = 120;
constexpr std::size_t most_rows = 240;
constexpr std::size_t most_terms = 240;

// Half of n, rounded to whole blocks.
std::size_t split(std::size_t n) { return n / matrix_block / 2 * matrix_block; }

// The recursive Cholesky factorisation: all work outside of the diagonal blocks is matrix products.
// (A BLAS would be one more dependency of the build, with threads of its own.)
class Factorisation {
public:
    Factorisation(SquareMatrix& matrix, const MatrixKernels& kernels, const StopFlag& stop)
        : stride_(matrix.stride()), kernels_(kernels), stop_(stop) {}

    bool factor(double* a, std::size_t n) {
        if (stop_.load(std::memory_order_relaxed)) return false;
        if (n <= matrix_block) return factor_block(a);
        const std::size_t half = split(n);
        double* below = a + half * stride_;
        if (!factor(a, half)) return false;
        solve_rows(below, a, n - half, half);
        for (std::size_t i = 0; i < n - half; i += most_columns) {
            const std::size_t m = std::min(most_columns, n - half - i);
            double* rows = below + i * stride_;
            subtract(rows + half, rows, below, m, i + m, half);
        }
        return factor(below + half, n - half);
    }

private:
    bool factor_block(double* a) const {
        for (std::size_t j = 0; j < matrix_block; ++j) {
            double* pivot_row = a + j * stride_;
            double pivot = pivot_row[j];
            for (std::size_t k = 0; k < j; ++k) pivot -= pivot_row[k] * pivot_row[k];
            if (!(pivot > 0.0) || !std::isfinite(pivot)) return false;
            pivot_row[j] = std::sqrt(pivot);
            for (std::size_t i = j + 1; i < matrix_block; ++i) {
                double* row = a + i * stride_;
                double sum = row[j];
                for (std::size_t k = 0; k < j; ++k) sum -= row[k] * pivot_row[k];
                row[j] = sum / pivot_row[j];
            }
        }
        return true;
    }

    // The m x n matrix X becomes X L^-T.
    void solve_rows(double* x, const double* l, std::size_t m, std::size_t n) const {
        if (stop_.load(std::memory_order_relaxed)) return;
        if (n <= matrix_block) {
            double inverse[matrix_block * matrix_block];
            invert_block(l, inverse);
            kernels_.multiply_rows(x, stride_, m, inverse);
            return;
        }
        const std::size_t half = split(n);
        solve_rows(x, l, m, half);
        subtract(x + half, x, l + half * stride_, m, n - half, half);
        solve_rows(x + half, l + half * stride_ + half, m, n - half);
    }

    // L^-T of a block, row by row.
    void invert_block(const double* l, double* inverse) const {
        std::fill(inverse, inverse + matrix_block * matrix_block, 0.0);
        for (std::size_t i = 0; i < matrix_block; ++i)
            for (std::size_t j = i; j < matrix_block; ++j) {
                double sum = i == j ? 1.0 : 0.0;
                for (std::size_t k = i; k < j; ++k)
                    sum -= l[j * stride_ + k] * inverse[i * matrix_block + k];
                inverse[i * matrix_block + j] = sum / l[j * stride_ + j];
            }
    }

    // C -= A B' in blocks that fit the caches.
    void subtract(double* c, const double* a, const double* b, std::size_t m, std::size_t n,
                  std::size_t k) const {
        for (std::size_t p = 0; p < k; p += most_terms)
            for (std::size_t j = 0; j < n; j += most_columns)
                for (std::size_t i = 0; i < m; i += most_rows) {
                    if (stop_.load(std::memory_order_relaxed)) return;
                    kernels_.subtract_product(c + i * stride_ + j, a + i * stride_ + p,
                                              b + j * stride_ + p, stride_,
                                              std::min(most_rows, m - i),
                                              std::min(most_columns, n - j),
                                              std::min(most_terms, k - p));
                }
    }

    std::size_t stride_;
    const MatrixKernels& kernels_;
    const StopFlag& stop_;
};

}    // namespace

bool factorise(SquareMatrix& matrix, const MatrixKernels& kernels, const StopFlag& stop) {
    return Factorisation(matrix, kernels, stop).factor(matrix.row(0), matrix.order());
}

}    // namespace polychotomy
