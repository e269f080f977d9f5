// The loops of softmax_kernels.hpp with lanes along the rows of the data; see lanes.hpp for the
// rules.
#pragma once

#include "lanes.hpp"
#include "softmax_kernels.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {
namespace softmax {

void evaluate(const SoftMaxTerms& terms, const SoftMaxRows& rows, double* p, double* residuals,
              double* losses) {
    const size_t n_rows = rows.n_rows, n_classes = terms.n_classes;
    for (size_t n = 0; n < n_rows; n += W) {
        const Lane label = load(rows.labels + n), share = load(rows.shares + n);
        Lane largest = all(-1e308), of_truth = all(0.0);
        for (size_t k = 0, term = 0; k < n_classes; ++k) {
            Lane z = all(0.0);
            for (; term < terms.ends[k]; ++term)
                z += terms.weights[term] * load(terms.features[term] + n);
            store(p + k * n_rows + n, z);
            largest = z > largest ? z : largest;
            of_truth = label == all(static_cast<double>(k)) ? z : of_truth;
        }
        Lane sum = all(0.0);
        for (size_t k = 0; k < n_classes; ++k) {
            const Lane e = vanishing_exponential(load(p + k * n_rows + n) - largest);
            store(p + k * n_rows + n, e);
            sum += e;
        }
        const Lane inverse = 1.0 / sum;
        for (size_t k = 0; k < n_classes; ++k) {
            const Lane pk = load(p + k * n_rows + n) * inverse;
            store(p + k * n_rows + n, pk);
            if (!residuals) continue;
            const Lane truth = label == all(static_cast<double>(k)) ? all(1.0) : all(0.0);
            store(residuals + k * n_rows + n, share * (pk - truth));
        }
        store(losses + n, logarithm(sum) + (largest - of_truth));
    }
}

// Four vectors at a time share the loads of x.
void add_products(const double* x, const double* const* vectors, size_t count, size_t n,
                  double* out) {
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        Lane sum0 = all(0.0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
        for (size_t j = 0; j < n; j += W) {
            const Lane xj = load(x + j);
            sum0 += xj * load(vectors[i] + j);
            sum1 += xj * load(vectors[i + 1] + j);
            sum2 += xj * load(vectors[i + 2] + j);
            sum3 += xj * load(vectors[i + 3] + j);
        }
        out[i] += total(sum0);
        out[i + 1] += total(sum1);
        out[i + 2] += total(sum2);
        out[i + 3] += total(sum3);
    }
    for (; i < count; ++i) {
        Lane sum0 = all(0.0), sum1 = sum0;
        const double* y = vectors[i];
        for (size_t j = 0; j < n; j += softmax_lanes)
            for (size_t s = 0; s < softmax_lanes; s += 2 * W) {
                sum0 += load(x + j + s) * load(y + j + s);
                sum1 += load(x + j + s + W) * load(y + j + s + W);
            }
        out[i] += total(sum0 + sum1);
    }
}

void multiply(const double* x, const double* y, size_t n, double* out) {
    for (size_t j = 0; j < n; j += W) store(out + j, load(x + j) * load(y + j));
}

}    // namespace softmax
}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
