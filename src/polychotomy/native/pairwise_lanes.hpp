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

size_t workspace(size_t m) { return W * (m * m + 10 * m); }

}    // namespace pairwise
}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
