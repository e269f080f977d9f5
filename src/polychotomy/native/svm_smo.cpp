#include "svm_smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lane_functions.hpp"

namespace polychotomy {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double unit_rounding = std::numeric_limits<double>::epsilon() / 2;

// In single precision no j is selected for a curvature that is nothing but rounding.
template <class Real>
constexpr double least_curvature_to_select = is_single<Real> ? 1e-6 : svm_least_curvature;
// A smaller curvature in single precision is computed again from the Gram matrix.
constexpr double doubtful_curvature = 1e-5;

// How often outputs are recomputed before the gap is taken for the best that rounding allows.
constexpr int most_rounds = 20;
// The share of the stopping gap that rounding may take before outputs are recomputed.
constexpr double share_of_rounding = 0.25;
// Steps of pairs between two Newton steps, at least, and in units of the cost of a Newton step.
constexpr double least_steps = 100.0;
constexpr double steps_a_cost = 2.0;
constexpr std::int64_t iterations_between_polls = 1024;

template <class Real>
SvmSelected select_j(const SvmPasses<Real>& passes, const SvmState<Real>& state, size_t i,
                     const Real* row_i, double least_curvature) {
    const size_t j =
        passes.select_j(state.second_order(i, least_curvature), row_i, state.padded_n());
    return {j, j == no_row ? 0.0 : row_i[j]};
}

}    // namespace

template <class Real>
SvmSmo<Real>::SvmSmo(const ScaledGram& gram, const SvmControl& control)
    : control_(control), passes_(svm_passes_in_use<Real>()), rows_(gram),
      newton_(passes_, *control.stop), sparse_steps_(passes_) {}

template <class Real>
SvmSolution SvmSmo<Real>::optimise(std::int64_t max_iterations) {
    iterations_ = last_newton_ = 0;
    next_newton_ = static_cast<std::int64_t>(least_steps);
    next_shrink_ = static_cast<std::int64_t>(rows_.full().n);
    indefinite_ = false;
    find_violating_pair();
    Outcome outcome;
    for (int round = 0;;) {
        outcome = descend(max_iterations);
        if (outcome == Outcome::pause) {
            if (iterations_ >= next_newton_) take_newton_step();
            if (iterations_ >= next_shrink_) shrink();
            continue;
        }
        if (outcome != Outcome::reached) break;
        if (!rows_.is_shrunk() && largest_gap() <= stopping_gap_) break;
        if (++round > most_rounds) {
            outcome = Outcome::limit;
            break;
        }
        // Shrinking and rounding may have hidden violating pairs: look again without them.
        unshrink();
        recompute_outputs(stopping_gap_);
    }
    if (rows_.is_shrunk()) {
        unshrink();
        recompute_outputs(stopping_gap_);
    }
    const SvmStatus status = outcome != Outcome::reached ? SvmStatus::iteration_limit
                             : indefinite_               ? SvmStatus::indefinite
                                                         : SvmStatus::converged;
    return {bias(), std::max(pair_.gap(), 0.0), iterations_, status};
}

// ---- steps ----------------------------------------------------------------------------------

template <class Real>
typename SvmSmo<Real>::Outcome SvmSmo<Real>::descend(std::int64_t max_iterations) {
    stopping_gap_ = control_.tolerance;
    double aim = stopping_gap_;
    const std::int64_t pause = std::min(next_shrink_, next_newton_);
    while (true) {
        if (pair_.gap() <= aim) {
            stopping_gap_ = stopping_gap();
            const double output = rows_.state().output[pair_.i];
            const double rounding =
                rounding_.error() + rounding_.relative_error() * std::fabs(output);
            aim = stopping_gap_ - std::min(2 * rounding, share_of_rounding * stopping_gap_);
            if (pair_.gap() <= aim) return Outcome::reached;
        }
        if (iterations_ >= max_iterations) return Outcome::limit;
        if (iterations_ >= pause) return Outcome::pause;
        if (iterations_ % iterations_between_polls == 0 &&
            control_.stop->load(std::memory_order_relaxed))
            return Outcome::stopped;
        if (!step()) return Outcome::reached;
        ++iterations_;
    }
}

// Moves the pair of the largest gain; false if rounding leaves nothing to move.
template <class Real>
bool SvmSmo<Real>::step() {
    SvmState<Real>& state = rows_.state();
    GatheredRows<Real>& kernel = rows_.kernel();
    const size_t i = pair_.i;
    const bool sparse = rows_.is_sparse();
    const Real* row_i = sparse ? nullptr : kernel.row(i);
    constexpr double least = least_curvature_to_select<Real>;
    const auto [j, K_ij] = sparse ? sparse_steps_.select_j(state, kernel, pair_, least)
                                  : select_j(passes_, state, i, row_i, least);
    if (j == no_row) return false;
    double curvature = state.diagonal[i] + state.diagonal[j] - 2.0 * K_ij;
    if (is_single<Real> && curvature < doubtful_curvature)
        curvature = kernel.entry(i, i) + kernel.entry(j, j) - 2.0 * kernel.entry(i, j);
    indefinite_ = indefinite_ || curvature < kernel.surely_negative();
    double delta =
        (state.gradient(i) - state.gradient(j)) / std::max(curvature, svm_least_curvature);
    if (!state.move_pair(i, j, delta)) return false;
    rounding_.add(4 * delta + (is_single<Real> ? 0.0 : std::fabs(state.output[i]) +
                                                           std::fabs(state.output[j])));
    pair_ = sparse ? sparse_steps_.update(state, kernel, i, j, delta)
                   : passes_.update(state.output.data(), row_i, kernel.row(j),
                                    static_cast<Real>(delta), state.up_level.data(),
                                    state.low_level.data(), state.padded_n());
    return true;
}

