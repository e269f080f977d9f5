#include "svm_path.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace polychotomy {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Bounds are kept where products with them can neither overflow nor vanish.
constexpr double least_bound = 1e-290;
constexpr double largest_bound = 1e290;

// How many rows are looked at to see whether the filled point is near the solution.
constexpr size_t rows_to_judge_by = 16;

}    // namespace

template <class Real>
void SvmPathSolver<Real>::begin(const RowNumbers& rows, const std::vector<double>& labels,
                                const double* weights) {
    SvmState<Real>& full = this->full();
    full.resize(rows.size());
    full.numbers = rows;
    full.label = labels;
    double balance = 0.0;
    for (size_t i = 0; i < full.n; ++i) {
        full.unit_bound[i] = (weights ? weights[rows[i]] : 1.0) / gram_.factor;
        full.diagonal[i] = static_cast<Real>(gram_.entry(rows[i], rows[i]));
        balance += labels[i] * full.unit_bound[i];
    }
    full.offset = balance > 0.0 ? 1.0 : -1.0;
    for (size_t i = 0; i < full.n; ++i) full.linear[i] = labels[i] - full.offset;
    full.compare_diagonal();
    if (!smo_.rows().bind(rows)) all_sums_C_ = 0.0;
    C_ = 0.0;
}

template <class Real>
SvmSolution SvmPathSolver<Real>::solve(double C, std::int64_t max_iterations) {
    warm_start(C);
    return smo_.optimise(max_iterations);
}

template <class Real>
SvmSolution SvmPathSolver<Real>::solve_from(const std::vector<double>& betas, double C,
                                            std::int64_t max_iterations) {
    SvmState<Real>& full = this->full();
    set_to_zero(C);
    full.beta = betas;
    for (size_t i = 0; i < full.n; ++i) full.set_levels(i);
    smo_.recompute_outputs(0.0);
    C_ = C;
    return smo_.optimise(max_iterations);
}

template <class Real>
double SvmPathSolver<Real>::coefficient(size_t row) const {
    const SvmState<Real>& full = this->full();
    if (!full.is_support(row)) return 0.0;
    const double bound = C_ * full.unit_bound[row] * gram_.factor;
    const double size = std::min(std::fabs(full.beta[row]) * gram_.factor, bound);
    return full.label[row] * (full.is_bounded(row) ? bound : size);
}

// ---- from one C to the next -----------------------------------------------------------------

template <class Real>
void SvmPathSolver<Real>::warm_start(double C) {
    const SvmState<Real>& full = this->full();
    double least = infinity, largest = 0.0;
    bool bounded = false;
    for (size_t i = 0; i < full.n; ++i) {
        least = std::min(least, C_ * full.unit_bound[i]);
        largest = std::max(largest, C * full.unit_bound[i]);
        bounded = bounded || full.is_bounded(i);
    }
    if (!(least >= least_bound && largest <= largest_bound)) {
        cold_start(C);
    } else {
        // Bounded rows will mostly be at the new bounds too, unless the dual is largest well
        // before. Where no row is bounded the old solution solves the new problem as well.
        const double growth = C / C_, best = std::max(best_multiple(), 1.0);
        rescale(C, !bounded ? 1.0 : best > (1.0 + growth) / 2 ? growth : best);
    }
    C_ = C;
}

// Multiplies the solution. The outputs follow without a look at the kernel.
template <class Real>
void SvmPathSolver<Real>::rescale(double C, double multiple) {
    SvmState<Real>& full = this->full();
    const bool fully = multiple == C / C_;
    double sum = 0.0;
    for (size_t i = 0; i < full.n; ++i) {
        const double bound = full.label[i] * C * full.unit_bound[i];
        full.beta[i] = fully && full.is_bounded(i) ? bound : full.beta[i] * multiple;
        (full.label[i] > 0 ? full.upper : full.lower)[i] = bound;
        full.output[i] = static_cast<Real>(multiple * full.output[i]);
        full.set_levels(i);
        sum += std::fabs(full.beta[i]);
    }
    smo_.rounding().multiply(multiple, sum);
}

// Where the dual is largest on the line from 0 through beta, in units of beta.
template <class Real>
double SvmPathSolver<Real>::best_multiple() const {
    const SvmState<Real>& full = this->full();
    double linear = 0.0, quadratic = 0.0;
    for (size_t i = 0; i < full.n; ++i) {
        linear += full.label[i] * full.beta[i];
        quadratic += full.beta[i] * full.output[i];
    }
    return quadratic > 0.0 ? linear / quadratic : infinity;
}

