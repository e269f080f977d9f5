// Pairwise coupling of several rows at once, one row a lane; see lanes.hpp for the rules.
#pragma once

#include "lanes.hpp"
#include "pairwise.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {
namespace pairwise {

// W rows side by side. The last block of a matrix is padded with its last row.
struct Block {
    const double* r[W];
    double* p[W];
    size_t n_rows;

    Block(const Rows& rows, size_t first) {
        const size_t n_pairs = count_pairs(rows.n_classes);
        n_rows = rows.n_rows - first < W ? rows.n_rows - first : W;
        for (size_t w = 0; w < W; ++w) {
            const size_t row = first + (w < n_rows ? w : n_rows - 1);
            r[w] = rows.r + row * n_pairs;
            p[w] = rows.p + row * rows.n_classes;
        }
    }
    Lane pair(size_t column) const {
        Lane x = all(0.0);
        for (size_t w = 0; w < W; ++w) set(x, w, r[w][column]);
        return x;
    }
    void write(size_t label, Lane x) const {
        for (size_t w = 0; w < n_rows; ++w) p[w][label] = at(x, w);
    }
};

inline Mask in_unit_interval(Lane x) { return (x >= all(0.0)) & (x <= all(1.0)); }

// Write x / sum(x), negative rounding errors set to zero.
void write_normalised(const Block& block, Lane* x, size_t m) {
    Lane sum = all(0.0);
    for (size_t i = 0; i < m; ++i) {
        x[i] = larger(x[i], all(0.0));
        sum += x[i];
    }
    const Lane scale = 1.0 / sum;
    for (size_t i = 0; i < m; ++i) block.write(i, x[i] * scale);
}

// Entries of a symmetric matrix: (i, j) with j <= i.
inline size_t triangle(size_t i) { return i * (i + 1) / 2; }

// ---- Wu, Lin and Weng's second method -------------------------------------------------------

constexpr size_t panel = 4;    // columns that are eliminated together

// The lower triangle of Q + ee'. Q is singular where the r are consistent; adding ee' makes it
// positive definite and leaves the direction of the solution as it is.
Mask fill_wu_lin_weng(const Block& block, Lane* q, size_t m) {
    Mask valid = in_unit_interval(block.pair(0));
    for (size_t i = 0; i < m; ++i) q[triangle(i) + i] = all(1.0);
    size_t column = 0;
    for (size_t i = 0; i < m; ++i) {
        Lane diagonal = q[triangle(i) + i];
        for (size_t j = i + 1; j < m; ++j) {
            const Lane r = block.pair(column++);
            const Lane turned = 1.0 - r;
            valid = valid & in_unit_interval(r);
            diagonal += turned * turned;
            q[triangle(j) + j] += r * r;
            q[triangle(j) + i] = 1.0 - r * turned;
        }
        q[triangle(i) + i] = diagonal;
    }
    return valid;
}

// Solve (Q + ee') x = e by LDL' without square roots. Four columns at a time are taken out of what is
// below and to the right of them: with hundreds of classes the matrix is larger than the cache, and
// would be read and written for every column. Each entry is changed in the order of the columns, so
// the result is the same to the last bit. `factor` and `entry` hold the four columns.
void solve_wu_lin_weng(Lane* q, Lane* x, Lane* factor, Lane* entry, size_t m) {
    for (size_t i = 0; i < m; ++i) x[i] = all(1.0);
    for (size_t first = 0; first < m; first += panel) {
        const size_t last = first + panel < m ? first + panel : m;
        for (size_t k = first; k < last; ++k) {
            Lane* f = factor + (k - first) * m;
            Lane* e = entry + (k - first) * m;
            const Lane inverse = 1.0 / q[triangle(k) + k];
            q[triangle(k) + k] = inverse;
            for (size_t i = k + 1; i < m; ++i) {
                Lane* row = q + triangle(i);
                e[i] = row[k];
                row[k] = f[i] = e[i] * inverse;
                for (size_t j = k + 1; j <= i && j < last; ++j) row[j] -= e[i] * f[j];
                x[i] -= f[i] * x[k];
            }
        }
        const Lane *f0 = factor, *f1 = f0 + m, *f2 = f1 + m, *f3 = f2 + m;
        for (size_t i = last; i < m; ++i) {
            Lane* row = q + triangle(i);
            const Lane e0 = entry[i], e1 = entry[m + i], e2 = entry[2 * m + i], e3 = entry[3 * m + i];
            for (size_t j = last; j <= i; ++j) {
                Lane value = row[j];
                value -= e0 * f0[j];
                value -= e1 * f1[j];
                value -= e2 * f2[j];
                value -= e3 * f3[j];
                row[j] = value;
            }
        }
    }
    for (size_t i = m; i-- > 0;) {
        x[i] = x[i] * q[triangle(i) + i];
        for (size_t k = i + 1; k < m; ++k) x[i] -= q[triangle(k) + i] * x[k];
    }
}

bool wu_lin_weng(const Rows& rows, double* workspace) {
    const size_t m = rows.n_classes;
    Lane* x = reinterpret_cast<Lane*>(workspace);
    Lane* factor = x + m;
    Lane* entry = factor + panel * m;
    Lane* q = entry + panel * m;
    for (size_t first = 0; first < rows.n_rows; first += W) {
        const Block block(rows, first);
        if (!every(fill_wu_lin_weng(block, q, m))) return false;
        solve_wu_lin_weng(q, x, factor, entry, m);
        write_normalised(block, x, m);
    }
    return true;
}

// ---- Wu, Lin and Weng's first method --------------------------------------------------------

// rate[i * m + j]: how fast the chain goes from i to j, that is r_ji. With an exact 0, a state
// may have no way out to the states not yet eliminated; moving r by 1e-15 moves the stationary
// distribution by about as much, because every two states exchange a total rate of 1.
Mask fill_markov(const Block& block, Lane* rate, size_t m) {
    Mask valid = in_unit_interval(block.pair(0));
    size_t column = 0;
    for (size_t i = 0; i < m; ++i) {
        rate[i * m + i] = all(0.0);
        for (size_t j = i + 1; j < m; ++j) {
            const Lane r = block.pair(column++);
            valid = valid & in_unit_interval(r);
            rate[i * m + j] = larger(1.0 - r, all(markov_clip));
            rate[j * m + i] = larger(r, all(markov_clip));
        }
    }
    return valid;
}

// Grassmann, Taksar and Heyman: eliminate the states one by one, without a subtraction.
void solve_markov(Lane* rate, Lane* p, size_t m) {
    for (size_t k = m - 1; k > 0; --k) {
        const Lane* out = rate + k * m;
        Lane total = out[0];
        for (size_t j = 1; j < k; ++j) total += out[j];
        const Lane inverse = 1.0 / total;
        for (size_t i = 0; i < k; ++i) {
            Lane* row = rate + i * m;
            const Lane into = row[k] * inverse;
            row[k] = into;
            for (size_t j = 0; j < k; ++j) row[j] += into * out[j];
        }
    }
    p[0] = all(1.0);
    for (size_t k = 1; k < m; ++k) {
        p[k] = p[0] * rate[k];
        for (size_t i = 1; i < k; ++i) p[k] += p[i] * rate[i * m + k];
    }
}

bool markov(const Rows& rows, double* workspace) {
    const size_t m = rows.n_classes;
    Lane* p = reinterpret_cast<Lane*>(workspace);
    Lane* rate = p + m;
    for (size_t first = 0; first < rows.n_rows; first += W) {
        const Block block(rows, first);
        if (!every(fill_markov(block, rate, m))) return false;
        solve_markov(rate, p, m);
        write_normalised(block, p, m);
    }
    return true;
}

// ---- Hastie and Tibshirani ------------------------------------------------------------------

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
    Lane* step;
    Lane* share;
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

// Solve Laplacian * step = -gradient with step_0 = 0. Eliminating a class joins its neighbours by
// new edges (Kron reduction). These are sums and products of positive numbers only, so that weights
// of 1e-12 are as accurate as weights of 1. (LDL' would subtract.)
void solve_laplacian(const Newton& newton) {
    const size_t m = newton.m;
    for (size_t k = m - 1; k > 0; --k) {
        Lane* edge = newton.edge + edges_of(k);
        Lane total = edge[0];
        for (size_t j = 1; j < k; ++j) total += edge[j];
        const Lane inverse = 1.0 / total;
        const Lane flow = newton.gradient[k];
        for (size_t i = 0; i < k; ++i) {
            const Lane entry = edge[i];
            newton.share[i] = edge[i] = entry * inverse;
            newton.gradient[i] += flow * newton.share[i];
            Lane* row = newton.edge + edges_of(i);
            for (size_t j = 0; j < i; ++j) row[j] += entry * newton.share[j];
        }
        newton.gradient[k] = flow * inverse;
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
        solve_laplacian(newton);
        const Mask done = move(newton, active, tolerance);
        converged = converged | done;
        active = active & opposite(done) & large_enough(newton);
    }
    return converged;
}

Newton lay_out_newton(size_t m, double* workspace, const double* weights) {
    Lane* lanes = reinterpret_cast<Lane*>(workspace);
    return {m,           weights,     lanes,       lanes + m,
            lanes + 2 * m, lanes + 3 * m, lanes + 4 * m, lanes + 5 * m};
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

// ----------------------------------------------------------------------------------------------

size_t workspace(size_t m) { return W * (m * m + 10 * m); }

}    // namespace pairwise
}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
