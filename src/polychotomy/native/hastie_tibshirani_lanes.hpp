// Hastie and Tibshirani's coupling of several rows at once, one row a lane; see lanes.hpp.
#pragma once

#include "pairwise_lanes.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {
namespace pairwise {

// Newton's method in u = log p, p itself being kept. In these lanes the steps are only clipped;
// rows that do not converge in a few rounds, or whose p becomes too small to divide by, go to the
// slow path, which has a line search.
constexpr double longest_step = 4.0;
constexpr double smallest_p = 1e-200;
constexpr int most_rounds = 25;

struct Newton {
    size_t m;
    const double* weights;    // lower triangle without diagonal, or null
    Lane* p;
    Lane* target;      // sum_j n_ij r_ij: all that the solution needs of r
    Lane* gradient;
    Lane* before;      // the gradient, which is used up when the step is solved for
    Lane* step;
    Lane* entry;       // of the rows that are eliminated together
    Lane* edge;        // n_ij mu_ij mu_ji, (i, j) with j < i
};

inline size_t edges_of(size_t i) { return i * (i - 1) / 2; }

// The start p_i = s_i / (K_i - s_i), K_i the largest possible s_i, has the right ends: one
// class far above or below the others. For two classes p = s is the solution.
Mask start_newton(const Block& block, const Newton& newton) {
    const size_t m = newton.m;
    Mask valid = in_unit_interval(block.pair(0));
    Lane* lost = newton.step;
    for (size_t i = 0; i < m; ++i) newton.target[i] = lost[i] = all(0.0);
    size_t column = 0;
    for (size_t i = 0; i < m; ++i)
        for (size_t j = i + 1; j < m; ++j) {
            const Lane given = block.pair(column++);
            valid = valid & in_unit_interval(given);
            Lane r = larger(smaller(given, all(1.0 - kullback_clip)), all(kullback_clip));
            Lane turned = 1.0 - r;
            if (newton.weights) {
                r = r * newton.weights[edges_of(j) + i];
                turned = turned * newton.weights[edges_of(j) + i];
            }
            newton.target[i] += r;
            lost[i] += turned;
            newton.target[j] += turned;
            lost[j] += r;
        }
    for (size_t i = 0; i < m; ++i)
        newton.p[i] = m == 2 ? newton.target[i] : newton.target[i] / lost[i];
    return valid;
}

void normalise(Lane* p, size_t m) {
    Lane sum = p[0];
    for (size_t i = 1; i < m; ++i) sum += p[i];
    const Lane scale = 1.0 / sum;
    for (size_t i = 0; i < m; ++i) p[i] = p[i] * scale;
}

// The gradient sum_j n_ij (mu_ij - r_ij) and the edges of the Hessian, a graph Laplacian.
template <bool weighted>
void differentiate(const Newton& newton) {
    for (size_t i = 0; i < newton.m; ++i) newton.gradient[i] = all(0.0) - newton.target[i];
    for (size_t i = 1; i < newton.m; ++i) {
        Lane* edge = newton.edge + edges_of(i);
        const Lane p = newton.p[i];
        Lane wins = newton.gradient[i];
        for (size_t j = 0; j < i; ++j) {
            const Lane inverse = 1.0 / (p + newton.p[j]);
            Lane mu = p * inverse;
            Lane turned = newton.p[j] * inverse;
            edge[j] = mu * turned;
            if (weighted) {
                const double weight = newton.weights[edges_of(i) + j];
                edge[j] = edge[j] * weight;
                mu = mu * weight;
                turned = turned * weight;
            }
            wins += mu;
            newton.gradient[j] += turned;
        }
        newton.gradient[i] = wins;
    }
}

// Join the classes before the four that end at `last` by what went through these.
void join_neighbours(const Newton& newton, size_t last) {
    const size_t m = newton.m;
    const Lane *s0 = newton.edge + edges_of(last - 1), *s1 = newton.edge + edges_of(last - 2),
               *s2 = newton.edge + edges_of(last - 3), *s3 = newton.edge + edges_of(last - 4);
    const Lane *e0 = newton.entry, *e1 = e0 + m, *e2 = e1 + m, *e3 = e2 + m;
    for (size_t i = 0; i < last - panel; ++i) {
        Lane* row = newton.edge + edges_of(i);
        for (size_t j = 0; j < i; ++j) {
            Lane value = row[j];
            value += e0[i] * s0[j];
            value += e1[i] * s1[j];
            value += e2[i] * s2[j];
            value += e3[i] * s3[j];
            row[j] = value;
        }
    }
}

// Add the gradient of pull * sum p log p.
void add_pull(const Newton& newton, double pull) {
    Lane mean = all(0.0);
    for (size_t i = 0; i < newton.m; ++i) {
        newton.step[i] = logarithm(newton.p[i]);
        mean += newton.p[i] * newton.step[i];
    }
    for (size_t i = 0; i < newton.m; ++i)
        newton.gradient[i] += pull * newton.p[i] * (newton.step[i] - mean);
}

// Solve Laplacian * step = -gradient with step_0 = 0. Eliminating a class joins its neighbours by
// new edges (Kron reduction). These are sums and products of positive numbers only, so that weights
// of 1e-12 are as accurate as weights of 1. (LDL' would subtract.) As above, four classes are
// eliminated together, each entry being changed in the order of the classes.
void solve_laplacian(const Newton& newton) {
    const size_t m = newton.m;
    for (size_t last = m; last > 1;) {
        const size_t first = last > panel ? last - panel : 1;
        for (size_t k = last - 1; k >= first; --k) {
            Lane* edge = newton.edge + edges_of(k);
            Lane* entry = newton.entry + (last - 1 - k) * m;
            Lane total = edge[0];
            for (size_t j = 1; j < k; ++j) total += edge[j];
            const Lane inverse = 1.0 / total;
            const Lane flow = newton.gradient[k];
            for (size_t i = 0; i < k; ++i) {
                entry[i] = edge[i];
                edge[i] = entry[i] * inverse;
                newton.gradient[i] += flow * edge[i];
            }
            newton.gradient[k] = flow * inverse;
            for (size_t i = first; i < k; ++i) {
                Lane* row = newton.edge + edges_of(i);
                for (size_t j = 0; j < i; ++j) row[j] += entry[i] * edge[j];
            }
        }
        if (last > panel) join_neighbours(newton, last);
        last = first;
    }
    newton.step[0] = all(0.0);
    for (size_t k = 1; k < m; ++k) {
        const Lane* share = newton.edge + edges_of(k);
        Lane x = all(0.0) - newton.gradient[k];
        for (size_t j = 0; j < k; ++j) x += share[j] * newton.step[j];
        newton.step[k] = x;
    }
}

// Move the active lanes; return those that have converged by this step. After a Newton step x
// the error of log p is of the order of x^2; the error of p is that times p. A class whose p
// goes to (nearly) zero moves by -1 a round, and does not count once p is small.
Mask move(const Newton& newton, Mask active, Lane tolerance) {
    const size_t m = newton.m;
    Lane mean = newton.p[0] * newton.step[0];
    for (size_t i = 1; i < m; ++i) mean += newton.p[i] * newton.step[i];
    Lane error = all(0.0);
    Lane sum = all(0.0);
    for (size_t i = 0; i < m; ++i) {
        const Lane x = newton.step[i] - mean;
        const Lane clipped = larger(smaller(x, all(longest_step)), all(-longest_step));
        const Lane before = newton.p[i];
        const Lane after = larger(before * exponential(clipped), all(smallest_p));
        error += larger(before, after) * x * x;
        newton.step[i] = after;
        sum += after;
    }
    const Lane scale = 1.0 / sum;
    for (size_t i = 0; i < m; ++i)
        newton.p[i] = active ? newton.step[i] * scale : newton.p[i];
    return active & (error <= tolerance);
}

// Lanes whose p can still be divided by without losing everything.
Mask large_enough(const Newton& newton) {
    Lane least = newton.p[0];
    for (size_t i = 1; i < newton.m; ++i) least = smaller(least, newton.p[i]);
    return least > all(1e3 * smallest_p);
}

// Lanes whose objective can fall by little more.
Mask small_decrement(const Newton& newton, const HastieTibshirani& options) {
    Lane decrement = all(0.0);
    for (size_t i = 0; i < newton.m; ++i) decrement -= newton.before[i] * newton.step[i];
    return decrement <= all(options.enough);
}

Mask iterate(const Newton& newton, const HastieTibshirani& options) {
    const int rounds = options.max_iterations < most_rounds ? options.max_iterations : most_rounds;
    Mask active = all(0.0) >= all(0.0);
    Mask converged = opposite(active);
    const Lane tolerance = all(options.tolerance);
    for (int round = 0; round < rounds && !every(opposite(active)); ++round) {
        if (newton.weights)
            differentiate<true>(newton);
        else
            differentiate<false>(newton);
        Mask flat = active;
        if (options.pull > 0.0) {
            add_pull(newton, options.pull);
            for (size_t i = 0; i < newton.m; ++i) newton.before[i] = newton.gradient[i];
        }
        solve_laplacian(newton);
        if (options.pull > 0.0) flat = small_decrement(newton, options);
        const Mask done = move(newton, active, tolerance) & flat;
        converged = converged | done;
        active = active & opposite(done) & large_enough(newton);
    }
    return converged;
}

Newton lay_out_newton(size_t m, double* workspace, const double* weights) {
    Lane* lanes = reinterpret_cast<Lane*>(workspace);
    return {m,           weights,     lanes,       lanes + m,
            lanes + 2 * m, lanes + 3 * m, lanes + 4 * m, lanes + 5 * m, lanes + 9 * m};
}

bool hastie_tibshirani(const Rows& rows, const HastieTibshirani& options, double* workspace,
                       size_t* left_over, size_t& n_left_over) {
    const Newton newton = lay_out_newton(rows.n_classes, workspace, options.pair_weights);
    for (size_t first = 0; first < rows.n_rows; first += W) {
        const Block block(rows, first);
        if (!every(start_newton(block, newton))) return false;
        normalise(newton.p, newton.m);
        const Mask converged = iterate(newton, options);
        for (size_t i = 0; i < newton.m; ++i) block.write(i, newton.p[i]);
        for (size_t w = 0; w < block.n_rows; ++w)
            if (!at(converged, w)) left_over[n_left_over++] = first + w;
    }
    return true;
}

}    // namespace pairwise
}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
