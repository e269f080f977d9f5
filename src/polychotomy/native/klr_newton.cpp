#include "klr_newton.hpp"

#include <algorithm>
#include <cmath>

namespace polychotomy {
namespace {

using std::size_t;

constexpr double smallest_variance = 1e-20;    // of a label: p (1 - p)
constexpr double rounding = 1e-13;             // of the objective, relative
constexpr double sufficient_decrease = 1e-4;
constexpr int most_halvings = 30;
constexpr int most_refreshes = 10;
constexpr int most_invisible_steps = 10;
constexpr double loosest_solve = 0.3;          // of a Newton system, relative
constexpr double share_of_solve = 0.3;         // of the tolerance
constexpr double smallest_slope = 0.7;         // down the model, of that of an exact step
constexpr size_t budget_with_fresh_factor = 20;

double dot(const std::vector<double>& x, const std::vector<double>& y) {
    // Four sums, because the compiler may not reorder the additions of a single one.
    double sums[4] = {};
    for (size_t i = 0; i < x.size(); i += 4)
        for (size_t k = 0; k < 4; ++k) sums[k] += x[i + k] * y[i + k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void add(double factor, const std::vector<double>& x, std::vector<double>& y) {
    for (size_t i = 0; i < x.size(); ++i) y[i] += factor * x[i];
}

}    // namespace

bool KlrRows::has_both_signs() const {
    const auto positive = [](double sign) { return sign > 0.0; };
    return std::any_of(signs.begin(), signs.end(), positive) &&
           !std::all_of(signs.begin(), signs.end(), positive);
}

// ---- the problem ----------------------------------------------------------------------------

void KlrNewton::load(const double* gram, size_t n_rows, const KlrRows& problem) {
    n_ = problem.rows.size();
    order_ = padded_order(n_);
    gram_.resize(order_, stop_);
    for (size_t i = 0; i < n_ && !stop_.load(std::memory_order_relaxed); ++i) {
        const double* from = gram + problem.rows[i] * n_rows;
        double* to = gram_.row(i);
        for (size_t j = 0; j <= i; ++j) to[j] = from[problem.rows[j]];
    }
    for (size_t i = n_; i < order_; ++i) std::fill_n(gram_.row(i), i + 1, 0.0);
    signs_.assign(order_, 0.0);
    weights_.assign(order_, 0.0);
    std::copy(problem.signs.begin(), problem.signs.end(), signs_.begin());
    std::copy(problem.weights.begin(), problem.weights.end(), weights_.begin());
    for (Vector* vector : {&c_, &f_, &g_, &s_, &r_, &s_by_cost_, &u_, &ksu_, &remainder_,
                           &factored_diagonal_, &scale_, &border_, &z_, &direction_, &sp_,
                           &ksp_})
        vector->assign(order_, 0.0);
    restart();
}

void KlrNewton::restart() {
    has_factor_ = false;
    double positive = 0.0, negative = 0.0;
    for (size_t i = 0; i < n_; ++i) (signs_[i] > 0.0 ? positive : negative) += weights_[i];
    b_ = std::log(positive) - std::log(negative);
    std::fill(c_.begin(), c_.end(), 0.0);
    std::fill(f_.begin(), f_.end(), b_);
}

void KlrNewton::multiply(const Vector& x, Vector& y) const {
    kernels_.multiply_symmetric(gram_.data(), gram_.stride(), order_, x.data(), y.data());
}

// ---- Newton's method ------------------------------------------------------------------------

KlrOutcome KlrNewton::solve(double C, const KlrOptions& options) {
    bool refreshed = false;
    invisible_steps_ = 0;
    int n_refreshes = 0;
    for (int iteration = 0;;) {
        linearise(C);
        if (!std::isfinite(criterion_)) return {KlrStatus::not_finite, iteration, criterion_};
        if (criterion_ <= options.tolerance) {
            if (refreshed) return {KlrStatus::converged, iteration, criterion_};
            // f has the rounding errors of its updates: decide by K c + b.
            refresh_decisions();
            refreshed = true;
            ++n_refreshes;
            continue;
        }
        if (n_refreshes > most_refreshes) return {KlrStatus::stalled, iteration, criterion_};
        if (iteration == options.max_iterations || stop_.load(std::memory_order_relaxed))
            return {KlrStatus::iteration_limit, iteration, criterion_};
        const KlrStatus found = find_step(options);
        if (found != KlrStatus::converged) return {found, iteration, criterion_};
        if (!search_line(C)) return {KlrStatus::stalled, iteration, criterion_};
        refreshed = false;
        ++iteration;
    }
}

void KlrNewton::refresh_decisions() {
    multiply(c_, f_);
    for (double& f : f_) f += b_;
}

// g, s, r and the criterion. r'W^-1 r bounds the square of the Newton decrement, and
// sqrt(r'W^-1 r / sum W) the root mean square (weighted by W) of the remaining change of f.
void KlrNewton::linearise(double C) {
    double squares = 0.0, largest = 0.0;
    curvature_ = 0.0;
    for (size_t i = 0; i < n_; ++i) {
        const double cost = C * weights_[i];
        const double small = std::exp(-std::fabs(f_[i]));
        const double likely = 1.0 / (1.0 + small), unlikely = small * likely;
        g_[i] = cost * signs_[i] * (signs_[i] * f_[i] > 0.0 ? unlikely : likely);
        const double w = cost * std::max(likely * unlikely, smallest_variance);
        s_[i] = std::sqrt(w);
        s_by_cost_[i] = s_[i] / cost;
        r_[i] = g_[i] - c_[i];
        squares += r_[i] / w * r_[i];
        largest = std::max(largest, std::fabs(r_[i]) / cost);
        curvature_ += w;
    }
    criterion_ = std::max(std::sqrt(squares / curvature_), largest);
}

// Conjugate gradients, preconditioned by the latest factor of B, which is that of an earlier
// curvature. If they do not converge for less than a factorisation costs, B is factorised again. (A
// factorisation for every step costs more along a path of C, where neighbouring B are similar.)
KlrStatus KlrNewton::find_step(const KlrOptions& options) {
    const double wanted = criterion_ * std::min(loosest_solve, criterion_);
    const double goal = std::max(wanted, share_of_solve * options.tolerance);
    const size_t budget = has_factor_ ? 4 + n_ / 50 : 8 + n_ / 25;
    if (solve_system(goal, budget) == Solved::yes) return KlrStatus::converged;
    if (!factorise_here()) {
        const double trace = dot(factored_diagonal_, Vector(order_, 1.0));
        return std::isfinite(trace) ? KlrStatus::indefinite : KlrStatus::not_finite;
    }
    // If rounding keeps it from its goal, this is still the best step available.
    return solve_system(goal, budget_with_fresh_factor) == Solved::broken ? KlrStatus::not_finite
                                                                          : KlrStatus::converged;
}

double KlrNewton::loss(double C, double length) const {
    double sum = 0.0;
    for (size_t i = 0; i < n_; ++i) {
        const double margin = signs_[i] * (f_[i] + length * (ksu_[i] + shift_));
        sum += weights_[i] * (std::max(-margin, 0.0) + std::log1p(std::exp(-std::fabs(margin))));
    }
    return C * sum;
}

// Halves the step until the objective decreases; along the step, c'Kc is a parabola.
bool KlrNewton::search_line(double C) {
    double now = 0.0, slope = 0.0, bend = 0.0, descent = 0.0;
    for (size_t i = 0; i < n_; ++i) {
        now += 0.5 * c_[i] * (f_[i] - b_);
        slope += c_[i] * ksu_[i];
        bend += 0.5 * s_[i] * u_[i] * ksu_[i];
        descent += r_[i] * (ksu_[i] + shift_);
    }
    const double loss_now = loss(C, 0.0);
    const double slack = rounding * (std::fabs(now) + std::fabs(bend) + loss_now);
    // No descent is expected where K is 0: there the objective does not depend on c.
    if (!(descent >= -slack)) return false;
    invisible_steps_ = descent > slack ? 0 : invisible_steps_ + 1;
    if (invisible_steps_ > most_invisible_steps) return false;
    double length = 1.0;
    for (int round = 0; round < most_halvings; ++round, length *= 0.5) {
        const double gained =
            loss_now - loss(C, length) - length * slope - length * length * bend;
        if (!(gained + slack >= sufficient_decrease * length * descent)) continue;
        for (size_t i = 0; i < n_; ++i) {
            c_[i] += length * s_[i] * u_[i];
            f_[i] += length * (ksu_[i] + shift_);
        }
        b_ += length * shift_;
        return true;
    }
    return false;
}

// ---- the Newton system ----------------------------------------------------------------------

bool KlrNewton::factorise_here() {
    factor_.resize(order_, stop_);
    for (size_t i = 0; i < order_; ++i) {
        if (stop_.load(std::memory_order_relaxed)) return has_factor_ = false;
        const double* from = gram_.row(i);
        double* to = factor_.row(i);
        for (size_t j = 0; j <= i; ++j) to[j] = s_[i] * s_[j] * from[j];
        to[i] += 1.0;
        factored_diagonal_[i] = to[i];
    }
    has_factor_ = factorise(factor_, kernels_, stop_);
    return has_factor_;
}

// The preconditioner is the diagonal of B, or the latest factor, scaled to that diagonal.
void KlrNewton::prepare_preconditioner() {
    for (size_t i = 0; i < order_; ++i) {
        const double diagonal = 1.0 + s_[i] * s_[i] * gram_.row(i)[i];
        scale_[i] = std::sqrt((has_factor_ ? factored_diagonal_[i] : 1.0) / diagonal);
    }
}

void KlrNewton::precondition(const Vector& x, Vector& z) {
    for (size_t i = 0; i < order_; ++i) z[i] = scale_[i] * x[i];
    if (has_factor_) {
        kernels_.solve_forward(factor_.data(), factor_.stride(), order_, z.data());
        kernels_.solve_backward(factor_.data(), factor_.stride(), order_, z.data());
    }
    for (size_t i = 0; i < order_; ++i) z[i] *= scale_[i];
}

// Chooses the shift of the bias with the smallest remainder of the system; returns the criterion
// after this step, to first order.
double KlrNewton::set_best_shift() {
    shift_ = dot(s_, remainder_) / dot(s_, s_);
    double squares = 0.0, largest = 0.0;
    for (size_t i = 0; i < n_; ++i) {
        const double e = remainder_[i] - shift_ * s_[i];
        squares += e * e;
        largest = std::max(largest, s_by_cost_[i] * std::fabs(e));
    }
    return std::max(std::sqrt(squares / curvature_), largest);
}

// Along an exact step, the slope of the objective is the curvature of its model.
bool KlrNewton::lowers_model() const {
    double descent = 0.0, curvature = 0.0;
    for (size_t i = 0; i < n_; ++i) {
        const double change = ksu_[i] + shift_;
        descent += r_[i] * change;
        curvature += s_[i] * (s_[i] * change * change + u_[i] * ksu_[i]);
    }
    return descent >= smallest_slope * curvature;
}

// Conjugate gradients in the plane s'u = 0; broken if not even the first of them can be taken.
KlrNewton::Solved KlrNewton::solve_system(double goal, size_t budget) {
    std::fill(u_.begin(), u_.end(), 0.0);
    std::fill(ksu_.begin(), ksu_.end(), 0.0);
    for (size_t i = 0; i < n_; ++i) remainder_[i] = r_[i] / s_[i];
    prepare_preconditioner();
    precondition(s_, border_);
    const double border_norm = dot(s_, border_);
    double product_before = 0.0;
    for (size_t round = 0;; ++round) {
        if (set_best_shift() <= goal) {
            if (lowers_model()) return Solved::yes;
            goal *= 0.1;
        }
        if (round == budget || stop_.load(std::memory_order_relaxed)) return Solved::no;
        precondition(remainder_, z_);
        add(-dot(s_, z_) / border_norm, border_, z_);
        const double product = dot(remainder_, z_);
        const double ratio = round == 0 ? 0.0 : product / product_before;
        product_before = product;
        for (size_t i = 0; i < order_; ++i) {
            direction_[i] = z_[i] + ratio * direction_[i];
            sp_[i] = s_[i] * direction_[i];
        }
        multiply(sp_, ksp_);
        const double bend = dot(direction_, direction_) + dot(sp_, ksp_);
        if (!(bend > 0.0 && std::isfinite(bend))) return round == 0 ? Solved::broken : Solved::no;
        const double length = product / bend;
        add(length, direction_, u_);
        add(length, ksp_, ksu_);
        for (size_t i = 0; i < order_; ++i)
            remainder_[i] -= length * (direction_[i] + s_[i] * ksp_[i]);
    }
}

}    // namespace polychotomy
