#include "svm_smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace polychotomy {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double unit_rounding = std::numeric_limits<double>::epsilon() / 2;

template <class Real>
constexpr bool is_single = sizeof(Real) == sizeof(float);

constexpr double least_curvature = svm_least_curvature;
// In single precision a partner is not chosen for a curvature that is all rounding.
template <class Real>
constexpr double least_curvature_to_choose = is_single<Real> ? 1e-6 : least_curvature;
// Below, a curvature in single precision is computed again.
constexpr double doubtful_curvature = 1e-5;

// Bounds are kept where products with them can neither overflow nor vanish.
constexpr double least_bound = 1e-290;
constexpr double largest_bound = 1e290;

constexpr size_t rows_to_judge_by = 16;
constexpr size_t least_rows_for_shrinking = 100;
constexpr double largest_share_to_shrink = 0.7;
// How often residuals are computed afresh before the gap is taken for what rounding allows.
constexpr int most_rounds = 20;
// In single precision errors are taken for independent; this many standard deviations are feared.
constexpr double feared_deviations = 8.0;
// The share of the goal that rounding may take before residuals are computed afresh.
constexpr double share_of_rounding = 0.25;
// Steps of pairs between two jumps, at least and for as much work as a jump is.
constexpr double least_steps = 100.0;
constexpr double steps_a_cost = 2.0;    // a step is the unit of the cost
constexpr std::int64_t iterations_between_polls = 1024;

template <class Real>
SvmPartner find_partner(const SvmPasses<Real>& passes, const SvmState<Real>& state, size_t row,
                        const Real* entries, double least_curvature) {
    const size_t found =
        passes.partner(state.partner_of(row, least_curvature), entries, state.padded_n());
    return {found, found == no_row ? 0.0 : entries[found]};
}

}    // namespace

// ---- state ----------------------------------------------------------------------------------

template <class Real>
void SvmState<Real>::resize(size_t rows) {
    n = rows;
    numbers.resize(n);
    for (auto* vector : {&label, &capacity, &target, &beta, &lower, &upper}) vector->resize(n);
    output.assign(padded(n), Real(0));
    diagonal.assign(padded(n), Real(1));
    up_level.assign(padded(n), static_cast<Real>(-infinity));
    low_level.assign(padded(n), static_cast<Real>(infinity));
    equal_diagonal = false;
}

template <class Real>
void SvmState<Real>::copy_row(size_t to, const SvmState<Real>& from, size_t row) {
    numbers[to] = from.numbers[row];
    label[to] = from.label[row];
    capacity[to] = from.capacity[row];
    target[to] = from.target[row];
    beta[to] = from.beta[row];
    lower[to] = from.lower[row];
    upper[to] = from.upper[row];
    output[to] = from.output[row];
    diagonal[to] = from.diagonal[row];
    up_level[to] = from.up_level[row];
    low_level[to] = from.low_level[row];
}

template <class Real>
void SvmState<Real>::compare_diagonal() {
    equal_diagonal = std::all_of(diagonal.begin(), diagonal.begin() + static_cast<long>(n),
                                 [&](Real entry) { return entry == diagonal[0]; });
}

template <class Real>
void SvmState<Real>::set_levels(size_t row) {
    const double slack = svm_bound_slack * (upper[row] - lower[row]);
    const bool rises = upper[row] - beta[row] > slack, falls = beta[row] - lower[row] > slack;
    up_level[row] = static_cast<Real>(rises ? target[row] : -infinity);
    low_level[row] = static_cast<Real>(falls ? target[row] : infinity);
}

template <class Real>
SvmPartnerSearch<Real> SvmState<Real>::partner_of(size_t row, double least_curvature) const {
    return {output.data(),
            low_level.data(),
            equal_diagonal ? nullptr : diagonal.data(),
            static_cast<Real>(residual(row)),
            diagonal[row],
            static_cast<Real>(least_curvature)};
}

// ---- the path of C --------------------------------------------------------------------------

template <class Real>
SvmPathSolver<Real>::SvmPathSolver(const ScaledGram& gram, const SvmControl& control)
    : gram_(gram), control_(control), passes_(svm_passes_in_use<Real>()), whole_kernel_(gram),
      part_kernel_(gram), jump_(passes_, *control.stop), sparse_steps_(passes_) {}

