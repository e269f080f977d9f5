// Coupling of one-vs-rest probabilities, which separates into one scalar equation a row.
#pragma once

#include <cstddef>

namespace polychotomy {

// Column k of r is class k against the rest; the pull is at most largest_pull. Returns false if some r is not in [0, 1].
bool couple_one_vs_rest(const double* r, std::size_t n_rows, std::size_t n_classes, double pull,
                        double* p);

}    // namespace polychotomy
