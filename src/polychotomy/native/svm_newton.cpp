#include "svm_newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lane_functions.hpp"

namespace polychotomy {
namespace {

// Added to the diagonal, in units of it, because kernels can be singular up to rounding.
constexpr double least_lift = 1e-12, largest_lift = 1e-4;
// A step of a pair costs about this many operations a row, at the speed of a factorisation.
constexpr double operations_a_row = 12.0;
// Bounds the memory of a thread: the matrix of this many free rows takes 32 MiB.
constexpr size_t most_free = 2000;
constexpr double too_expensive = 1e15;

}    // namespace

template <class Real>
double SvmNewtonStep<Real>::find_free(const SvmState<Real>& state) {
    free_.clear();
    for (size_t i = 0; i < state.n; ++i)
        if (state.is_free(i)) free_.push_back(i);
    if (free_.size() > most_free) return too_expensive;
    const auto m = static_cast<double>(free_.size()), n = static_cast<double>(state.n);
    return (m * m * m / 3 + 2 * m * n) / (operations_a_row * n);
}

template <class Real>
double SvmNewtonStep<Real>::step(SvmState<Real>& state, GatheredRows<Real>& kernel) {
    if (free_.size() < 2 || !factorise_free(state, kernel)) return 0.0;
    find_direction(state);
    const size_t n = state.padded_n();
    change_.assign(n, 0.0);
    double slope = 0.0, curvature = 0.0, largest = 0.0, squares = 0.0;
    rows_.clear();
    for (const size_t row : free_) rows_.push_back(kernel.row(row));
    passes_.add_rows(change_.data(), rows_.data(), direction_.data(), free_.size(), n);
    for (size_t k = 0; k < free_.size(); ++k) {
        slope += direction_[k] * state.gradient(free_[k]);
        curvature += direction_[k] * change_[free_[k]];
        largest = std::max(largest, std::fabs(direction_[k]));
    }
    if (!(slope > 0.0) || !std::isfinite(largest)) return 0.0;
    // In units of the largest, so that squares neither overflow nor vanish.
    for (const double d : direction_) squares += (d / largest) * (d / largest);
    const double longest = longest_step(state);
    const double best = curvature > 0.0 ? slope / curvature : longest;
    const double length = std::min(best, longest);
    if (!(length > 0.0) || !std::isfinite(length)) return 0.0;
    for (size_t k = 0; k < free_.size(); ++k) {
        const size_t i = free_[k];
        const double moved = state.beta[i] + length * direction_[k];
        state.beta[i] = std::min(std::max(moved, state.lower[i]), state.upper[i]);
        state.set_levels(i);
    }
    for (size_t k = 0; k < n; ++k)
        state.output[k] = static_cast<Real>(state.output[k] + length * change_[k]);
    return length * largest * std::sqrt(squares);
}

template <class Real>
bool SvmNewtonStep<Real>::factorise_free(const SvmState<Real>& state, GatheredRows<Real>& kernel) {
    const size_t m = free_.size(), order = padded_order(m);
    for (double lift = least_lift; lift < largest_lift; lift *= 100.0) {
        factor_.resize(order, stop_);
        for (size_t i = 0; i < order; ++i) {
            double* to = factor_.row(i);
            if (i >= m) {
                std::fill_n(to, i, 0.0);
                to[i] = 1.0;
                continue;
            }
            // Not from kernel rows: rounded to single precision the matrix might be indefinite.
            for (size_t j = 0; j <= i; ++j) to[j] = kernel.entry(free_[i], free_[j]);
            to[i] += lift * std::fabs(state.diagonal[free_[i]]);
        }
        if (factorise(factor_, lanes_in_use().matrix, stop_)) return true;
        if (stop_.load(std::memory_order_relaxed)) return false;
    }
    return false;
}

template <class Real>
void SvmNewtonStep<Real>::find_direction(const SvmState<Real>& state) {
    const size_t m = free_.size(), order = factor_.order(), stride = factor_.stride();
    direction_.assign(order, 0.0);
    constant_.assign(order, 0.0);
    for (size_t k = 0; k < m; ++k) {
        direction_[k] = state.gradient(free_[k]);
        constant_[k] = 1.0;
    }
    for (std::vector<double>* side : {&direction_, &constant_}) {
        lanes_in_use().matrix.solve_forward(factor_.data(), stride, order, side->data());
        lanes_in_use().matrix.solve_backward(factor_.data(), stride, order, side->data());
    }
    double sum = 0.0, of_ones = 0.0;
    for (size_t k = 0; k < m; ++k) {
        sum += direction_[k];
        of_ones += constant_[k];
    }
    for (size_t k = 0; k < m; ++k) direction_[k] -= sum / of_ones * constant_[k];
    // Rounding leaves a sum that is not quite 0, and would add up over many steps.
    double left = 0.0;
    for (size_t k = 0; k < m; ++k) left += direction_[k];
    for (size_t k = 0; k < m; ++k) direction_[k] -= left / static_cast<double>(m);
}

template <class Real>
double SvmNewtonStep<Real>::longest_step(const SvmState<Real>& state) const {
    double longest = std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < free_.size(); ++k) {
        const double d = direction_[k], beta = state.beta[free_[k]];
        if (d == 0.0) continue;
        const double bound = d > 0.0 ? state.upper[free_[k]] : state.lower[free_[k]];
        longest = std::min(longest, (bound - beta) / d);
    }
    return longest;
}

template class SvmNewtonStep<float>;
template class SvmNewtonStep<double>;

}    // namespace polychotomy
