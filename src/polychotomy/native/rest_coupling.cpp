// Minimise F = sum_k KL(r_k || p_k) + pull * sum_k p_k log p_k over the simplex.
//
// With the multiplier t of sum p = 1, the minimum has (p - r) / (p (1 - p)) = t - pull log p for
// every class. For a given right-hand side, the "level", p is a root of a quadratic:
//     level p^2 + (1 - level) p - r = 0.
// sum p grows with t, so t is found by Newton's method, kept inside an interval. The pull is
// vanishing: its term is first left out, and then taken from the p before, which converges at
// a rate of pull (1 - p) / sqrt(discriminant), less than 1/2 for the pulls that are allowed here.

#include "rest_coupling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pairwise.hpp"

namespace polychotomy {
namespace {

using std::size_t;

constexpr int most_rounds = 100, most_passes = 40;
constexpr double least_change = 1e-12;    // of p, by the term of the pull

class RowSolver {
public:
    RowSolver(size_t n_classes, double pull)
        : m_(n_classes), pull_(pull), r_(m_), p_(m_), slope_(m_), offset_(m_), before_(m_) {}

    void solve(const double* r, double* p) {
        double sum = 0.0;
        for (size_t k = 0; k < m_; ++k)
            sum += r_[k] = std::min(std::max(r[k], kullback_clip), 1.0 - kullback_clip);
        std::fill(offset_.begin(), offset_.end(), 0.0);
        const double m = static_cast<double>(m_);
        double level = sum >= 1.0 ? find_level(0.0, -m, 0.0) : find_level(0.0, 0.0, m / (m - 1.0));
        for (int pass = 0; pass < most_passes; ++pass) {
            before_ = p_;
            double largest = 0.0;
            for (size_t k = 0; k < m_; ++k) {
                const double moved = -pull_ * std::log(p_[k]);
                largest = std::max(largest, std::fabs(moved - offset_[k]));
                offset_[k] = moved;
            }
            // The offsets have moved by at most `largest`, and the level moves against them.
            level = find_level(level, level - largest, level + largest);
            double change = 0.0;
            for (size_t k = 0; k < m_; ++k)
                change = std::max(change, std::fabs(p_[k] - before_[k]));
            if (change <= least_change) break;
        }
        std::copy(p_.begin(), p_.end(), p);
    }

private:
    // The level at which sum p = 1, and p there, scaled to a sum of exactly 1.
    double find_level(double level, double low, double high) {
        const double enough = 4.0 * std::numeric_limits<double>::epsilon() * static_cast<double>(m_);
        double sum = 0.0;
        for (int round = 0; round < most_rounds; ++round) {
            const double slope = evaluate(level, sum);
            const double excess = sum - 1.0;
            if (std::fabs(excess) <= enough) break;
            (excess > 0.0 ? high : low) = level;
            const double newton = level - excess / slope;
            const double next = newton > low && newton < high ? newton : 0.5 * (low + high);
            if (next == level) break;
            level = next;
        }
        for (double& p : p_) p /= sum;
        return level;
    }

    // Set p to the roots for a level, and return the derivative of their sum.
    double evaluate(double level, double& sum) {
        const size_t m = m_;
        const double *r = r_.data(), *offset = offset_.data();
        double *p = p_.data(), *slope = slope_.data();
        for (size_t k = 0; k < m; ++k) {
            const double t = level + offset[k], down = 1.0 - t, up = 1.0 + t;
            // Two forms of the same number, each without cancellation on its side of 0.
            const double discriminant =
                t < 0.0 ? up * up - 4.0 * t * (1.0 - r[k]) : down * down + 4.0 * t * r[k];
            const double root = std::sqrt(discriminant);
            p[k] = t <= 1.0 ? 2.0 * r[k] / (down + root) : (root - down) / (2.0 * t);
            slope[k] = p[k] * (1.0 - p[k]) / root;
        }
        double total = sum = 0.0;
        for (size_t k = 0; k < m; ++k) {
            sum += p[k];
            total += slope[k];
        }
        return total;
    }

    size_t m_;
    double pull_;
    std::vector<double> r_, p_, slope_, offset_, before_;
};

}    // namespace

bool couple_one_vs_rest(const double* r, size_t n_rows, size_t n_classes, double pull, double* p) {
    for (size_t k = 0; k < n_rows * n_classes; ++k)
        if (!(r[k] >= 0.0 && r[k] <= 1.0)) return false;
    RowSolver solver(n_classes, pull);
    for (size_t row = 0; row < n_rows; ++row)
        solver.solve(r + row * n_classes, p + row * n_classes);
    return true;
}

}    // namespace polychotomy
