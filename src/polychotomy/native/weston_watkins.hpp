// The multi-class SVM of Weston and Watkins, linear in given features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace polychotomy {

// Minimise 1/2 sum_k |w_k|^2 + sum_i C_i sum_{k != y_i} max(0, 2 - (w_{y_i} - w_k) . z_i).
struct WestonWatkinsProblem {
    const double* features;      // n_rows x n_features, finite
    const std::int64_t* y;       // the class of every row
    const double* bounds;        // C_i, positive
    std::size_t n_rows;
    std::size_t n_features;
    std::size_t n_classes;
};

struct WestonWatkinsResult {
    double* weights;             // n_classes x n_features, 0 at the start
    double* duals;               // n_rows x n_classes, 0 at the start; 0 at the row's own class
    double primal = 0.0;         // the value of the objective
    double dual = 0.0;           // and a lower bound of its minimum
    int epochs = 0;
    bool converged = false;
};

// Fills the result; false if interrupted. It stops once the scores of all rows are within
// `tolerance` of those of the minimum, or after so many passes over the rows.
bool solve_weston_watkins(const WestonWatkinsProblem& problem, double tolerance, int max_epochs,
                          std::uint64_t seed, WestonWatkinsResult& result,
                          const std::function<bool()>& interrupted);

}    // namespace polychotomy
