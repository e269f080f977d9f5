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

// The classes on the two sides of a column, in ascending order.
struct CodeColumn {
    const int* side[2];    // the positive, then the negative
    std::size_t size[2];
    double weight;
};

// A column in which a class takes part, and on which side.
struct CodePlace {
    int column;
    int side;
};

// The same code, laid out for the loops over columns and over classes.
struct CodeLists {
    const CodeColumn* columns;
    const CodePlace* const* places;    // of class m: places[m] up to places[m + 1]
    std::size_t n_classes, n_columns;
    double total_weight;
    bool has_dont_cares;
    double pull, tolerance;
    int max_iterations;
};

// The solver, compiled for one instruction set. The workspace is aligned for lanes and has
// `workspace(n_classes, n_columns)` doubles. `couple` returns the number of rows that did not converge.
struct CodeKernels {
    std::size_t (*workspace)(std::size_t n_classes, std::size_t n_columns);
    std::size_t (*couple)(const CodeLists& code, const double* r, std::size_t n_rows, double* p,
                          double* workspace);
};

// Return false if some r is not in [0, 1].
bool couple_code(const CodeCoupling& code, const double* r, std::size_t n_rows, double* p,
                 std::size_t& n_unconverged);

}    // namespace polychotomy