template <class Real>
void SvmPathSolver<Real>::begin(const RowNumbers& rows, const std::vector<double>& labels,
                                const double* weights) {
    whole_.resize(rows.size());
    whole_.numbers = rows;
    whole_.label = labels;
    double balance = 0.0;
    for (size_t i = 0; i < whole_.n; ++i) {
        whole_.capacity[i] = (weights ? weights[rows[i]] : 1.0) / gram_.factor;
        whole_.diagonal[i] = static_cast<Real>(gram_.entry(rows[i], rows[i]));
        balance += labels[i] * whole_.capacity[i];
    }
    offset_ = balance > 0.0 ? 1.0 : -1.0;
    for (size_t i = 0; i < whole_.n; ++i) whole_.target[i] = labels[i] - offset_;
    whole_.compare_diagonal();
    if (!whole_kernel_.bind(rows)) all_sums_C_ = 0.0;
    shrunk_ = false;
    C_ = 0.0;
}

template <class Real>
void SvmPathSolver<Real>::release() {
    whole_kernel_.release();
    part_kernel_.release();
}

template <class Real>
void SvmPathSolver<Real>::restart(double C) {
    for (size_t i = 0; i < whole_.n; ++i) {
        const double bound =
            std::min(std::max(C * whole_.capacity[i], least_bound), largest_bound);
        whole_.beta[i] = 0.0;
        whole_.lower[i] = whole_.label[i] > 0 ? 0.0 : -bound;
        whole_.upper[i] = whole_.label[i] > 0 ? bound : 0.0;
        whole_.output[i] = Real(0);
        whole_.set_levels(i);
    }
    errors_ = roundings_ = 0.0;
}

// Where the dual is largest on the line from 0 through beta, in units of beta.
template <class Real>
double SvmPathSolver<Real>::best_multiple() const {
    double linear = 0.0, quadratic = 0.0;
    for (size_t i = 0; i < whole_.n; ++i) {
        linear += whole_.label[i] * whole_.beta[i];
        quadratic += whole_.beta[i] * whole_.output[i];
    }
    return quadratic > 0.0 ? linear / quadratic : infinity;
}

template <class Real>
bool SvmPathSolver<Real>::at_capacity(size_t row) const {
    return !(whole_.label[row] > 0 ? whole_.may_rise(row) : whole_.may_fall(row));
}

// Multiplies the solution; the outputs follow without a look at the kernel.
template <class Real>
void SvmPathSolver<Real>::rescale(double C, double multiple) {
    const bool fully = multiple == C / C_;
    double sum = 0.0;
    for (size_t i = 0; i < whole_.n; ++i) {
        const double bound = whole_.label[i] * C * whole_.capacity[i];
        whole_.beta[i] = fully && at_capacity(i) ? bound : whole_.beta[i] * multiple;
        (whole_.label[i] > 0 ? whole_.upper : whole_.lower)[i] = bound;
        whole_.output[i] = static_cast<Real>(multiple * whole_.output[i]);
        whole_.set_levels(i);
        sum += std::fabs(whole_.beta[i]);
    }
    if (is_single<Real>) {
        errors_ *= multiple * multiple;
        roundings_ += 1.0;
    } else {
        errors_ = multiple * errors_ + 4 * (1 + sum);
    }
}

template <class Real>
void SvmPathSolver<Real>::move_to(double C) {
    double least = infinity, largest = 0.0;
    bool bounded = false;
    for (size_t i = 0; i < whole_.n; ++i) {
        least = std::min(least, C_ * whole_.capacity[i]);
        largest = std::max(largest, C * whole_.capacity[i]);
        bounded = bounded || at_capacity(i);
    }
    if (!(least >= least_bound && largest <= largest_bound)) {
        start(C);
    } else {
        // Rows at their bounds will mostly be at the new ones, unless the dual is largest well
        // before. Where no row is at its bound the old solution solves the new problem, too.
        const double growth = C / C_, best = std::max(best_multiple(), 1.0);
        rescale(C, !bounded ? 1.0 : best > (1.0 + growth) / 2 ? growth : best);
    }
    C_ = C;
}

template <class Real>
void SvmPathSolver<Real>::start(double C) {
    restart(C);
    fill();
    if (!worth_filling()) return restart(C);
    if (control_.shared_rows) add_sides(C);
    else recompute(infinity);
    if (best_multiple() < 1.0) restart(C);
}

