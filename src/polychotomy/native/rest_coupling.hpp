// Coupling of one-vs-rest probabilities, which separates into one scalar equation a row.
#pragma once

#include <cstddef>

namespace polychotomy {

// The largest pull for which the offsets of rest_coupling.cpp converge quickly.
constexpr double largest_rest_pull = 1e-6;

// Column k of r is class k against the rest. Returns false if some r is not in [0, 1].
bool couple_one_vs_rest(const double* r, std::size_t n_rows, std::size_t n_classes, double pull,
                        double* p);

}    // namespace polychotomy
