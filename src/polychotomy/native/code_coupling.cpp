// Minimise F = sum_l n_l KL(r_l || q_l) + pull * sum_m p_m log p_m over the simplex, where
// q_l = P+ / (P+ + P-) and P+, P- are the masses of the two sides of column l.
//
// A step y is a relative change of p. With a = p / P on each side of a column (0 elsewhere):
// * no don't-cares: F is convex in p. Newton in p itself, p <- p (1 + y), with the Hessian
//   sum n [r a+a+' + (1-r) a-a-'] + pull diag(p) in terms of y. The fit is a function of linear
//   maps of p, so the valley of equally good fits is straight, and the vanishing pull finds the
//   maximum-entropy point of it in a few steps.
// * with don't-cares: Newton in u = log p, p <- p exp(y), where one-vs-one is convex, with the
//   Hessian sum n [q(1-q) (a+ - a-)(a+ - a-)' + (q-r) (D(a+) - a+a+' - D(a-) + a-a-')], lifted
//   just enough to be positive definite where it is not. (To leave out the indefinite part instead
//   made steps away from saddles so short that some rows ran out of iterations.)
// Both use a line search with Levenberg's damping, in the metric sum n (a+ + a-), which
// bounds the curvature.

#include "code_coupling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pairwise.hpp"

namespace polychotomy {
namespace {

using std::size_t;

constexpr double smallest_p = 1e-250;
constexpr double longest_step = 2.0;         // of log p
constexpr double farthest_shrink = 0.99;     // of p, where p itself is moved
// Classes that vanish together are done only when F no longer depends on their ratios.
constexpr double largest_decrement = 1e-7;
constexpr double least_damping = 1e-10;
constexpr double least_lift = 1e-3, largest_lift = 2.0;    // in units of the metric
constexpr double least_pivot = 1e-13;        // relative to the diagonal

// The classes on the two sides of a column: first the positive, then the negative.
struct Column {
    std::vector<int> classes;
    size_t n_positive;
    double weight;
};

std::vector<Column> read_columns(const CodeCoupling& code) {
    std::vector<Column> columns(code.n_columns);
    for (size_t l = 0; l < code.n_columns; ++l) {
        Column& column = columns[l];
        for (const int sign : {+1, -1}) {
            for (size_t m = 0; m < code.n_classes; ++m)
                if (code.matrix[m * code.n_columns + l] == sign)
                    column.classes.push_back(static_cast<int>(m));
            if (sign > 0) column.n_positive = column.classes.size();
        }
        column.weight = code.column_weights ? code.column_weights[l] : 1.0;
    }
    return columns;
}

class RowSolver {
public:
    explicit RowSolver(const CodeCoupling& code)
        : code_(code), m_(code.n_classes), columns_(read_columns(code)), r_(code.n_columns),
          p_(m_), trial_(m_), gradient_(m_), step_(m_), lifted_(m_), share_(m_), held_(m_),
          metric_(m_), hessian_(m_ * m_), factor_(m_ * m_) {
        for (const Column& column : columns_) {
            if (column.classes.size() < m_) has_dont_cares_ = true;
            total_weight_ += column.weight;
        }
    }

    bool solve(const double* r, double* p) {
        for (size_t l = 0; l < columns_.size(); ++l)
            r_[l] = std::min(std::max(r[l], kullback_clip), 1.0 - kullback_clip);
        std::fill(p_.begin(), p_.end(), 1.0 / static_cast<double>(m_));
        objective_ = objective(p_);
        bool converged = false;
        double damping = 0.0;
        for (int round = 0; round < code_.max_iterations && !converged; ++round) {
            find_step(damping);
            converged = damping == 0.0 && (is_lifted_ ? is_flat() : is_short_step());
            if (walk(converged)) {
                damping = damping > least_damping ? damping * 0.01 : 0.0;
            } else if (damping > 1e6) {
                break;
            } else {
                damping = std::max(damping * 100.0, least_damping);
            }
        }
        std::copy(p_.begin(), p_.end(), p);
        return converged;
    }

private:
    void masses(const Column& column, const std::vector<double>& p, double& positive,
                double& negative) const {
        positive = negative = 0.0;
        const size_t n = column.classes.size();
        for (size_t k = 0; k < column.n_positive; ++k) positive += p[column.classes[k]];
        for (size_t k = column.n_positive; k < n; ++k) negative += p[column.classes[k]];
    }