// One side at its bounds, the other at equal shares of its own: near the solution if C is small.
template <class Real>
void SvmPathSolver<Real>::fill() {
    double room_above = 0.0, room_below = 0.0;
    for (size_t i = 0; i < whole_.n; ++i) {
        room_above += whole_.upper[i];
        room_below -= whole_.lower[i];
    }
    const double total = std::min(room_above, room_below);
    for (size_t i = 0; i < whole_.n; ++i) {
        whole_.beta[i] = whole_.upper[i] * (total / room_above) +
                         whole_.lower[i] * (total / room_below);
        whole_.set_levels(i);
    }
}

// The outputs of the filled point. Of its kernel rows those of one side are added up here; those of
// both sides together are the same for all problems on these rows, and so the other side is known.
template <class Real>
void SvmPathSolver<Real>::add_sides(double C) {
    double room_above = 0.0, room_below = 0.0;
    std::vector<double> bounds(whole_.n);
    for (size_t i = 0; i < whole_.n; ++i) {
        room_above += whole_.upper[i];
        room_below -= whole_.lower[i];
        bounds[i] = whole_.upper[i] - whole_.lower[i];
    }
    if (all_sums_C_ != C) {
        all_sums_ = combine_rows(bounds);
        all_sums_C_ = C;
    }
    const bool positive = room_above < room_below;
    const double total = std::min(room_above, room_below);
    const double above = total / room_above, below = -total / room_below;
    const double own = positive ? above : below, other = positive ? below : above;
    for (size_t i = 0; i < whole_.n; ++i)
        if ((whole_.label[i] > 0) != positive) bounds[i] = 0.0;
    const std::vector<double> sums = combine_rows(bounds);
    errors_ = 0.0;
    for (size_t i = 0; i < whole_.n; ++i) {
        const double of_others = all_sums_[i] - sums[i];
        whole_.output[i] = static_cast<Real>(own * sums[i] + other * of_others);
        if (is_single<Real>) add_error(2 * (whole_.upper[i] - whole_.lower[i]));
    }
    roundings_ = 1.0;
    look_around();
}

// Whether the filled point is near the solution, judged by the decision values of a few rows: the
// dual must still rise there on the line from 0, and rows that share what the other side takes
// must have similar values, or some will want all and some nothing.
template <class Real>
bool SvmPathSolver<Real>::worth_filling() {
    const size_t step = std::max<size_t>(whole_.n / rows_to_judge_by, 1);
    double linear = 0.0, quadratic = 0.0, least = infinity, largest = -infinity, share = 0.0;
    for (size_t i = step / 2; i < whole_.n; i += step) {
        const double output = whole_kernel_.multiply(i, whole_.beta.data());
        linear += whole_.label[i] * whole_.beta[i];
        quadratic += output * whole_.beta[i];
        if (!whole_.is_free(i)) continue;
        least = std::min(least, output);
        largest = std::max(largest, output);
        share = std::max(share, std::fabs(whole_.beta[i]) * whole_.diagonal[i]);
    }
    return linear >= quadratic && largest - least <= share;
}

template <class Real>
SvmSolution SvmPathSolver<Real>::solve(double C, std::int64_t max_iterations) {
    move_to(C);
    return optimise(max_iterations);
}

template <class Real>
SvmSolution SvmPathSolver<Real>::solve_from(const std::vector<double>& betas, double C,
                                            std::int64_t max_iterations) {
    restart(C);
    whole_.beta = betas;
    for (size_t i = 0; i < whole_.n; ++i) whole_.set_levels(i);
    recompute(0.0);
    C_ = C;
    return optimise(max_iterations);
}

template <class Real>
SvmSolution SvmPathSolver<Real>::optimise(std::int64_t max_iterations) {
    iterations_ = last_jump_ = 0;
    next_jump_ = static_cast<std::int64_t>(least_steps);
    next_look_ = static_cast<std::int64_t>(whole_.n);
    indefinite_ = false;
    look_around();
    Outcome outcome;
    for (int round = 0;;) {
        outcome = descend(max_iterations);
        if (outcome == Outcome::pause) {
            if (iterations_ >= next_jump_) jump();
            if (iterations_ >= next_look_) shrink();
            continue;
        }
        if (outcome != Outcome::reached) break;
        if (!shrunk_ && largest_gap() <= goal_) break;
        if (++round > most_rounds) {
            outcome = Outcome::limit;
            break;
        }
        // What the shortcuts hid is seen now; the rest is done without them.
        unshrink();
        recompute(goal_);
    }
    if (shrunk_) {
        unshrink();
        recompute(goal_);
    }
    const SvmStatus status = outcome != Outcome::reached ? SvmStatus::iteration_limit
                             : indefinite_               ? SvmStatus::indefinite
                                                         : SvmStatus::converged;
    return {bias(), std::max(gap(), 0.0), iterations_, status};
}

