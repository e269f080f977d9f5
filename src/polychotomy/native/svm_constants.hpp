// Constants of the SVM solver that the decomposition method, which is written in Python, needs too.
#pragma once

#include <cstdint>
#include <limits>

namespace polychotomy {

// A coefficient this near to a bound, in units of its range, is at the bound except for rounding.
// If it were taken for a free one, it would determine the bias alone.
constexpr double svm_bound_slack = 1e-12;

// Replaces curvatures K_ii + K_jj - 2 K_ij that are smaller or negative, as tau does in LIBSVM.
// Entries are at most 1 here.
constexpr double svm_least_curvature = 1e-12;

// The stopping gap does not shrink below this share of what one row can add to an output.
constexpr double svm_least_share_of_reach = 1e-3;

// Nor below the rounding of this many additions.
constexpr double svm_rounding_terms = 64.0;

// Rows are numbered by 32 bits.
constexpr std::int64_t svm_most_rows = std::numeric_limits<std::uint32_t>::max();

}    // namespace polychotomy
