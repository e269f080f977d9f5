// The loops over all rows of a binary problem that one step of the SVM solver takes, in single or
// in double precision. See svm_state.hpp for the problem and its notation.
//
// The gradient is G = linear - output. For the search it has two levels, from which the output is
// subtracted: `up_level` is the linear term in I_up and -infinity elsewhere, `low_level` is the
// linear term in I_low and +infinity elsewhere. So no loop has to ask which set a row is in. An n
// is a multiple of `svm_padding`; padded rows are in neither set.
#pragma once

#include <cstddef>

namespace polychotomy {

using std::size_t;

constexpr size_t svm_padding = 16;
constexpr size_t no_row = static_cast<size_t>(-1);

// The maximal violating pair: i has the largest gradient in I_up, j the smallest in I_low.
struct SvmViolatingPair {
    double up;    // G_i, which is m(a) in the literature
    size_t i;
    double low;    // G_j, which is M(a)
    size_t j;    // or no_row where it was not searched for

    double gap() const { return up - low; }
};

// What j is selected by, given i, with second-order information (Fan, Chen and Lin 2005): the gain
// (G_i - G_j)^2 / (K_ii + K_jj - 2 K_ij).
template <class Real>
struct SvmSecondOrder {
    const Real* output;
    const Real* low_level;
    const Real* diagonal;    // null if all of it is K_ii
    Real G_i;
    Real K_ii;
    Real least_curvature;
};

// The loops, compiled for one instruction set.
template <class Real>
struct SvmPasses {
    // output += delta * (row_i - row_j), and the pair that violates most then, but not its j.
    SvmViolatingPair (*update)(Real* output, const Real* row_i, const Real* row_j, Real delta,
                               const Real* up_level, const Real* low_level, size_t n);
    // The maximal violating pair.
    SvmViolatingPair (*find_pair)(const Real* output, const Real* up_level, const Real* low_level,
                                  size_t n);
    // The j in I_low with the largest gain, or no_row.
    size_t (*select_j)(const SvmSecondOrder<Real>& search, const Real* row_i, size_t n);
    // sums += the rows times their amounts, in double precision.
    void (*add_rows)(double* sums, const Real* const* rows, const double* amounts, size_t count,
                     size_t n);
};

}    // namespace polychotomy