template <class Real>
double SvmPathSolver<Real>::coefficient(size_t row) const {
    const bool off_zero = whole_.label[row] > 0 ? whole_.may_fall(row) : whole_.may_rise(row);
    if (!off_zero) return 0.0;
    const double bound = C_ * whole_.capacity[row] * gram_.factor;
    const double size = std::min(std::fabs(whole_.beta[row]) * gram_.factor, bound);
    return whole_.label[row] * (at_capacity(row) ? bound : size);
}

// The mean over free support vectors; with none free, the middle of the feasible interval.
template <class Real>
double SvmPathSolver<Real>::bias() const {
    double sum = 0.0;
    size_t n_free = 0;
    for (size_t i = 0; i < whole_.n; ++i) {
        if (!whole_.is_free(i)) continue;
        sum += whole_.residual(i);
        ++n_free;
    }
    if (n_free > 0) return offset_ + sum / static_cast<double>(n_free);
    size_t up = no_row, low = no_row;
    for (size_t i = 0; i < whole_.n; ++i) {
        const double residual = whole_.residual(i);
        if (whole_.may_rise(i) && (up == no_row || residual > whole_.residual(up))) up = i;
        if (whole_.may_fall(i) && (low == no_row || residual < whole_.residual(low))) low = i;
    }
    return offset_ + (exact_residual(up) + exact_residual(low)) / 2;
}

template <class Real>
double SvmPathSolver<Real>::exact_residual(size_t row) const {
    double residual = whole_.target[row];
    for (size_t k = 0; k < whole_.n; ++k)
        if (whole_.beta[k] != 0.0) residual -= whole_.beta[k] * whole_kernel_.entry(row, k);
    return residual;
}

// ---- one value of C -------------------------------------------------------------------------

// The gap to reach. Residuals of a machine that can just separate its rows spread over 2; those
// of a machine held down by a small C spread less, and the tolerance means the same if it shrinks
// with them, down to a small share of what one row can add. It never asks for more than rounding
// leaves.
template <class Real>
double SvmPathSolver<Real>::goal() const {
    double least = infinity, largest = -infinity, sum = 0.0, reach = 0.0;
    const auto see = [&](const SvmState<Real>& state) {
        for (size_t i = 0; i < state.n; ++i) {
            least = std::min<double>(least, state.output[i]);
            largest = std::max<double>(largest, state.output[i]);
            sum += std::fabs(state.beta[i]);
            reach = std::max(reach, (state.upper[i] - state.lower[i]) * state.diagonal[i]);
        }
    };
    // Rows left out by shrinking belong to the spread, as they were last seen.
    see(whole_);
    if (shrunk_) see(part_);
    const double floor = 2 * unit_rounding * (svm_rounding_terms + sum);
    const double scale = std::max((largest - least) / 2, svm_least_share_of_reach * reach);
    return std::max(control_.tolerance * std::min(1.0, scale), floor);
}

template <class Real>
typename SvmPathSolver<Real>::Outcome SvmPathSolver<Real>::descend(
    std::int64_t max_iterations) {
    goal_ = control_.tolerance;
    double aim = goal_;
    const std::int64_t pause = std::min(next_look_, next_jump_);
    while (true) {
        if (gap() <= aim) {
            goal_ = goal();
            const double output = state().output[extremes_.up_row];
            const double rounding = error() + relative_error() * std::fabs(output);
            aim = goal_ - std::min(2 * rounding, share_of_rounding * goal_);
            if (gap() <= aim) return Outcome::reached;
        }
        if (iterations_ >= max_iterations) return Outcome::limit;
        if (iterations_ >= pause) return Outcome::pause;
        if (iterations_ % iterations_between_polls == 0 &&
            control_.stop->load(std::memory_order_relaxed))
            return Outcome::stopped;
        if (!move_pair()) return Outcome::reached;
        ++iterations_;
    }
}

