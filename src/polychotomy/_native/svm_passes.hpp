// The loops over all rows of a binary problem that one step of the SVM solver takes, in single or in
// double precision.
//
// An n is a multiple of `svm_padding`; padded rows have bars that keep them from being chosen.
#pragma once

#include <cstddef>
#include <limits>

namespace polychotomy {

using std::size_t;

constexpr size_t svm_padding = 16;
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
template <class Real>
struct SvmPartnerSearch {
    const Real* residual;
    const Real* diagonal;    // null if all of it is own_diagonal
    const Real* bar;
    Real own_residual;
    Real own_diagonal;
    Real least_curvature;
};

// The loops, compiled for one instruction set.
template <class Real>
struct SvmPasses {
    // residual -= amount * (rising - falling), and the extremes of the new residuals.
    SvmExtremes (*step)(Real* residual, const Real* rising, const Real* falling, Real amount,
                        const Real* bar, size_t n);
    // The row of "low" with the largest gain, or no_row.
    size_t (*partner)(const SvmPartnerSearch<Real>& search, const Real* row, size_t n);
    // sums -= amount * row, in double precision.
    void (*subtract)(double* sums, const Real* row, double amount, size_t n);
};

struct SvmPassesOfBoth {
    SvmPasses<float> narrow;
    SvmPasses<double> wide;
};

extern const SvmPassesOfBoth svm_passes_baseline;
#ifdef POLYCHOTOMY_AVX2
extern const SvmPassesOfBoth svm_passes_avx2;
#endif

// Those that go with the lanes in use.
template <class Real>
const SvmPasses<Real>& svm_passes_in_use();

}    // namespace polychotomy
