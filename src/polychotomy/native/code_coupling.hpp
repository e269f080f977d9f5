// Coupling for any code: class probabilities whose induced column probabilities are nearest to r.
#pragma once

#include <cstddef>
#include <cstdint>

namespace polychotomy {

struct CodeCoupling {
    const std::int8_t* matrix;       // n_classes x n_columns over {-1, 0, +1}
    const double* column_weights;    // n_columns, or null for all ones
    std::size_t n_classes;
    std::size_t n_columns;
    double pull;
    double tolerance;
    int max_iterations;
};

// Return false if some r is not in [0, 1].
bool couple_code(const CodeCoupling& code, const double* r, std::size_t n_rows, double* p,
                 std::size_t& n_unconverged);

}    // namespace polychotomy
