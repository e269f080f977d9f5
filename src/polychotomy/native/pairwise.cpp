#include "pairwise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "lane_functions.hpp"
#include "workspace.hpp"

namespace polychotomy {

bool couple_wu_lin_weng(const Rows& rows) {
    Workspace workspace(lanes_in_use().pairwise.workspace(rows.n_classes));
    return lanes_in_use().pairwise.wu_lin_weng(rows, workspace.data());
}

bool couple_markov(const Rows& rows) {
    Workspace workspace(lanes_in_use().pairwise.workspace(rows.n_classes));
    return lanes_in_use().pairwise.markov(rows, workspace.data());
}

// ---- the slow path of Hastie and Tibshirani -------------------------------------------------

namespace {

constexpr double smallest_edge = 1e-280;
constexpr double longest_step = 5.0;
constexpr double largest_counted_step = 1e100;

size_t edges_of(size_t i) { return i * (i - 1) / 2; }

// One row by Newton's method in u = log p with a line search. It always converges, because the
// objective is convex, and is exact for any range of u, because it never forms p_i / p_j.
class CarefulNewton {
public:
    CarefulNewton(size_t m, const HastieTibshirani& options)
        : m_(m), options_(options), u_(m), trial_(m), p_(m), gradient_(m), step_(m), flow_(m),
          share_(m), edge_(count_pairs(m)), r_(count_pairs(m)) {}

    bool solve(const double* r, double* p) {
        start(r);
        bool converged = false;
        for (int round = 0; round < options_.max_iterations && !converged; ++round) {
            differentiate();
            flow_ = gradient_;
            solve_laplacian();
            converged = step_error() <= options_.tolerance && small_decrement();
            if (!search_line(converged)) break;
        }
        std::copy(p_.begin(), p_.end(), p);
        return converged;
    }

private:
    double weight(size_t edge) const {
        return options_.pair_weights ? options_.pair_weights[edge] : 1.0;
    }

    void start(const double* r) {
        std::vector<double>& won = gradient_;
        std::vector<double>& lost = step_;
        std::fill(won.begin(), won.end(), 0.0);
        std::fill(lost.begin(), lost.end(), 0.0);
        for (size_t i = 0, column = 0; i < m_; ++i)
            for (size_t j = i + 1; j < m_; ++j, ++column) {
                const size_t edge = edges_of(j) + i;
                r_[edge] = std::min(std::max(r[column], kullback_clip), 1.0 - kullback_clip);
                won[i] += weight(edge) * r_[edge];
                lost[i] += weight(edge) * (1.0 - r_[edge]);
                won[j] += weight(edge) * (1.0 - r_[edge]);
                lost[j] += weight(edge) * r_[edge];
            }
        for (size_t i = 0; i < m_; ++i) u_[i] = std::log(won[i] / lost[i]);
        normalise();
    }

    void normalise() {
        const double top = *std::max_element(u_.begin(), u_.end());
        double sum = 0.0;
        for (size_t i = 0; i < m_; ++i) sum += p_[i] = std::exp(u_[i] - top);
        for (size_t i = 0; i < m_; ++i) p_[i] /= sum;
        const double shift = top + std::log(sum);
        for (size_t i = 0; i < m_; ++i) u_[i] -= shift;
    }

    void differentiate() {
        std::fill(gradient_.begin(), gradient_.end(), 0.0);
        for (size_t j = 1, edge = 0; j < m_; ++j)
            for (size_t i = 0; i < j; ++i, ++edge) {
                const double difference = u_[i] - u_[j];
                const double small = std::exp(-std::fabs(difference));
                const double likely = 1.0 / (1.0 + small);
                const double unlikely = small * likely;
                // mu - r from the side where both are small, which cancels no digits
                const double excess = difference >= 0 ? (1.0 - r_[edge]) - unlikely
                                                      : unlikely - r_[edge];
                gradient_[i] += weight(edge) * excess;
                gradient_[j] -= weight(edge) * excess;
                edge_[edge] = std::max(weight(edge) * likely * unlikely, smallest_edge);
            }
        if (options_.pull == 0.0) return;
        double mean = 0.0;
        for (size_t i = 0; i < m_; ++i) mean += p_[i] * u_[i];
        for (size_t i = 0; i < m_; ++i) gradient_[i] += options_.pull * p_[i] * (u_[i] - mean);
    }

    void solve_laplacian() {
        for (size_t k = m_ - 1; k > 0; --k) {
            double* edge = edge_.data() + edges_of(k);
            double total = 0.0;
            for (size_t j = 0; j < k; ++j) total += edge[j];
            for (size_t i = 0; i < k; ++i) {
                const double entry = edge[i];
                share_[i] = edge[i] = entry / total;
                flow_[i] += flow_[k] * share_[i];
                double* row = edge_.data() + edges_of(i);
                for (size_t j = 0; j < i; ++j) row[j] += entry * share_[j];
            }
            flow_[k] /= total;
        }
        step_[0] = 0.0;
        double mean = 0.0;
        for (size_t k = 1; k < m_; ++k) {
            step_[k] = -flow_[k];
            for (size_t j = 0; j < k; ++j) step_[k] += edge_[edges_of(k) + j] * step_[j];
            mean += p_[k] * step_[k];
        }
        for (size_t k = 0; k < m_; ++k) step_[k] -= mean;
    }

