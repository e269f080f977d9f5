// The dual problem of one binary support vector machine, row by row.
//
// With beta_i = a_i y_i the dual is: maximise sum y_i beta_i - 1/2 beta' K beta subject to sum
// beta_i = 0 and lower_i <= beta_i <= upper_i, which are 0 and C w_i, or -C w_i and 0. Its gradient
// is G_i = y_i - sum_j K_ij beta_j. (LIBSVM minimises over a instead; its -y_i G_i is this G_i.)
// I_up has the rows whose beta may rise, I_low those whose beta may fall. A point is optimal if no
// gradient in I_up is larger than one in I_low.
//
// The solver keeps the outputs sum_j K_ij beta_j and kernel rows, in single or double precision
// (Real), and not the gradients: outputs are small where C is small, labels are not, and rounding
// is relative to what is kept. A number added to all gradients changes no difference of two. So the
// label of the larger side, whose rows can be free at small C, is taken away from all of them, and
// the gradients of these rows are small too.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "svm_constants.hpp"
#include "svm_passes.hpp"
#include "svm_rows.hpp"

namespace polychotomy {

template <class Real>
constexpr bool is_single = sizeof(Real) == sizeof(float);

// A problem, or the active set of it.
template <class Real>
struct SvmState {
    size_t n = 0;
    RowNumbers numbers;    // in the Gram matrix
    std::vector<double> label;
    std::vector<double> unit_bound;    // of |beta| where C is 1
    std::vector<double> linear;        // the gradient where beta is 0
    std::vector<double> beta, lower, upper;
    // These are padded.
    std::vector<Real> output, up_level, low_level, diagonal;
    bool equal_diagonal = false;    // as in Gaussian kernels
    double offset = 0.0;            // what was taken away from all labels

    void resize(size_t rows);
    void copy_row(size_t to, const SvmState& from, size_t row);
    void compare_diagonal();
    size_t padded_n() const { return output.size(); }

    double gradient(size_t row) const { return linear[row] - output[row]; }
    bool in_I_up(size_t row) const { return std::isfinite(up_level[row]); }
    bool in_I_low(size_t row) const { return std::isfinite(low_level[row]); }
    bool is_free(size_t row) const { return in_I_up(row) && in_I_low(row); }
    // Whether a_i is above 0, and whether it is at its bound.
    bool is_support(size_t row) const { return label[row] > 0 ? in_I_low(row) : in_I_up(row); }
    bool is_bounded(size_t row) const { return !(label[row] > 0 ? in_I_up(row) : in_I_low(row)); }

    // The next three are here because every step calls them: calls into another file made searches of
    // small problems 5 % slower.

    // Puts a row into I_up, I_low or both, after a change of its beta or bounds.
    void set_levels(size_t row) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        const double slack = svm_bound_slack * (upper[row] - lower[row]);
        const bool rises = upper[row] - beta[row] > slack, falls = beta[row] - lower[row] > slack;
        up_level[row] = static_cast<Real>(rises ? linear[row] : -infinity);
        low_level[row] = static_cast<Real>(falls ? linear[row] : infinity);
    }

    // Moves beta_i up and beta_j down by delta, or as far as the bounds let them, and puts that into
    // delta; false if rounding leaves nothing to move.
    bool move_pair(size_t i, size_t j, double& delta) {
        const double room_i = upper[i] - beta[i], room_j = beta[j] - lower[j];
        const double before_i = beta[i], before_j = beta[j];
        delta = std::min(delta, std::min(room_i, room_j));
        beta[i] = delta < room_i ? before_i + delta : upper[i];
        beta[j] = delta < room_j ? before_j - delta : lower[j];
        if (beta[i] == before_i && beta[j] == before_j) return false;
        set_levels(i);
        set_levels(j);
        return true;
    }

    SvmSecondOrder<Real> second_order(size_t i, double least_curvature) const {
        return {output.data(),
                low_level.data(),
                equal_diagonal ? nullptr : diagonal.data(),
                static_cast<Real>(gradient(i)),
                diagonal[i],
                static_cast<Real>(least_curvature)};
    }
};

}    // namespace polychotomy
