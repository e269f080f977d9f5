// The inner loops of the soft-max combination.
//
// Values of all data rows lie along a row of memory. The number of data rows is padded to a
// multiple of `softmax_lanes`, so that no loop has a remainder.
#pragma once

#include <cstddef>

namespace polychotomy {

constexpr std::size_t softmax_lanes = 8;

// A sum of weighted features for every class, terms of weight 0 left out.
struct SoftMaxTerms {
    const double* const* features;
    const double* weights;
    const std::size_t* ends;    // of the terms of every class
    std::size_t n_classes;
};

struct SoftMaxRows {
    const double* labels;       // class numbers; anything else in the padding
    const double* shares;       // of the total weight
    std::size_t n_rows;
};

struct SoftMaxKernels {
    // For every row: the class probabilities p, n_rows apart, their distances from the truth times
    // the share of the row (left out if null), and the loss -log p of the true class.
    void (*evaluate)(const SoftMaxTerms& terms, const SoftMaxRows& rows, double* p,
                     double* residuals, double* losses);
    // out[i] += x . vectors[i]
    void (*add_products)(const double* x, const double* const* vectors, std::size_t count,
                         std::size_t n, double* out);
    // out = x y, entry by entry
    void (*multiply)(const double* x, const double* y, std::size_t n, double* out);
};

}    // namespace polychotomy
