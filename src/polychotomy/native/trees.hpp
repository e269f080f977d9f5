// Small regression trees on binned inputs, for gradient boosting, and the answers of many trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace polychotomy {

// Inputs as the numbers of their bins, row by row.
struct BinnedRows {
    const std::uint8_t* bins;           // n_rows x n_inputs
    const std::int64_t* bin_counts;     // of every input, at most 256
    std::size_t n_rows;
    std::size_t n_inputs;
};

struct TreeLimits {
    std::size_t most_leaves;      // at least 1
    std::size_t least_rows;       // of a leaf, at least 1
    double least_curvature;       // of a leaf
    double penalty;               // of the squares of values
};

// Nodes of a tree, the first of which is its root. A leaf is its own next node.
struct TreeNodes {
    std::int64_t* inputs;      // which a row is sorted by; 0 for a leaf
    std::int64_t* last_bins;   // the last bin that goes to the left; 0 for a leaf
    std::int64_t* left;
    std::int64_t* right;
    double* values;
    // All have room for 2 most_leaves - 1 nodes.
};

// Grows a tree for a loss with these slopes and curvatures at every row: the split that promises
// most is made first. Returns the number of nodes, and adds the value of its leaf, times `rate`, to
// the score of every row; values of nodes are multiplied by it, too.
std::size_t grow_tree(const BinnedRows& rows, const double* slopes, const double* curvatures,
                      const TreeLimits& limits, double rate, const TreeNodes& nodes,
                      double* scores);

// Many trees: the trees of a round follow each other, one for every score.
struct Forest {
    const std::int64_t* roots;     // n_rounds x n_scores
    const std::int64_t* inputs;    // of n_nodes nodes
    const double* thresholds;      // up to it, a row goes to the left
    const std::int64_t* left;
    const std::int64_t* right;
    const double* values;
    std::size_t n_rounds;
    std::size_t n_scores;
    std::size_t depth;             // no path is longer
};

// Adds the values of all trees to scores (n_rows x n_scores); false if interrupted.
bool add_answers(const Forest& forest, const double* X, std::size_t n_rows, std::size_t n_inputs,
                 double* scores, const std::function<bool()>& interrupted);

}    // namespace polychotomy