    double objective(const std::vector<double>& p) const {
        double fit = 0.0;
        for (size_t l = 0; l < columns_.size(); ++l) {
            double positive, negative;
            masses(columns_[l], p, positive, negative);
            const double both = positive + negative;
            fit += columns_[l].weight * (r_[l] * std::log(r_[l] * both / positive) +
                                         (1.0 - r_[l]) * std::log((1.0 - r_[l]) * both / negative));
        }
        double entropy = 0.0;
        for (size_t m = 0; m < m_; ++m) entropy -= p[m] * std::log(p[m]);
        return fit - code_.pull * entropy;
    }

    // ---- the step ---------------------------------------------------------------------------

    // A Newton step, kept within bounds class by class. Classes that would leave the bounds are
    // held there, and the step of the others is solved for again. Without that, the others would be
    // given mass which a vanishing class does not have.
    void find_step(double damping) {
        std::fill(held_.begin(), held_.end(), 0.0);
        if (has_dont_cares_) {
            differentiate_in_u(damping);
            is_lifted_ = false;
            // The metric bounds the curvature: a share of it makes the Hessian positive definite.
            for (double lift = least_lift; !factorise() && lift < largest_lift; lift *= 4.0) {
                add_metric_in_u(lift);
                is_lifted_ = true;
            }
        } else {
            differentiate_in_p(damping);
            factorise();
        }
        substitute_step();
        for (size_t pass = 0; pass < m_ && hold_classes(); ++pass) {
            factorise();
            substitute_step();
        }
    }

    // Hold the classes whose step is out of bounds, if any, at the bound: first those below it,
    // because others may want to grow only by what these cannot give.
    bool hold_classes() {
        bool changed = false;
        for (size_t m = 0; m < m_; ++m)
            if (held_[m] == 0.0 && step_[m] < lowest()) {
                held_[m] = lowest();
                changed = true;
            }
        for (size_t m = 0; m < m_ && !changed; ++m)
            if (held_[m] == 0.0 && step_[m] > highest()) {
                held_[m] = highest();
                changed = true;
            }
        return changed;
    }

    void clear_derivatives() {
        std::fill(gradient_.begin(), gradient_.end(), 0.0);
        std::fill(hessian_.begin(), hessian_.end(), 0.0);
        std::fill(metric_.begin(), metric_.end(), 0.0);
        ground_ = static_cast<size_t>(std::max_element(p_.begin(), p_.end()) - p_.begin());
    }

    // Add `scale` times the outer product of share_ over the classes first..last of a column.
    void add_square(const Column& column, size_t first, size_t last, double scale) {
        for (size_t a = first; a < last; ++a) {
            double* row = &hessian_[column.classes[a] * m_];
            const double entry = scale * share_[a];
            for (size_t b = first; b <= a; ++b) row[column.classes[b]] += entry * share_[b];
        }
    }

    void add_cross(const Column& column, double scale) {
        for (size_t a = column.n_positive; a < column.classes.size(); ++a) {
            const size_t i = column.classes[a];
            for (size_t b = 0; b < column.n_positive; ++b) {
                const size_t j = column.classes[b];
                hessian_[std::max(i, j) * m_ + std::min(i, j)] += scale * share_[a] * share_[b];
            }
        }
    }

    void find_shares(const Column& column, double positive, double negative) {
        for (size_t k = 0; k < column.classes.size(); ++k) {
            share_[k] = p_[column.classes[k]] / (k < column.n_positive ? positive : negative);
            metric_[column.classes[k]] += column.weight * share_[k];
        }
    }

    void differentiate_in_p(double damping) {
        clear_derivatives();
        for (size_t l = 0; l < columns_.size(); ++l) {
            const Column& column = columns_[l];
            double positive, negative;
            masses(column, p_, positive, negative);
            find_shares(column, positive, negative);
            const size_t split = column.n_positive, n = column.classes.size();
            const double up = column.weight * r_[l], down = column.weight * (1.0 - r_[l]);
            for (size_t k = 0; k < n; ++k)
                gradient_[column.classes[k]] -= (k < split ? up : down) * share_[k];
            add_square(column, 0, split, up);
            add_square(column, split, n, down);
        }
        for (size_t m = 0; m < m_; ++m) {
            gradient_[m] += code_.pull * p_[m] * (std::log(p_[m]) + 1.0);
            hessian_[m * m_ + m] += code_.pull * p_[m] + damping * metric_[m];
        }
    }

