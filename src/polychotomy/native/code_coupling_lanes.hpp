// Coupling for any code of several rows at once, one row a lane; see lanes.hpp for the rules.
//
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
//
// Rows take different numbers of rounds, so a lane whose row is done goes on with the next row.
#pragma once

#include "code_newton_lanes.hpp"
#include "pairwise.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {
namespace code_coupling {

constexpr double smallest_p = 1e-250;
// Classes that vanish together are done only when F no longer depends on their ratios.
constexpr double largest_decrement = 1e-7;
constexpr double least_damping = 1e-10, largest_damping = 1e6;
constexpr int most_halvings = 20;

class Solver {
public:
    Solver(const CodeLists& code, const double* r, size_t n_rows, double* p, double* workspace)
        : code_(code), state_(code, workspace), r_(r), n_rows_(n_rows), p_(p),
          objective_(all(0.0)), damping_(all(0.0)) {}

    // Returns the number of rows that did not converge.
    size_t solve() {
        size_t next = 0, n_unconverged = 0;
        for (size_t w = 0; w < W; ++w) {
            row_[w] = next < n_rows_ ? next++ : n_rows_;
            load(w);
        }
        start(opposite(nobody()));
        for (Mask active = busy(); any(active); active = busy()) {
            const Mask converged = advance(active);
            Lane fresh = all(0.0);
            for (size_t w = 0; w < W; ++w) {
                if (row_[w] == n_rows_) continue;
                const bool done = at(converged, w);
                if (!done && !at(stuck_, w) && ++rounds_[w] < code_.max_iterations) continue;
                n_unconverged += done ? 0 : 1;
                for (size_t m = 0; m < state_.m; ++m)
                    p_[row_[w] * state_.m + m] = at(state_.p[m], w);
                row_[w] = next < n_rows_ ? next++ : n_rows_;
                load(w);
                set(fresh, w, 1.0);
            }
            if (any(fresh > all(0.5))) start(fresh > all(0.5));
        }
        return n_unconverged;
    }

private:
    // The lanes that have a row.
    Mask busy() const {
        Lane flag = all(0.0);
        for (size_t w = 0; w < W; ++w) set(flag, w, row_[w] < n_rows_ ? 1.0 : 0.0);
        return flag > all(0.5);
    }

    // Put its row into a lane, or one of halves if there is none.
    void load(size_t w) {
        rounds_[w] = 0;
        for (size_t l = 0; l < code_.n_columns; ++l) {
            double r = row_[w] == n_rows_ ? 0.5 : r_[row_[w] * code_.n_columns + l];
            r = r < kullback_clip ? kullback_clip : r;
            set(state_.r[l], w, r > 1.0 - kullback_clip ? 1.0 - kullback_clip : r);
        }
        for (size_t m = 0; m < state_.m; ++m)
            set(state_.p[m], w, 1.0 / static_cast<double>(state_.m));
    }

    void start(Mask fresh) {
        objective_ = fresh ? objective(state_.p) : objective_;
        damping_ = fresh ? all(0.0) : damping_;
    }

    // One round of all lanes; returns those that are done.
    Mask advance(Mask active) {
        const Mask lifted = find_step(code_, state_, damping_, active);
        const Mask near = (lifted & is_flat()) | (opposite(lifted) & is_short_step());
        const Mask converged = active & (damping_ == all(0.0)) & near;
        const Mask walked = walk(active, converged);
        stuck_ = opposite(walked) & (damping_ > all(largest_damping));
        const Lane less = damping_ > all(least_damping) ? damping_ * 0.01 : all(0.0);
        damping_ = walked ? less : larger(damping_ * 100.0, all(least_damping));
        return converged;
    }

