// Pairwise coupling: from one-vs-one probabilities to class probabilities.
//
// Rows of r hold the pairs (0,1), (0,2), ..., (1,2), ...; r_ij = P(class i | class i or j).
#pragma once

#include <cstddef>

namespace polychotomy {

using std::size_t;

// Probabilities are kept this far away from 0 and 1; see the functions that use them.
constexpr double kullback_clip = 1e-12;
constexpr double markov_clip = 1e-15;

// Static, or the linker could share one copy between instruction sets; see lanes.hpp.
static constexpr size_t count_pairs(size_t n_classes) { return n_classes * (n_classes - 1) / 2; }

struct Rows {
    const double* r;    // n_rows x count_pairs(n_classes)
    double* p;          // n_rows x n_classes, written
    size_t n_rows;
    size_t n_classes;
};

struct HastieTibshirani {
    const double* pair_weights;    // one per pair, or null for all ones
    double tolerance;
    int max_iterations;
    double pull = 0.0;    // at most largest_pull; times sum_i p_i log p_i is added to the objective
    // With a pull, a row is done only when the objective can fall by no more than this: classes
    // that vanish together then have their ratios. Set by couple_hastie_tibshirani.
    double enough = 0.0;
};

// Of the sum of the weights.
constexpr double largest_decrement = 1e-7;

// The pull is left out of Hessians, so that a step leaves an error in proportion to it.
constexpr double largest_pull = 1e-6;

// The algorithms, compiled for one instruction set. The workspace is aligned for lanes and has
// `workspace(n_classes)` doubles. Functions return false if some r is not in [0, 1].
struct PairwiseKernels {
    size_t (*workspace)(size_t n_classes);
    bool (*wu_lin_weng)(const Rows&, double* workspace);
    bool (*markov)(const Rows&, double* workspace);
    // Numbers of rows that need the slow path are put into `left_over`.
    bool (*hastie_tibshirani)(const Rows&, const HastieTibshirani&, double* workspace,
                              size_t* left_over, size_t& n_left_over);
};

bool couple_wu_lin_weng(const Rows& rows);
bool couple_markov(const Rows& rows);
bool couple_hastie_tibshirani(const Rows& rows, const HastieTibshirani& options,
                              size_t& n_unconverged);

}    // namespace polychotomy