    void differentiate_in_u(double damping) {
        clear_derivatives();
        for (size_t l = 0; l < columns_.size(); ++l) {
            const Column& column = columns_[l];
            double positive, negative;
            masses(column, p_, positive, negative);
            find_shares(column, positive, negative);
            const double both = positive + negative, q = positive / both, rest = negative / both;
            // q - r from the side where both are small, which cancels no digits
            const double excess =
                column.weight * (q < 0.5 ? q - r_[l] : (1.0 - r_[l]) - rest);
            const double curvature = column.weight * q * rest;
            const size_t split = column.n_positive, n = column.classes.size();
            for (size_t k = 0; k < n; ++k) {
                const double signed_share = k < split ? share_[k] : -share_[k];
                gradient_[column.classes[k]] += excess * signed_share;
                hessian_[column.classes[k] * (m_ + 1)] += excess * signed_share;
            }
            add_square(column, 0, split, curvature - excess);
            add_square(column, split, n, curvature + excess);
            add_cross(column, -curvature);
        }
        add_pull_in_u(damping);
    }

    void add_pull_in_u(double damping) {
        double mean = 0.0;
        for (size_t m = 0; m < m_; ++m) mean += p_[m] * std::log(p_[m]);
        const double pull = code_.pull;
        std::vector<double>& slope = share_;
        for (size_t m = 0; m < m_; ++m) {
            slope[m] = p_[m] * (std::log(p_[m]) - mean);
            gradient_[m] += pull * slope[m];
        }
        for (size_t m = 0; m < m_; ++m) {
            double* row = &hessian_[m * m_];
            for (size_t k = 0; k <= m; ++k)
                row[k] -= pull * (p_[m] * p_[k] + p_[k] * slope[m] + p_[m] * slope[k]);
            row[m] += pull * (p_[m] + slope[m]);
        }
        add_metric_in_u(damping);
    }

    // The metric, without the direction in which all u grow together.
    void add_metric_in_u(double scale) {
        double sum = 0.0;
        for (size_t m = 0; m < m_; ++m) sum += metric_[m];
        for (size_t m = 0; m < m_; ++m) {
            double* row = &hessian_[m * m_];
            for (size_t k = 0; k <= m; ++k) row[k] -= scale * metric_[m] * metric_[k] / sum;
            row[m] += scale * metric_[m];
        }
    }

    double entry(size_t i, size_t j) const {
        return hessian_[std::max(i, j) * m_ + std::min(i, j)];
    }

    // In u, F does not change if all u grow together, so the most probable class is kept fixed.
    bool is_fixed(size_t m) const { return held_[m] != 0.0 || (has_dont_cares_ && m == ground_); }

    // LDL' of the Hessian of the classes that are free; false if some pivot is not positive.
    bool factorise() {
        for (size_t i = 0; i < m_; ++i)
            for (size_t j = 0; j <= i; ++j)
                factor_[i * m_ + j] = is_fixed(i) || is_fixed(j) ? i == j : hessian_[i * m_ + j];
        bool definite = true;
        for (size_t k = 0; k < m_; ++k) {
            double& pivot = factor_[k * (m_ + 1)];
            const double least = least_pivot * std::fabs(entry(k, k)) + 1e-300;
            definite = definite && pivot > least;
            pivot = std::max(pivot, least);
            const double inverse = 1.0 / pivot;
            for (size_t i = k + 1; i < m_; ++i) {
                double* row = &factor_[i * m_];
                const double below = row[k];
                row[k] = share_[i] = below * inverse;
                for (size_t j = k + 1; j <= i; ++j) row[j] -= below * share_[j];
            }
        }
        return definite;
    }

    void substitute(std::vector<double>& x) const {
        for (size_t i = 1; i < m_; ++i)
            for (size_t j = 0; j < i; ++j) x[i] -= factor_[i * m_ + j] * x[j];
        for (size_t i = m_; i-- > 0;) {
            x[i] /= factor_[i * (m_ + 1)];
            for (size_t j = i + 1; j < m_; ++j) x[i] -= factor_[j * m_ + i] * x[j];
        }
    }