    Lane objective(const Lane* p) const {
        Lane fit = all(0.0);
        for (size_t l = 0; l < code_.n_columns; ++l) {
            const CodeColumn& column = code_.columns[l];
            const Lane positive = mass(column, 0, p), negative = mass(column, 1, p);
            const Lane both = positive + negative, r = state_.r[l], turned = 1.0 - r;
            fit += column.weight * (r * logarithm(r * both / positive) +
                                    turned * logarithm(turned * both / negative));
        }
        Lane entropy = all(0.0);
        for (size_t m = 0; m < state_.m; ++m) entropy -= p[m] * logarithm(p[m]);
        return fit - code_.pull * entropy;
    }

    // ---- is it done? ------------------------------------------------------------------------

    // After a Newton step y the error of p is of the order of p y^2, unless a class grows as
    // fast as it may.
    Mask is_short_step() const {
        Lane error = all(0.0);
        Mask bounded = opposite(nobody());
        for (size_t m = 0; m < state_.m; ++m) {
            const Lane y = state_.step[m];
            bounded = bounded & (state_.held[m] <= all(0.0));
            error += larger(moved(y), all(1.0)) * state_.p[m] * y * y;
        }
        const Lane decrement = all(0.0) - slope();
        return bounded & (error <= all(code_.tolerance)) &
               (decrement <= all(largest_decrement * code_.total_weight));
    }

    // For steps by a lifted Hessian, whose length says little about the distance to the minimum.
    Mask is_flat() const {
        Mask flat = opposite(nobody());
        for (size_t m = 0; m < state_.m; ++m)
            flat = flat & (absolute(state_.gradient[m]) <= all(code_.tolerance * code_.total_weight));
        return flat;
    }

    // ---- the walk ---------------------------------------------------------------------------

    Lane moved(Lane y) const {
        if (!code_.has_dont_cares) return 1.0 + y;
        return exponential(larger(smaller(y, all(longest_step)), all(-longest_step)));
    }

    Lane slope() const {
        Lane sum = all(0.0);
        for (size_t m = 0; m < state_.m; ++m) sum += state_.gradient[m];
        return dot(state_.gradient, state_.step, state_.m) -
               sum * dot(state_.p, state_.step, state_.m);
    }

    void try_length(double length) {
        Lane sum = all(0.0);
        for (size_t m = 0; m < state_.m; ++m) {
            const Lane p = state_.p[m] * moved(length * state_.step[m]);
            sum += state_.trial[m] = larger(p, all(smallest_p));
        }
        const Lane scale = 1.0 / sum;
        for (size_t m = 0; m < state_.m; ++m) state_.trial[m] *= scale;
    }

    // Armijo's rule, with an allowance for the rounding of F. The last step of a row needs no check.
    // Returns the lanes that moved.
    Mask walk(Mask active, Mask last) {
        const Lane descent = slope();
        const Lane noise = 1e-15 * (code_.total_weight + absolute(objective_));
        Mask trying = active & (last | (descent < all(0.0))), walked = nobody();
        double length = 1.0;
        for (int halving = 0; halving < most_halvings && any(trying); ++halving, length *= 0.5) {
            try_length(length);
            const bool to_check = any(trying & opposite(last));
            const Lane after = to_check ? objective(state_.trial) : objective_;
            const Lane bound = objective_ + 1e-4 * length * descent + noise;
            const Mask now = trying & (last | (after <= bound));
            objective_ = now ? after : objective_;
            for (size_t m = 0; m < state_.m; ++m)
                state_.p[m] = now ? state_.trial[m] : state_.p[m];
            walked = walked | now;
            trying = trying & opposite(now);
        }
        return walked;
    }

    const CodeLists& code_;
    State state_;
    const double* r_;
    size_t n_rows_;
    double* p_;
    Lane objective_, damping_;
    Mask stuck_;        // no step leads down
    size_t row_[W];     // of each lane; n_rows_ if there is none
    int rounds_[W];
};

size_t couple(const CodeLists& code, const double* r, size_t n_rows, double* p, double* workspace) {
    Solver solver(code, r, n_rows, p, workspace);
    return solver.solve();
}

}    // namespace code_coupling
}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
