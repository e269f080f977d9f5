// The inner loops of the soft-max combination.
//
// Whatever there is one of for every row of the data lies along a row of memory, the number of
// rows filled up to a multiple of `softmax_lanes`: no loop has a remainder.
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
    const double* labels;       // class numbers; anything else in the rows that fill up
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
    // The lower triangle of C -= A A'; C is of order m, A m x k; m a multiple of 12.
    void (*subtract_square)(double* c, std::size_t c_stride, const double* a,
                            std::size_t a_stride, std::size_t m, std::size_t k);
};

extern const SoftMaxKernels baseline_softmax_kernels;
#ifdef POLYCHOTOMY_AVX2
extern const SoftMaxKernels avx2_softmax_kernels;
#endif

// Those of the instruction set that `use_baseline_lanes` has chosen.
const SoftMaxKernels& softmax_kernels();

}    // namespace polychotomy