// ---- the first C ----------------------------------------------------------------------------

// At the filled point all a_i of one side are at their bounds, and those of the other at equal
// shares of their own. Where C is small that is near the solution, and from 0 it would take a step
// a row to get there. Its outputs cost as much as a few steps.
template <class Real>
void SvmPathSolver<Real>::cold_start(double C) {
    set_to_zero(C);
    fill();
    if (!is_filling_promising()) return set_to_zero(C);
    if (control_.shared_rows) set_filled_outputs(C);
    else smo_.recompute_outputs(infinity);
    if (best_multiple() < 1.0) set_to_zero(C);
}

template <class Real>
void SvmPathSolver<Real>::set_to_zero(double C) {
    SvmState<Real>& full = this->full();
    for (size_t i = 0; i < full.n; ++i) {
        const double bound =
            std::min(std::max(C * full.unit_bound[i], least_bound), largest_bound);
        full.beta[i] = 0.0;
        full.lower[i] = full.label[i] > 0 ? 0.0 : -bound;
        full.upper[i] = full.label[i] > 0 ? bound : 0.0;
        full.output[i] = Real(0);
        full.set_levels(i);
    }
    smo_.rounding().reset();
}

template <class Real>
typename SvmPathSolver<Real>::Room SvmPathSolver<Real>::room() const {
    Room room = {0.0, 0.0};
    for (size_t i = 0; i < full().n; ++i) {
        room.above += full().upper[i];
        room.below -= full().lower[i];
    }
    return room;
}

template <class Real>
void SvmPathSolver<Real>::fill() {
    SvmState<Real>& full = this->full();
    const auto [above, below] = room();
    const double total = std::min(above, below);
    for (size_t i = 0; i < full.n; ++i) {
        full.beta[i] = full.upper[i] * (total / above) + full.lower[i] * (total / below);
        full.set_levels(i);
    }
}

// Whether the filled point is near the solution, judged by the outputs of a few rows: the dual must
// still rise there on the line from 0, and rows that share what the other side takes must have
// similar outputs, or some of them will end at their bounds and some at 0.
template <class Real>
bool SvmPathSolver<Real>::is_filling_promising() {
    const SvmState<Real>& full = this->full();
    const size_t step = std::max<size_t>(full.n / rows_to_judge_by, 1);
    double linear = 0.0, quadratic = 0.0, least = infinity, largest = -infinity, share = 0.0;
    for (size_t i = step / 2; i < full.n; i += step) {
        const double output = smo_.rows().full_kernel().multiply(i, full.beta.data());
        linear += full.label[i] * full.beta[i];
        quadratic += output * full.beta[i];
        if (!full.is_free(i)) continue;
        least = std::min(least, output);
        largest = std::max(largest, output);
        share = std::max(share, std::fabs(full.beta[i]) * full.diagonal[i]);
    }
    return linear >= quadratic && largest - least <= share;
}

// The outputs of the filled point. The kernel rows of the smaller side are added up here. Those of
// both sides together are the same for all columns on these rows, and so the other side is known.
template <class Real>
void SvmPathSolver<Real>::set_filled_outputs(double C) {
    SvmState<Real>& full = this->full();
    std::vector<double> bounds(full.n);
    for (size_t i = 0; i < full.n; ++i) bounds[i] = full.upper[i] - full.lower[i];
    if (all_sums_C_ != C) {
        all_sums_ = smo_.rows().combine_rows(bounds);
        all_sums_C_ = C;
    }
    const auto [room_above, room_below] = room();
    const bool positive = room_above < room_below;
    const double total = std::min(room_above, room_below);
    const double above = total / room_above, below = -total / room_below;
    const double own = positive ? above : below, other = positive ? below : above;
    for (size_t i = 0; i < full.n; ++i)
        if ((full.label[i] > 0) != positive) bounds[i] = 0.0;
    const std::vector<double> sums = smo_.rows().combine_rows(bounds);
    smo_.rounding().reset();
    for (size_t i = 0; i < full.n; ++i) {
        const double of_others = all_sums_[i] - sums[i];
        full.output[i] = static_cast<Real>(own * sums[i] + other * of_others);
        if (is_single<Real>) smo_.rounding().add(2 * (full.upper[i] - full.lower[i]));
    }
    smo_.rounding().outputs_rounded_once();
}

template class SvmPathSolver<float>;
template class SvmPathSolver<double>;

}    // namespace polychotomy