// Moves the most promising pair; false if rounding leaves nothing to move.
template <class Real>
bool SvmPathSolver<Real>::move_pair() {
    SvmState<Real>& state = this->state();
    GatheredRows<Real>& kernel = this->kernel();
    const size_t i = extremes_.up_row;
    const bool sparse = is_sparse();
    const Real* rising = sparse ? nullptr : kernel.row(i);
    constexpr double least = least_curvature_to_choose<Real>;
    const auto [j, entry] = sparse ? sparse_steps_.partner_of(state, kernel, extremes_, least)
                                   : find_partner(passes_, state, i, rising, least);
    if (j == no_row) return false;
    double curvature = state.diagonal[i] + state.diagonal[j] - 2.0 * entry;
    if (is_single<Real> && curvature < doubtful_curvature)
        curvature = kernel.entry(i, i) + kernel.entry(j, j) - 2.0 * kernel.entry(i, j);
    indefinite_ = indefinite_ || curvature < kernel.surely_negative();
    const double wanted =
        (state.residual(i) - state.residual(j)) / std::max(curvature, least_curvature);
    const double room_above = state.upper[i] - state.beta[i];
    const double room_below = state.beta[j] - state.lower[j];
    const double amount = std::min(wanted, std::min(room_above, room_below));
    const double before_i = state.beta[i], before_j = state.beta[j];
    state.beta[i] = amount < room_above ? before_i + amount : state.upper[i];
    state.beta[j] = amount < room_below ? before_j - amount : state.lower[j];
    if (state.beta[i] == before_i && state.beta[j] == before_j) return false;
    state.set_levels(i);
    state.set_levels(j);
    add_error(4 * amount + (is_single<Real> ? 0.0 : std::fabs(state.output[i]) +
                                                          std::fabs(state.output[j])));
    extremes_ = sparse ? sparse_steps_.step(state, kernel, i, j, amount)
                       : passes_.step(state.output.data(), rising, kernel.row(j),
                                      static_cast<Real>(amount), state.up_level.data(),
                                      state.low_level.data(), state.padded_n());
    return true;
}

template <class Real>
void SvmPathSolver<Real>::look_around() {
    SvmState<Real>& state = this->state();
    if (is_sparse()) {
        extremes_ = sparse_steps_.begin(state);
        return;
    }
    // A step of no length, for which any row will do.
    extremes_ = passes_.step(state.output.data(), state.diagonal.data(), state.diagonal.data(),
                             Real(0), state.up_level.data(), state.low_level.data(),
                             state.padded_n());
}

// Settles all free coefficients at once, if that costs no more than half of the steps since the last
// time.
template <class Real>
void SvmPathSolver<Real>::jump() {
    SvmState<Real>& state = this->state();
    const auto pause =
        static_cast<std::int64_t>(std::max(steps_a_cost * jump_.look(state), least_steps));
    next_jump_ = last_jump_ + pause;
    if (next_jump_ > iterations_) return;
    last_jump_ = iterations_;
    next_jump_ = last_jump_ + pause;
    const double moved = jump_.move(state, kernel());
    if (!(moved > 0.0)) return;
    const auto n_free = static_cast<double>(jump_.n_free());
    add_error(is_single<Real> ? moved : (n_free + 4) * std::sqrt(n_free) * moved);
    look_around();
}

// ---- rounding -------------------------------------------------------------------------------

// Takes note of a change of coefficients, whose products with the kernel are rounded: in double
// precision the sum of all sizes, in single, where that would be more than the goal, the sum of
// their squares.
template <class Real>
void SvmPathSolver<Real>::add_error(double size) {
    errors_ += is_single<Real> ? size * size : size;
    roundings_ += 1.0;
}

// How wrong these roundings may have made an output.
template <class Real>
double SvmPathSolver<Real>::error() const {
    constexpr double unit = std::numeric_limits<Real>::epsilon() / 2;
    return unit * (is_single<Real> ? feared_deviations * std::sqrt(errors_) : errors_);
}

// How wrong, in units of itself, an output may be because it was rounded so often.
template <class Real>
double SvmPathSolver<Real>::relative_error() const {
    constexpr double unit = std::numeric_limits<Real>::epsilon() / 2;
    return is_single<Real> ? feared_deviations * unit * std::sqrt(roundings_) : 0.0;
}

