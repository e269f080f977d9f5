// The loops over all rows of a binary problem that one step of the SVM solver takes, in single or in
// double precision.
//
// The residual of a row is its target less its output, sum_j K_ij beta_j. For the search it has two
// levels, from which the output is subtracted: the target, or an infinite number where the
// coefficient may not rise (-infinity) or not fall (infinity). An n is a multiple of `svm_padding`;
// padded rows may do neither.
#pragma once

#include <cstddef>

namespace polychotomy {

using std::size_t;

constexpr size_t svm_padding = 16;
constexpr size_t no_row = static_cast<size_t>(-1);

// The coefficients of rows in "up" may rise, those of rows in "low" may fall.
struct SvmExtremes {
    double up;    // the largest residual in "up"
    size_t up_row;
    double low;    // the smallest residual in "low"
    size_t low_row;    // or no_row where it was not looked for
};

// What the partner of row i is chosen by: gain = (residual_i - residual_j)^2 / curvature_ij.
template <class Real>
struct SvmPartnerSearch {
    const Real* output;
    const Real* low_level;
    const Real* diagonal;    // null if all of it is own_diagonal
    Real own_residual;
    Real own_diagonal;
    Real least_curvature;
};

// The loops, compiled for one instruction set.
template <class Real>
struct SvmPasses {
    // output += amount * (rising - falling), and the extremes of the new residuals.
    SvmExtremes (*step)(Real* output, const Real* rising, const Real* falling, Real amount,
                        const Real* up_level, const Real* low_level, size_t n);
    // The extremes and their rows.
    SvmExtremes (*look)(const Real* output, const Real* up_level, const Real* low_level, size_t n);
    // The row of "low" with the largest gain, or no_row.
    size_t (*partner)(const SvmPartnerSearch<Real>& search, const Real* row, size_t n);
    // sums += the rows times their amounts, in double precision.
    void (*add_rows)(double* sums, const Real* const* rows, const double* amounts, size_t count,
                     size_t n);
};

}    // namespace polychotomy
