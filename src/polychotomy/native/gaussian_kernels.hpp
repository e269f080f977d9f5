// The inner loops of Gaussian kernels.
#pragma once

#include <cstddef>

namespace polychotomy {

// Inner products of rows i and columns j into their Gaussian kernel, in place:
// exp(2 gamma p_ij - row_terms_i - column_terms_j), the terms being gamma times squared lengths.
struct GaussianProducts {
    double* products;    // n_rows x n_columns
    std::size_t n_rows;
    std::size_t n_columns;
    const double* row_terms;
    const double* column_terms;
    double gamma;
};

// The same in single precision; the products are of rows times 2 gamma.
struct SingleGaussianProducts {
    float* products;    // n_rows x n_columns
    std::size_t n_rows;
    std::size_t n_columns;
    const float* row_terms;
    const float* column_terms;
};

struct GaussianKernels {
    void (*of_products)(const GaussianProducts& given);
    // kernel = exp(-gamma distances)
    void (*of_distances)(const double* distances, double* kernel, std::size_t count, double gamma);
    void (*of_single_products)(const SingleGaussianProducts& given);
};

}    // namespace polychotomy
