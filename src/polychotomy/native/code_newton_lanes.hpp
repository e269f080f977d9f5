// Newton steps of the coupling for any code, one row a lane; see lanes.hpp for the rules and
// code_coupling_lanes.hpp for the method.
#pragma once

#include "code_coupling.hpp"
#include "lanes.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {
namespace code_coupling {

constexpr double longest_step = 2.0;        // of log p
constexpr double farthest_shrink = 0.99;    // of p, where p itself is moved
constexpr double farthest_growth = 1e6;
constexpr double least_lift = 1e-3, largest_lift = 2.0;    // in units of the metric
constexpr double least_pivot = 1e-13;       // relative to the diagonal
constexpr size_t panel = 4;                 // classes that are eliminated together

inline size_t triangle(size_t i) { return i * (i + 1) / 2; }
inline bool any(Mask mask) { return !every(opposite(mask)); }
inline Lane absolute(Lane x) { return larger(x, all(0.0) - x); }
inline Mask nobody() { return all(1.0) < all(0.0); }

inline Lane dot(const Lane* x, const Lane* y, size_t n) {
    Lane sums[4] = {all(0.0), all(0.0), all(0.0), all(0.0)};
    size_t k = 0;
    for (; k + 4 <= n; k += 4)
        for (size_t s = 0; s < 4; ++s) sums[s] += x[k + s] * y[k + s];
    for (; k < n; ++k) sums[0] += x[k] * y[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The memory of a solver: W rows side by side.
struct State {
    size_t m;
    Lane *r;                                    // for each column, from here on:
    Lane *inverse[2];                           // 1 / P of the two sides
    Lane *same[2], *across;                     // what the Hessian gets for each share of a side
    Lane *p, *trial, *gradient, *step, *spare;  // for each class, from here on:
    Lane *held;                                 // the bound at which a step is held, or 0
    Lane *metric, *free;                        // free: 1, or 0 if the step is held or grounded
    Lane *factors, *entries;                    // of a panel
    Lane *hessian, *factor;                     // lower triangles

    State(const CodeLists& code, double* workspace) : m(code.n_classes) {
        Lane* next = reinterpret_cast<Lane*>(workspace);
        const auto take = [&next](size_t n) {
            Lane* taken = next;
            next += n;
            return taken;
        };
        const size_t n = code.n_columns;
        r = take(n);
        inverse[0] = take(n), inverse[1] = take(n);
        same[0] = take(n), same[1] = take(n), across = take(n);
        p = take(m), trial = take(m), gradient = take(m), step = take(m), spare = take(m);
        held = take(m), metric = take(m), free = take(m);
        factors = take(panel * m), entries = take(panel * m);
        hessian = take(triangle(m)), factor = take(triangle(m));
    }
};

size_t workspace(size_t m, size_t n_columns) {
    return W * (6 * n_columns + (8 + 2 * panel) * m + 2 * triangle(m));
}

inline Lane mass(const CodeColumn& column, int side, const Lane* p) {
    Lane sum = all(0.0);
    for (size_t k = 0; k < column.size[side]; ++k) sum += p[column.side[side][k]];
    return sum;
}

// ---- derivatives ----------------------------------------------------------------------------

// What every column adds: in u if the code has don't-cares, else in p.
void differentiate_columns(const CodeLists& code, const State& state) {
    for (size_t m = 0; m < state.m; ++m)
        state.gradient[m] = state.metric[m] = state.spare[m] = all(0.0);
    for (size_t l = 0; l < code.n_columns; ++l) {
        const CodeColumn& column = code.columns[l];
        const Lane positive = mass(column, 0, state.p), negative = mass(column, 1, state.p);
        const Lane inverse[2] = {1.0 / positive, 1.0 / negative};
        const Lane r = state.r[l];
        Lane slope[2];
        if (code.has_dont_cares) {
            const Lane both = positive + negative, q = positive / both, rest = negative / both;
            // q - r from the side where both are small, which cancels no digits
            const Lane excess = column.weight * (q < all(0.5) ? q - r : (1.0 - r) - rest);
            const Lane curvature = column.weight * q * rest;
            slope[0] = excess;
            slope[1] = all(0.0) - excess;
            state.same[0][l] = curvature - excess;
            state.same[1][l] = curvature + excess;
            state.across[l] = all(0.0) - curvature;
        } else {
            state.same[0][l] = column.weight * r;
            state.same[1][l] = column.weight * (1.0 - r);
            for (int side = 0; side < 2; ++side) slope[side] = all(0.0) - state.same[side][l];
        }
        for (int side = 0; side < 2; ++side) {
            state.inverse[side][l] = inverse[side];
            const Lane by_p = slope[side] * inverse[side], weight = column.weight * inverse[side];
            for (size_t k = 0; k < column.size[side]; ++k) {
                const int label = column.side[side][k];
                state.gradient[label] += by_p * state.p[label];
                state.metric[label] += weight * state.p[label];
            }
        }
    }
    // In u, the diagonal of the Hessian has the same terms as the gradient.
    for (size_t m = 0; m < state.m && code.has_dont_cares; ++m) state.spare[m] = state.gradient[m];
}

// Row i of the Hessian: a column adds one number for each class on the same side and one for each
// on the other. Each is to be multiplied by the class's p, which is done last.
void fill_hessian_row(const CodeLists& code, const State& state, size_t i) {
    Lane* row = state.hessian + triangle(i);
    for (size_t j = 0; j <= i; ++j) row[j] = all(0.0);
    for (const CodePlace* place = code.places[i]; place != code.places[i + 1]; ++place) {
        const CodeColumn& column = code.columns[place->column];
        const int l = place->column, side = place->side, other = 1 - side;
        const Lane share = state.p[i] * state.inverse[side][l];
        const Lane same = state.same[side][l] * share * state.inverse[side][l];
        const int* label = column.side[side];
        for (; static_cast<size_t>(*label) < i; ++label) row[*label] += same;
        row[i] += same;
        if (!code.has_dont_cares) continue;
        const Lane across = state.across[l] * share * state.inverse[other][l];
        const int* last = column.side[other] + column.size[other];
        for (label = column.side[other]; label != last && static_cast<size_t>(*label) < i; ++label)
            row[*label] += across;
    }
    for (size_t j = 0; j <= i; ++j) row[j] *= state.p[j];
    row[i] += state.spare[i];
}

// The metric, without the direction in which all u grow together.
void add_metric_in_u(const State& state, Lane scale) {
    Lane sum = all(0.0);
    for (size_t m = 0; m < state.m; ++m) sum += state.metric[m];
    for (size_t m = 0; m < state.m; ++m) {
        Lane* row = state.hessian + triangle(m);
        const Lane part = scale * state.metric[m] / sum;
        for (size_t k = 0; k <= m; ++k) row[k] -= part * state.metric[k];
        row[m] += scale * state.metric[m];
    }
}

void add_pull_in_u(const State& state, double pull) {
    const Lane *p = state.p;
    Lane* slope = state.spare;
    Lane mean = all(0.0);
    for (size_t m = 0; m < state.m; ++m) {
        slope[m] = logarithm(p[m]);
        mean += p[m] * slope[m];
    }
    for (size_t m = 0; m < state.m; ++m) {
        slope[m] = p[m] * (slope[m] - mean);
        state.gradient[m] += pull * slope[m];
    }
    for (size_t m = 0; m < state.m; ++m) {
        Lane* row = state.hessian + triangle(m);
        const Lane first = pull * (p[m] + slope[m]), second = pull * p[m];
        for (size_t k = 0; k <= m; ++k) row[k] -= first * p[k] + second * slope[k];
        row[m] += first;
    }
}

void differentiate(const CodeLists& code, const State& state, Lane damping) {
    differentiate_columns(code, state);
    for (size_t i = 0; i < state.m; ++i) fill_hessian_row(code, state, i);
    if (code.has_dont_cares) {
        add_pull_in_u(state, code.pull);
        if (any(damping > all(0.0))) add_metric_in_u(state, damping);
        return;
    }
    for (size_t m = 0; m < state.m; ++m) {
        const Lane pulled = code.pull * state.p[m];
        state.gradient[m] += pulled * (logarithm(state.p[m]) + 1.0);
        state.hessian[triangle(m) + m] += pulled + damping * state.metric[m];
    }
}

// ---- the linear system ----------------------------------------------------------------------

// LDL' of the Hessian of the classes that are free, with the inverse of D; returns the lanes
// whose pivots are all positive. Four columns at a time are taken out of what is below and to the
// right of them, as in pairwise_lanes.hpp.
Mask factorise(const State& state) {
    const size_t m = state.m;
    for (size_t i = 0; i < m; ++i) {
        const Lane* from = state.hessian + triangle(i);
        Lane* to = state.factor + triangle(i);
        const Mask free = state.free[i] > all(0.5);
        for (size_t j = 0; j < i; ++j) {
            const Mask both_free = free & (state.free[j] > all(0.5));
            to[j] = both_free ? from[j] : all(0.0);
        }
        to[i] = free ? from[i] : all(1.0);
    }
    Mask definite = opposite(nobody());
    for (size_t first = 0; first < m; first += panel) {
        const size_t last = first + panel < m ? first + panel : m;
        for (size_t k = first; k < last; ++k) {
            Lane* f = state.factors + (k - first) * m;
            Lane* e = state.entries + (k - first) * m;
            Lane& pivot = state.factor[triangle(k) + k];
            const Lane least = least_pivot * absolute(state.hessian[triangle(k) + k]) + 1e-300;
            definite = definite & (pivot > least);
            const Lane inverse = 1.0 / larger(pivot, least);
            pivot = inverse;
            for (size_t i = k + 1; i < m; ++i) {
                Lane* row = state.factor + triangle(i);
                e[i] = row[k];
                row[k] = f[i] = e[i] * inverse;
                for (size_t j = k + 1; j <= i && j < last; ++j) row[j] -= e[i] * f[j];
            }
        }
        const Lane *f0 = state.factors, *f1 = f0 + m, *f2 = f1 + m, *f3 = f2 + m;
        const Lane *e0 = state.entries, *e1 = e0 + m, *e2 = e1 + m, *e3 = e2 + m;
        for (size_t i = last; i < m; ++i) {
            Lane* row = state.factor + triangle(i);
            for (size_t j = last; j <= i; ++j)
                row[j] -= (e0[i] * f0[j] + e1[i] * f1[j]) + (e2[i] * f2[j] + e3[i] * f3[j]);
        }
    }
    return definite;
}

void substitute(const State& state, Lane* x) {
    for (size_t i = 1; i < state.m; ++i) x[i] -= dot(state.factor + triangle(i), x, i);
    for (size_t i = 0; i < state.m; ++i) x[i] *= state.factor[triangle(i) + i];
    for (size_t i = state.m; i-- > 1;) {
        const Lane* row = state.factor + triangle(i);
        for (size_t j = 0; j < i; ++j) x[j] -= row[j] * x[i];
    }
}

// Solve Hessian * step = -gradient for the free classes; in p, subject to sum(p step) = 0,
// by its Lagrange multiplier.
void substitute_step(const CodeLists& code, const State& state) {
    const size_t m = state.m;
    Lane *step = state.step, *lifted = state.spare;
    for (size_t i = 0; i < m; ++i) {
        const Mask free = state.free[i] > all(0.5);
        step[i] = free ? all(0.0) - state.gradient[i] : state.held[i];
        lifted[i] = free ? state.p[i] : all(0.0);
    }
    for (size_t k = 0; k < m; ++k) {
        const Lane held = state.held[k];
        if (!any(held != all(0.0))) continue;
        for (size_t i = 0; i < m; ++i) {
            const Lane entry = state.hessian[i > k ? triangle(i) + k : triangle(k) + i];
            step[i] -= state.free[i] > all(0.5) ? entry * held : all(0.0);
        }
    }
    substitute(state, step);
    if (code.has_dont_cares) return;
    substitute(state, lifted);
    const Lane lift = dot(state.p, lifted, m);
    const Lane multiplier = lift > all(0.0) ? dot(state.p, step, m) / lift : all(0.0);
    for (size_t i = 0; i < m; ++i) step[i] -= multiplier * lifted[i];
}

// ---- the step -------------------------------------------------------------------------------

// In u, F does not change if all u grow together, so the most probable class is kept fixed.
void release_classes(const CodeLists& code, const State& state) {
    Lane top = state.p[0];
    for (size_t m = 1; m < state.m; ++m) top = larger(top, state.p[m]);
    Mask found = code.has_dont_cares ? nobody() : opposite(nobody());
    for (size_t m = 0; m < state.m; ++m) {
        const Mask first = opposite(found) & (state.p[m] == top);
        found = found | first;
        state.free[m] = first ? all(0.0) : all(1.0);
        state.held[m] = all(0.0);
    }
}

// Hold the classes whose step is out of bounds, if any, at the bound: first those below it,
// because others may want to grow only by what these cannot give. Returns the lanes that changed.
Mask hold_classes(const CodeLists& code, const State& state, Mask active) {
    const Lane lowest = all(code.has_dont_cares ? -longest_step : -farthest_shrink);
    const Lane highest = all(code.has_dont_cares ? longest_step : farthest_growth);
    Mask changed = nobody();
    for (size_t m = 0; m < state.m; ++m) {
        const Mask now = active & (state.free[m] > all(0.5)) & (state.step[m] < lowest);
        state.held[m] = now ? lowest : state.held[m];
        state.free[m] = now ? all(0.0) : state.free[m];
        changed = changed | now;
    }
    for (size_t m = 0; m < state.m; ++m) {
        const Mask now = active & opposite(changed) & (state.free[m] > all(0.5)) &
                         (state.step[m] > highest);
        state.held[m] = now ? highest : state.held[m];
        state.free[m] = now ? all(0.0) : state.free[m];
        changed = changed | now;
    }
    return changed;
}

// A Newton step, kept within bounds class by class. Classes that would leave the bounds are
// held there, and the step of the others is solved for again. Without that, the others would be
// given mass which a vanishing class does not have. Returns the lanes whose Hessian was lifted.
Mask find_step(const CodeLists& code, const State& state, Lane damping, Mask active) {
    differentiate(code, state, damping);
    release_classes(code, state);
    Mask definite = factorise(state), lifted = nobody();
    // The metric bounds the curvature: a share of it makes the Hessian positive definite.
    for (double lift = least_lift; code.has_dont_cares && lift < largest_lift; lift *= 4.0) {
        const Mask now = active & opposite(definite);
        if (!any(now)) break;
        add_metric_in_u(state, now ? all(lift) : all(0.0));
        lifted = lifted | now;
        definite = factorise(state);
    }
    substitute_step(code, state);
    for (size_t pass = 0; pass < state.m && any(hold_classes(code, state, active)); ++pass) {
        factorise(state);
        substitute_step(code, state);
    }
    return lifted;
}

}    // namespace code_coupling
}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