    // Solve Hessian * step = -gradient for the free classes; in p, subject to sum(p step) = 0,
    // by its Lagrange multiplier.
    void substitute_step() {
        for (size_t m = 0; m < m_; ++m) {
            step_[m] = is_fixed(m) ? held_[m] : -gradient_[m];
            lifted_[m] = is_fixed(m) ? 0.0 : p_[m];
        }
        for (size_t k = 0; k < m_; ++k) {
            if (held_[k] == 0.0) continue;
            for (size_t m = 0; m < m_; ++m)
                if (!is_fixed(m)) step_[m] -= entry(m, k) * held_[k];
        }
        substitute(step_);
        if (has_dont_cares_) return;
        substitute(lifted_);
        const double lift = weigh(p_, lifted_);
        if (!(lift > 0.0)) return;
        const double multiplier = weigh(p_, step_) / lift;
        for (size_t m = 0; m < m_; ++m) step_[m] -= multiplier * lifted_[m];
    }

    double weigh(const std::vector<double>& weights, const std::vector<double>& x) const {
        double sum = 0.0;
        for (size_t m = 0; m < m_; ++m) sum += weights[m] * x[m];
        return sum;
    }

    // After a Newton step y the error of p is of the order of p y^2, unless a class grows as
    // fast as it may.
    double step_error() const {
        double error = 0.0;
        for (size_t m = 0; m < m_; ++m) {
            if (held_[m] > 0.0) return std::numeric_limits<double>::infinity();
            error += std::max(1.0, moved(step_[m])) * p_[m] * step_[m] * step_[m];
        }
        return error;
    }

    bool is_short_step() const {
        return step_error() <= code_.tolerance && -slope() <= largest_decrement * total_weight_;
    }

    // For steps by a lifted Hessian, whose length says little about the distance to the minimum.
    bool is_flat() const {
        const double largest = code_.tolerance * total_weight_;
        return std::all_of(gradient_.begin(), gradient_.end(),
                           [&](double entry) { return std::fabs(entry) <= largest; });
    }

    // ---- the walk ---------------------------------------------------------------------------

    double moved(double y) const { return has_dont_cares_ ? std::exp(y) : 1.0 + y; }

    double lowest() const { return has_dont_cares_ ? -longest_step : -farthest_shrink; }
    double highest() const { return has_dont_cares_ ? longest_step : 1e6; }

    double slope() const {
        double sum = 0.0;
        for (size_t m = 0; m < m_; ++m) sum += gradient_[m];
        return weigh(gradient_, step_) - sum * weigh(p_, step_);
    }

    void try_length(double length) {
        double sum = 0.0;
        for (size_t m = 0; m < m_; ++m)
            sum += trial_[m] = std::max(p_[m] * moved(length * step_[m]), smallest_p);
        for (size_t m = 0; m < m_; ++m) trial_[m] /= sum;
    }

    // Armijo's rule, with an allowance for the rounding of F. The last step needs no check.
    bool walk(bool last) {
        const double descent = slope();
        if (!last && !(descent < 0.0)) return false;
        const double noise = 1e-15 * (total_weight_ + std::fabs(objective_));
        double length = 1.0;
        for (int halving = 0; halving < 20; ++halving, length *= 0.5) {
            try_length(length);
            const double after = last ? objective_ : objective(trial_);
            if (last || after <= objective_ + 1e-4 * length * descent + noise) {
                p_.swap(trial_);
                objective_ = after;
                return true;
            }
        }
        return false;
    }

    const CodeCoupling& code_;
    size_t m_;
    std::vector<Column> columns_;
    std::vector<double> r_, p_, trial_, gradient_, step_, lifted_, share_, held_, metric_;
    std::vector<double> hessian_, factor_;
    bool has_dont_cares_ = false;
    bool is_lifted_ = false;
    size_t ground_ = 0;
    double total_weight_ = 0.0;
    double objective_ = 0.0;
};

bool all_in_unit_interval(const double* r, size_t n) {
    for (size_t k = 0; k < n; ++k)
        if (!(r[k] >= 0.0 && r[k] <= 1.0)) return false;
    return true;
}

}    // namespace

bool couple_code(const CodeCoupling& code, const double* r, size_t n_rows, double* p,
                 size_t& n_unconverged) {
    if (!all_in_unit_interval(r, n_rows * code.n_columns)) return false;
    RowSolver solver(code);
    n_unconverged = 0;
    for (size_t row = 0; row < n_rows; ++row) {
        const bool converged = solver.solve(r + row * code.n_columns, p + row * code.n_classes);
        n_unconverged += converged ? 0 : 1;
    }
    return true;
}

}    // namespace polychotomy
