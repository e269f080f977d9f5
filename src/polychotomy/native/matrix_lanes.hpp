// The loops of matrix_kernels.hpp with lanes along the rows of the matrices; see lanes.hpp for the
// rules.
#pragma once

#include "lanes.hpp"
#include "matrix_kernels.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {
namespace matrix {

// The lower triangle is read once, four rows at a time: every entry serves its row and its column.
void multiply_symmetric(const double* a, size_t stride, size_t n, const double* x, double* y) {
    for (size_t i = 0; i < n; i += 4) {
        const double* a0 = a + i * stride;
        const double *a1 = a0 + stride, *a2 = a1 + stride, *a3 = a2 + stride;
        const Lane x0 = all(x[i]), x1 = all(x[i + 1]), x2 = all(x[i + 2]), x3 = all(x[i + 3]);
        Lane sum0 = all(0.0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
        for (size_t j = 0; j < i; j += W) {
            const Lane b0 = load(a0 + j), b1 = load(a1 + j), b2 = load(a2 + j), b3 = load(a3 + j);
            const Lane xj = load(x + j);
            sum0 += b0 * xj;
            sum1 += b1 * xj;
            sum2 += b2 * xj;
            sum3 += b3 * xj;
            store(y + j, load(y + j) + ((b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3)));
        }
        y[i] = total(sum0);
        y[i + 1] = total(sum1);
        y[i + 2] = total(sum2);
        y[i + 3] = total(sum3);
        for (size_t r = i; r < i + 4; ++r) {
            const double* row = a + r * stride;
            for (size_t j = i; j < r; ++j) {
                y[r] += row[j] * x[j];
                y[j] += row[j] * x[r];
            }
            y[r] += row[r] * x[r];
        }
    }
}

// Four rows of A times three of B: twelve sums stay in registers, and both are read in order, so
// that nothing has to be packed.
inline void subtract_tile(double* c, size_t c_stride, const double* a, const double* b,
                          size_t stride, size_t k) {
    Lane sums[4][3];
    for (int r = 0; r < 4; ++r)
        for (int s = 0; s < 3; ++s) sums[r][s] = all(0.0);
    for (size_t p = 0; p < k; p += W) {
        const Lane b0 = load(b + p), b1 = load(b + stride + p), b2 = load(b + 2 * stride + p);
        for (int r = 0; r < 4; ++r) {
            const Lane ar = load(a + r * stride + p);
            sums[r][0] += ar * b0;
            sums[r][1] += ar * b1;
            sums[r][2] += ar * b2;
        }
    }
    for (int r = 0; r < 4; ++r)
        for (int s = 0; s < 3; ++s) c[r * c_stride + s] -= total(sums[r][s]);
}

void subtract_product(double* c, const double* a, const double* b, size_t stride, size_t m,
                      size_t n, size_t k) {
    for (size_t i = 0; i < m; i += 4)
        for (size_t j = 0; j < n; j += 3)
            subtract_tile(c + i * stride + j, stride, a + i * stride, b + j * stride, stride, k);
}

void subtract_square(double* c, size_t c_stride, const double* a, size_t a_stride, size_t m,
                     size_t k) {
    for (size_t i = 0; i < m; i += 4)
        for (size_t j = 0; j < i + 4; j += 3)
            subtract_tile(c + i * c_stride + j, c_stride, a + i * a_stride, a + j * a_stride,
                          a_stride, k);
}

void multiply_rows(double* x, size_t stride, size_t m, const double* t) {
    for (size_t i = 0; i < m; ++i) {
        double* row = x + i * stride;
        Lane sums[matrix_block / W];
        for (size_t s = 0; s < matrix_block / W; ++s) sums[s] = all(0.0);
        for (size_t k = 0; k < matrix_block; ++k) {
            const Lane xk = all(row[k]);
            for (size_t s = 0; s < matrix_block / W; ++s)
                sums[s] += xk * load(t + k * matrix_block + s * W);
        }
        for (size_t s = 0; s < matrix_block / W; ++s) store(row + s * W, sums[s]);
    }
}

void solve_forward(const double* l, size_t stride, size_t n, double* x) {
    for (size_t i = 0; i < n; i += 4) {
        const double* l0 = l + i * stride;
        const double *l1 = l0 + stride, *l2 = l1 + stride, *l3 = l2 + stride;
        Lane sum0 = all(0.0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
        for (size_t j = 0; j < i; j += W) {
            const Lane xj = load(x + j);
            sum0 += load(l0 + j) * xj;
            sum1 += load(l1 + j) * xj;
            sum2 += load(l2 + j) * xj;
            sum3 += load(l3 + j) * xj;
        }
        x[i] -= total(sum0);
        x[i + 1] -= total(sum1);
        x[i + 2] -= total(sum2);
        x[i + 3] -= total(sum3);
        for (size_t r = i; r < i + 4; ++r) {
            const double* row = l + r * stride;
            for (size_t j = i; j < r; ++j) x[r] -= row[j] * x[j];
            x[r] /= row[r];
        }
    }
}

void solve_backward(const double* l, size_t stride, size_t n, double* x) {
    for (size_t i = n; i > 0;) {
        i -= 4;
        for (size_t r = i + 4; r-- > i;) {
            const double* row = l + r * stride;
            x[r] /= row[r];
            for (size_t j = i; j < r; ++j) x[j] -= row[j] * x[r];
        }
        const double* l0 = l + i * stride;
        const double *l1 = l0 + stride, *l2 = l1 + stride, *l3 = l2 + stride;
        const Lane x0 = all(x[i]), x1 = all(x[i + 1]), x2 = all(x[i + 2]), x3 = all(x[i + 3]);
        for (size_t j = 0; j < i; j += W)
            store(x + j, load(x + j) - ((load(l0 + j) * x0 + load(l1 + j) * x1) +
                                        (load(l2 + j) * x2 + load(l3 + j) * x3)));
    }
}

}    // namespace matrix
}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
