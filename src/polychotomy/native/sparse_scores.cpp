// Rows are taken sixteen at a time: the entries are read once for all of them, and their sums stay
// in registers. Columns are taken eight at a time, which is a line of the cache in the scores.

#include "sparse_scores.hpp"

#include <algorithm>
#include <vector>

namespace polychotomy {
namespace {

using std::size_t;

constexpr size_t rows_at_once = 16, columns_at_once = 8;

bool are_valid(const SparseColumns& columns, size_t n_entries, size_t n_support) {
    if (columns.starts[0] != 0) return false;
    for (size_t l = 0; l < columns.n_columns; ++l)
        if (columns.starts[l] > columns.starts[l + 1]) return false;
    if (static_cast<size_t>(columns.starts[columns.n_columns]) > n_entries) return false;
    bool valid = true;
    for (size_t k = 0; k < static_cast<size_t>(columns.starts[columns.n_columns]); ++k)
        valid = valid && columns.rows[k] >= 0 && static_cast<size_t>(columns.rows[k]) < n_support;
    return valid;
}

}    // namespace

bool sparse_scores(const double* kernel, size_t n_rows, size_t n_support,
                   const SparseColumns& columns, size_t n_entries, const double* biases,
                   double* scores) {
    if (!are_valid(columns, n_entries, n_support)) return false;
    const size_t n_columns = columns.n_columns;
    std::vector<double> turned(n_support * rows_at_once);
    for (size_t first = 0; first < n_rows; first += rows_at_once) {
        const size_t count = std::min(rows_at_once, n_rows - first);
        for (size_t s = 0; s < n_support; ++s)
            for (size_t n = 0; n < count; ++n)
                turned[s * rows_at_once + n] = kernel[(first + n) * n_support + s];
        for (size_t left = 0; left < n_columns; left += columns_at_once) {
            const size_t width = std::min(columns_at_once, n_columns - left);
            double tile[rows_at_once][columns_at_once];
            for (size_t c = 0; c < width; ++c) {
                double sum[rows_at_once] = {};
                const auto end = static_cast<size_t>(columns.starts[left + c + 1]);
                for (auto k = static_cast<size_t>(columns.starts[left + c]); k < end; ++k) {
                    const double value = columns.values[k];
                    const double* own =
                        &turned[static_cast<size_t>(columns.rows[k]) * rows_at_once];
                    for (size_t n = 0; n < rows_at_once; ++n) sum[n] += value * own[n];
                }
                for (size_t n = 0; n < rows_at_once; ++n) tile[n][c] = sum[n] + biases[left + c];
            }
            for (size_t n = 0; n < count; ++n)
                std::copy(tile[n], tile[n] + width, scores + (first + n) * n_columns + left);
        }
    }
    return true;
}

}    // namespace polychotomy
