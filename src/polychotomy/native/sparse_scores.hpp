// Scores of machines whose coefficients are sparse: one-vs-one of many classes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace polychotomy {

// The coefficients, column after column; column l has the entries from starts[l] to starts[l + 1].
struct SparseColumns {
    const std::int32_t* starts;
    const std::int32_t* rows;
    const double* values;
    std::size_t n_columns;
};

// scores[n, l] = biases[l] + sum over the entries of column l of value * kernel[n, row], where
// kernel has n_support columns. Sums are in the order of the entries. Returns false if an entry
// does not exist.
bool sparse_scores(const double* kernel, std::size_t n_rows, std::size_t n_support,
                   const SparseColumns& columns, std::size_t n_entries, const double* biases,
                   double* scores);

}    // namespace polychotomy
