// The loops over all rows of a binary problem that one step of the SVM solver takes.
//
// An n is a multiple of `svm_padding`; padded rows have bars that keep them from being chosen.
#pragma once

#include <cstddef>
#include <limits>

namespace polychotomy {

using std::size_t;

constexpr size_t svm_padding = 8;
constexpr size_t no_row = static_cast<size_t>(-1);

// The coefficients of rows in "up" may rise, those of rows in "low" may fall.
struct SvmExtremes {
    double up;    // the largest residual in "up"
    size_t up_row;
    double low;    // the smallest residual in "low"
};

// What bars a row: nothing (0), from falling (+infinity), from rising (-infinity), both (NaN). Half
// of it, added to the residual, takes the row out of a search.
constexpr double bars_nothing = 0.0;
constexpr double bars_falling = std::numeric_limits<double>::infinity();
constexpr double bars_rising = -std::numeric_limits<double>::infinity();
constexpr double bars_both = std::numeric_limits<double>::quiet_NaN();

// What the partner of row i is chosen by: gain = (residual_i - residual_j)^2 / curvature_ij.
struct SvmPartnerSearch {
    const double* residual;
    const double* diagonal;    // null if all of it is own_diagonal
    const double* bar;
    double own_residual;
    double own_diagonal;
    double least_curvature;
};

// The loops, compiled for one instruction set.
struct SvmPasses {
    // residual -= amount * (rising - falling), and the extremes of the new residuals.
    SvmExtremes (*step)(double* residual, const double* rising, const double* falling,
                        double amount, const double* bar, size_t n);
    // The row of "low" with the largest gain, or no_row.
    size_t (*partner)(const SvmPartnerSearch& search, const double* row, size_t n);
    // residual -= amount * row.
    void (*subtract)(double* residual, const double* row, double amount, size_t n);
};

extern const SvmPasses svm_passes_baseline;
#ifdef POLYCHOTOMY_AVX2
extern const SvmPasses svm_passes_avx2;
#endif

// Those that go with the lanes in use.
const SvmPasses& svm_passes_in_use();

}    // namespace polychotomy
