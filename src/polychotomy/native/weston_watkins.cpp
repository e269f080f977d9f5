// The sequential dual method of Keerthi, Sundararajan, Chang, Hsieh and Lin (2008), "A sequential
// dual method for large scale multi-class linear SVMs": the dual of one row at a time is solved
// exactly. Departures: the problem of a row is solved by Newton's method for the sum of its
// changes, which is one equation in one unknown; and the stopping rule is a bound on the error of
// the scores. The primal value P is strongly convex, so weights w are within sqrt(2 (P(w) - P*)) of
// the best ones, and no score is further from its own than that times the length of z. (A gap that
// is small beside P says less: with a gap of P / 1000, scores moved by 0.03 with the order of rows.)
//
// The dual is  min 1/2 sum_k |w_k|^2 - 2 sum a_ik  over 0 <= a_ik <= C_i, k != y_i,  where
// w_k = sum over rows of class k of (sum_l a_il) z_i  -  sum over the other rows of a_ik z_i.

#include "weston_watkins.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace polychotomy {
namespace {

using std::size_t;

constexpr double margin = 2.0;
constexpr int passes_over_moved = 9;      // between two passes over all rows
constexpr int newton_limit = 100;
constexpr double negligible = 1e-14;      // a change of a dual, as a share of its bound
constexpr double rounding = 1e-13;        // of the gap, as a share of the primal value
constexpr size_t lanes = 8;
constexpr size_t rows_between_checks = 4096;

// Eight sums, which the compiler can keep in vectors: it may not reorder a single one.
double dot(const double* a, const double* b, size_t n) {
    double sums[lanes] = {};
    size_t j = 0;
    for (; j + lanes <= n; j += lanes)
        for (size_t lane = 0; lane < lanes; ++lane) sums[lane] += a[j + lane] * b[j + lane];
    for (; j < n; ++j) sums[0] += a[j] * b[j];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

class Solver {
   public:
    Solver(const WestonWatkinsProblem& problem, WestonWatkinsResult& result, std::uint64_t seed)
        : problem_(problem), result_(result), random_(seed), order_(problem.n_rows),
          squares_(problem.n_rows), scores_(problem.n_classes), targets_(problem.n_classes) {
        std::iota(order_.begin(), order_.end(), size_t{0});
        for (size_t i = 0; i < problem.n_rows; ++i)
            squares_[i] = dot(row(i), row(i), problem.n_features);
    }

    bool run(double tolerance, int max_epochs, const std::function<bool()>& interrupted) {
        double longest = 0.0;
        for (const double square : squares_) longest = std::max(longest, std::sqrt(square));
        while (result_.epochs < max_epochs) {
            std::vector<size_t> moved = order_;
            for (int pass = 0; pass <= passes_over_moved && !moved.empty(); ++pass) {
                if (!epoch(moved, interrupted)) return false;
                if (++result_.epochs >= max_epochs) break;
            }
            evaluate();
            const double gap = result_.primal - result_.dual;
            const double error = std::sqrt(2.0 * std::max(gap, 0.0)) * longest;
            result_.converged = error <= tolerance || gap <= rounding * result_.primal;
            if (result_.converged) break;
        }
        return true;
    }

   private:
    const double* row(size_t i) const { return problem_.features + i * problem_.n_features; }
    double* weights(size_t k) const { return result_.weights + k * problem_.n_features; }
    double* duals(size_t i) const { return result_.duals + i * problem_.n_classes; }

    void score(size_t i) {
        for (size_t k = 0; k < problem_.n_classes; ++k)
            scores_[k] = dot(weights(k), row(i), problem_.n_features);
    }

    // Updates these rows in random order, and keeps those that moved.
    bool epoch(std::vector<size_t>& rows, const std::function<bool()>& interrupted) {
        // The shuffle of the standard library is not the same everywhere.
        for (size_t n = rows.size(); n > 1; --n) std::swap(rows[n - 1], rows[random_() % n]);
        size_t kept = 0, done = 0;
        for (const size_t i : rows) {
            if (++done % rows_between_checks == 0 && interrupted()) return false;
            if (update(i)) rows[kept++] = i;
        }
        rows.resize(kept);
        return !interrupted();
    }

    // Solves for the duals of one row, all others fixed; false if nothing moves.
    bool update(size_t i) {
        score(i);
        const size_t own = static_cast<size_t>(problem_.y[i]);
        const double curvature = squares_[i], bound = problem_.bounds[i];
        double* a = duals(i);
        // With d the changes and s their sum, the slope is g + |z|^2 (d + s): d = target - s,
        // within bounds.
        for (size_t k = 0; k < problem_.n_classes; ++k) {
            const double slope = scores_[own] - scores_[k] - margin;
            targets_[k] = curvature > 0.0 ? -slope / curvature : bound;
        }
        const double sum = curvature > 0.0 ? sum_of_changes(a, own, bound) : 0.0;
        double total = 0.0, largest = 0.0;
        for (size_t k = 0; k < problem_.n_classes; ++k) {
            if (k == own) continue;
            const double next = std::clamp(a[k] + targets_[k] - sum, 0.0, bound);
            const double change = next - a[k];
            if (std::abs(change) <= negligible * bound) continue;
            a[k] = next;
            total += change;
            largest = std::max(largest, std::abs(change));
            add(k, -change, i);
        }
        if (largest > 0.0) add(own, total, i);
        return largest > 0.0;
    }

    // The root of sum_k clamp(target_k - s) - s, which falls with a slope of at least 1.
    double sum_of_changes(const double* a, size_t own, double bound) const {
        double low = -std::numeric_limits<double>::infinity(), high = -low, sum = 0.0;
        for (int step = 0; step < newton_limit; ++step) {
            double value = -sum;
            int free = 0;
            for (size_t k = 0; k < problem_.n_classes; ++k) {
                if (k == own) continue;
                const double wanted = a[k] + targets_[k] - sum;
                free += wanted > 0.0 && wanted < bound;
                value += std::clamp(wanted, 0.0, bound) - a[k];
            }
            if (std::abs(value) <= negligible * bound) break;
            (value > 0.0 ? low : high) = sum;
            const double next = sum + value / (1 + free);
            const bool inside = next > low && next < high;
            const double before = sum;
            sum = inside ? next : 0.5 * (low + high);
            if (sum == before) break;
        }
        return sum;
    }

    void add(size_t k, double factor, size_t i) {
        double* w = weights(k);
        const double* z = row(i);
        for (size_t j = 0; j < problem_.n_features; ++j) w[j] += factor * z[j];
    }

    void evaluate() {
        const size_t size = problem_.n_classes * problem_.n_features;
        const double penalty = 0.5 * dot(result_.weights, result_.weights, size);
        double losses = 0.0, duals_sum = 0.0;
        for (size_t i = 0; i < problem_.n_rows; ++i) {
            score(i);
            const size_t own = static_cast<size_t>(problem_.y[i]);
            double violations = 0.0;
            for (size_t k = 0; k < problem_.n_classes; ++k) {
                if (k == own) continue;
                violations += std::max(0.0, margin - scores_[own] + scores_[k]);
                duals_sum += duals(i)[k];
            }
            losses += problem_.bounds[i] * violations;
        }
        result_.primal = penalty + losses;
        result_.dual = margin * duals_sum - penalty;
    }

    const WestonWatkinsProblem& problem_;
    WestonWatkinsResult& result_;
    std::mt19937_64 random_;
    std::vector<size_t> order_;
    std::vector<double> squares_, scores_, targets_;
};

}    // namespace

bool solve_weston_watkins(const WestonWatkinsProblem& problem, double tolerance, int max_epochs,
                          std::uint64_t seed, WestonWatkinsResult& result,
                          const std::function<bool()>& interrupted) {
    return Solver(problem, result, seed).run(tolerance, max_epochs, interrupted);
}

}    // namespace polychotomy