// The gap if rounding did the worst.
template <class Real>
double SvmPathSolver<Real>::largest_gap() const {
    const double shared = error(), relative = relative_error();
    double up = -infinity, low = infinity;
    for (size_t i = 0; i < whole_.n; ++i) {
        const double own = shared + relative * std::fabs(whole_.output[i]);
        if (whole_.may_rise(i)) up = std::max(up, whole_.residual(i) + own);
        if (whole_.may_fall(i)) low = std::min(low, whole_.residual(i) - own);
    }
    return up - low;
}

// ---- shrinking ------------------------------------------------------------------------------

// Goes on with the rows that can still be in a violating pair, as far as one can tell. This
// copies rows of the kernel and ends with all residuals computed afresh, which costs about as
// much as one step a row; so it is tried when as many steps have been made already, and done only
// if it removes many rows.
template <class Real>
void SvmPathSolver<Real>::shrink() {
    SvmState<Real>& state = this->state();
    next_look_ = iterations_ + static_cast<std::int64_t>(state.n);
    if (state.n < least_rows_for_shrinking) return;
    std::vector<size_t> kept;
    for (size_t i = 0; i < state.n; ++i) {
        const bool too_high = !state.may_rise(i) && state.residual(i) > extremes_.up;
        const bool too_low = !state.may_fall(i) && state.residual(i) < extremes_.low;
        if (!too_high && !too_low) kept.push_back(i);
    }
    if (static_cast<double>(kept.size()) > largest_share_to_shrink * static_cast<double>(state.n))
        return;
    SvmState<Real> smaller;
    smaller.resize(kept.size());
    for (size_t to = 0; to < kept.size(); ++to) smaller.copy_row(to, state, kept[to]);
    smaller.equal_diagonal = state.equal_diagonal;
    if (shrunk_) {
        save_part();
        for (size_t& row : kept) row = part_rows_[row];
    }
    part_rows_ = std::move(kept);
    part_ = std::move(smaller);
    shrunk_ = true;
    part_kernel_.bind(part_.numbers);
    next_look_ = iterations_ + static_cast<std::int64_t>(part_.n);
    look_around();
}

template <class Real>
void SvmPathSolver<Real>::save_part() {
    for (size_t k = 0; k < part_.n; ++k) {
        whole_.beta[part_rows_[k]] = part_.beta[k];
        whole_.set_levels(part_rows_[k]);
    }
}

template <class Real>
void SvmPathSolver<Real>::unshrink() {
    if (!shrunk_) return;
    save_part();
    shrunk_ = false;
    next_look_ = iterations_ + static_cast<std::int64_t>(whole_.n);
}

// The outputs from beta and the kernel; in single precision from the entries of the Gram matrix
// themselves if their rounding matters to the goal.
template <class Real>
void SvmPathSolver<Real>::recompute(double goal) {
    errors_ = 0.0;
    if (is_single<Real>)
        for (const double beta : whole_.beta) add_error(beta);
    const bool exactly = 2 * error() > share_of_rounding * goal;
    if (exactly) errors_ = 0.0;
    roundings_ = 1.0;
    const std::vector<double> outputs = combine_rows(whole_.beta, exactly);
    for (size_t i = 0; i < whole_.n; ++i)
        whole_.output[i] = static_cast<Real>(outputs[i]);
    look_around();
}

// The sum of the kernel rows times their amounts.
template <class Real>
std::vector<double> SvmPathSolver<Real>::combine_rows(const std::vector<double>& amounts,
                                                      bool exactly) {
    if (exactly) return whole_kernel_.combine_exactly(amounts);
    std::vector<double> sums(whole_.padded_n(), 0.0), factors;
    std::vector<const Real*> rows;
    for (size_t i = 0; i < whole_.n; ++i) {
        if (amounts[i] == 0.0) continue;
        if (whole_kernel_.is_sparse()) {
            const auto found = whole_kernel_.neighbours(i);
            for (size_t k = 0; k < found.count; ++k)
                sums[found.rows[k]] += amounts[i] * found.entries[k];
        } else {
            rows.push_back(whole_kernel_.row(i));
            factors.push_back(amounts[i]);
        }
    }
    passes_.add_rows(sums.data(), rows.data(), factors.data(), rows.size(), sums.size());
    return sums;
}

template struct SvmState<float>;
template struct SvmState<double>;
template class SvmPathSolver<float>;
template class SvmPathSolver<double>;

}    // namespace polychotomy