template <class Real>
void SvmSmo<Real>::find_violating_pair() {
    SvmState<Real>& state = rows_.state();
    if (rows_.is_sparse()) {
        pair_ = sparse_steps_.find_pair(state);
        return;
    }
    // An update of no length, for which any kernel row will do.
    pair_ = passes_.update(state.output.data(), state.diagonal.data(), state.diagonal.data(),
                           Real(0), state.up_level.data(), state.low_level.data(),
                           state.padded_n());
}

// Takes a Newton step on the free set if it costs no more than half of the steps of pairs since the
// last one.
template <class Real>
void SvmSmo<Real>::take_newton_step() {
    SvmState<Real>& state = rows_.state();
    const auto pause =
        static_cast<std::int64_t>(std::max(steps_a_cost * newton_.find_free(state), least_steps));
    next_newton_ = last_newton_ + pause;
    if (next_newton_ > iterations_) return;
    last_newton_ = iterations_;
    next_newton_ = last_newton_ + pause;
    const double length = newton_.step(state, rows_.kernel());
    if (!(length > 0.0)) return;
    const auto n_free = static_cast<double>(newton_.n_free());
    rounding_.add(is_single<Real> ? length : (n_free + 4) * std::sqrt(n_free) * length);
    find_violating_pair();
}

template <class Real>
void SvmSmo<Real>::shrink() {
    if (rows_.shrink(pair_)) find_violating_pair();
    next_shrink_ = iterations_ + static_cast<std::int64_t>(rows_.state().n);
}

template <class Real>
void SvmSmo<Real>::unshrink() {
    if (rows_.unshrink())
        next_shrink_ = iterations_ + static_cast<std::int64_t>(rows_.full().n);
}

// ---- when to stop ---------------------------------------------------------------------------

// The gap to reach. Gradients of a machine that can just separate its rows spread over 2. Those of
// a machine with a small C spread less, and the tolerance shrinks with them to mean the same, down
// to a small share of what one row can add. It never asks for more than rounding allows. (The gap
// of LIBSVM is the same for all C. At a small C it can be larger than all decision values.)
template <class Real>
double SvmSmo<Real>::stopping_gap() const {
    double least = infinity, largest = -infinity, sum = 0.0, reach = 0.0;
    const auto see = [&](const SvmState<Real>& state) {
        for (size_t i = 0; i < state.n; ++i) {
            least = std::min<double>(least, state.output[i]);
            largest = std::max<double>(largest, state.output[i]);
            sum += std::fabs(state.beta[i]);
            reach = std::max(reach, (state.upper[i] - state.lower[i]) * state.diagonal[i]);
        }
    };
    // Rows outside of the active set belong to the spread, as they were last seen.
    see(rows_.full());
    if (rows_.is_shrunk()) see(rows_.state());
    const double floor = 2 * unit_rounding * (svm_rounding_terms + sum);
    const double scale = std::max((largest - least) / 2, svm_least_share_of_reach * reach);
    return std::max(control_.tolerance * std::min(1.0, scale), floor);
}

// The gap if all rounding errors make it larger.
template <class Real>
double SvmSmo<Real>::largest_gap() const {
    const SvmState<Real>& full = rows_.full();
    const double shared = rounding_.error(), relative = rounding_.relative_error();
    double up = -infinity, low = infinity;
    for (size_t i = 0; i < full.n; ++i) {
        const double own = shared + relative * std::fabs(full.output[i]);
        if (full.in_I_up(i)) up = std::max(up, full.gradient(i) + own);
        if (full.in_I_low(i)) low = std::min(low, full.gradient(i) - own);
    }
    return up - low;
}

// In single precision from the entries of the Gram matrix themselves, if the rounding of the kernel
// rows matters to the stopping gap.
template <class Real>
void SvmSmo<Real>::recompute_outputs(double stopping_gap) {
    SvmState<Real>& full = rows_.full();
    rounding_.reset();
    if (is_single<Real>)
        for (const double beta : full.beta) rounding_.add(beta);
    const bool exactly = 2 * rounding_.error() > share_of_rounding * stopping_gap;
    if (exactly) rounding_.reset();
    rounding_.outputs_rounded_once();
    const std::vector<double> outputs = rows_.combine_rows(full.beta, exactly);
    for (size_t i = 0; i < full.n; ++i) full.output[i] = static_cast<Real>(outputs[i]);
    find_violating_pair();
}

// ---- the bias -------------------------------------------------------------------------------

// The mean over free support vectors; with none free, the middle of the feasible interval.
template <class Real>
double SvmSmo<Real>::bias() const {
    const SvmState<Real>& full = rows_.full();
    double sum = 0.0;
    size_t n_free = 0;
    for (size_t i = 0; i < full.n; ++i) {
        if (!full.is_free(i)) continue;
        sum += full.gradient(i);
        ++n_free;
    }
    if (n_free > 0) return full.offset + sum / static_cast<double>(n_free);
    size_t up = no_row, low = no_row;
    for (size_t i = 0; i < full.n; ++i) {
        const double gradient = full.gradient(i);
        if (full.in_I_up(i) && (up == no_row || gradient > full.gradient(up))) up = i;
        if (full.in_I_low(i) && (low == no_row || gradient < full.gradient(low))) low = i;
    }
    return full.offset + (exact_gradient(up) + exact_gradient(low)) / 2;
}

template <class Real>
double SvmSmo<Real>::exact_gradient(size_t row) const {
    const SvmState<Real>& full = rows_.full();
    double gradient = full.linear[row];
    for (size_t k = 0; k < full.n; ++k)
        if (full.beta[k] != 0.0) gradient -= full.beta[k] * rows_.full_kernel().entry(row, k);
    return gradient;
}

template class SvmSmo<float>;
template class SvmSmo<double>;

}    // namespace polychotomy