    bool small_decrement() const {
        return options_.pull == 0.0 || -slope() <= options_.enough;
    }

    double step_error() const {
        double error = 0.0;
        for (size_t i = 0; i < m_; ++i) {
            const double x = std::min(std::fabs(step_[i]), largest_counted_step);
            error += p_[i] * std::exp(std::min(std::max(step_[i], 0.0), longest_step)) * x * x;
        }
        return error;
    }

    double objective(const std::vector<double>& u) const {
        double sum = 0.0;
        for (size_t j = 1, edge = 0; j < m_; ++j)
            for (size_t i = 0; i < j; ++i, ++edge) {
                const double difference = u[i] - u[j];
                const double against = difference >= 0 ? 1.0 - r_[edge] : r_[edge];
                sum += weight(edge) * (std::log1p(std::exp(-std::fabs(difference))) +
                                       against * std::fabs(difference));
            }
        return options_.pull == 0.0 ? sum : sum - options_.pull * entropy(u);
    }

    double entropy(const std::vector<double>& u) const {
        const double top = *std::max_element(u.begin(), u.end());
        double sum = 0.0, mean = 0.0;
        for (size_t i = 0; i < m_; ++i) {
            const double mass = std::exp(u[i] - top);
            sum += mass;
            mean += mass * (u[i] - top);
        }
        return std::log(sum) - mean / sum;
    }

    double slope() const {
        double sum = 0.0;
        for (size_t i = 0; i < m_; ++i) sum += gradient_[i] * step_[i];
        return sum;
    }

    // Clip the step class by class; if that does not lead down, scale it as a whole.
    void shorten_step() {
        std::copy(step_.begin(), step_.end(), share_.begin());
        double longest = 0.0;
        for (size_t i = 0; i < m_; ++i) {
            longest = std::max(longest, std::fabs(step_[i]));
            step_[i] = std::min(std::max(step_[i], -longest_step), longest_step);
        }
        if (longest <= longest_step || slope() < 0.0) return;
        for (size_t i = 0; i < m_; ++i) step_[i] = share_[i] * (longest_step / longest);
    }

    // Armijo's rule, with an allowance for the rounding of the objective.
    bool search_line(bool last) {
        shorten_step();
        const double before = objective(u_);
        const double noise = 1e-14 * before;
        const double descent = slope();
        double length = 1.0;
        for (int halving = 0; halving < 60; ++halving, length *= 0.5) {
            for (size_t i = 0; i < m_; ++i) trial_[i] = u_[i] + length * step_[i];
            if (last || objective(trial_) <= before + 1e-4 * length * descent + noise) {
                u_.swap(trial_);
                normalise();
                return true;
            }
        }
        return false;
    }

    size_t m_;
    const HastieTibshirani& options_;
    std::vector<double> u_, trial_, p_, gradient_, step_, flow_, share_, edge_, r_;
};

// Weights in the order of the columns, (i, j) with i < j, put in the order of the lower triangle.
std::vector<double> by_lower_triangle(const double* weights, size_t m) {
    std::vector<double> turned(weights ? count_pairs(m) : 0);
    for (size_t i = 0, column = 0; weights && i < m; ++i)
        for (size_t j = i + 1; j < m; ++j) turned[edges_of(j) + i] = weights[column++];
    return turned;
}

}    // namespace

bool couple_hastie_tibshirani(const Rows& rows, const HastieTibshirani& options,
                              size_t& n_unconverged) {
    const std::vector<double> weights = by_lower_triangle(options.pair_weights, rows.n_classes);
    HastieTibshirani ordered = options;
    ordered.pair_weights = options.pair_weights ? weights.data() : nullptr;
    const double total = weights.empty() ? static_cast<double>(count_pairs(rows.n_classes))
                                         : std::accumulate(weights.begin(), weights.end(), 0.0);
    ordered.enough = largest_decrement * total;
    Workspace workspace(lanes_in_use().pairwise.workspace(rows.n_classes));
    std::vector<size_t> left_over(rows.n_rows);
    size_t n_left_over = 0;
    if (!lanes_in_use().pairwise.hastie_tibshirani(rows, ordered, workspace.data(),
                                                   left_over.data(), n_left_over))
        return false;
    CarefulNewton careful(rows.n_classes, ordered);
    n_unconverged = 0;
    for (size_t k = 0; k < n_left_over; ++k) {
        const size_t row = left_over[k];
        const bool converged = careful.solve(rows.r + row * count_pairs(rows.n_classes),
                                             rows.p + row * rows.n_classes);
        n_unconverged += converged ? 0 : 1;
    }
    return true;
}

}    // namespace polychotomy
