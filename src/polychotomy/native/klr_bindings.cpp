#include "bindings.hpp"

#include <algorithm>
#include <vector>

#include "klr.hpp"
#include "lane_functions.hpp"

namespace polychotomy {
namespace {

void solve(const Array<const double, 2>& gram, const Array<const std::int8_t, 2>& labels,
           const Array<const double, 1>& weights, const RowArray& rows, const RowArray& ends,
           const Array<const double, 1>& C_values, double tolerance, int max_iterations,
           size_t n_threads, const Array<double, 4>& coefficients, const Array<double, 3>& biases,
           const Array<std::int32_t, 3>& status, const Array<std::int32_t, 3>& iterations,
           const Array<double, 3>& criterion) {
    const size_t n_rows = gram.shape(0), n_columns = labels.shape(1);
    const size_t n_subsets = ends.shape(0), n_C = C_values.shape(0);
    require(gram.shape(1) == n_rows, "gram must be square.");
    require(labels.shape(0) == n_rows, "labels must have one row for every row of gram.");
    require(weights.shape(0) == n_rows, "weights must have one entry for every row of gram.");
    require(coefficients.shape(0) == n_subsets && coefficients.shape(1) == n_C &&
                coefficients.shape(2) == n_columns && coefficients.shape(3) == n_rows,
            "coefficients must have the shape (subsets, C values, columns, rows).");
    const auto fits = [&](const auto& array) {
        return array.shape(0) == n_subsets && array.shape(1) == n_C && array.shape(2) == n_columns;
    };
    require(fits(biases) && fits(status) && fits(iterations) && fits(criterion),
            "The results must have the shape (subsets, C values, columns).");
    const KlrProblems problems = {gram.data(),
                                  labels.data(),
                                  weights.data(),
                                  n_rows,
                                  n_columns,
                                  checked_lists(rows, ends, n_rows),
                                  n_subsets,
                                  C_values.data(),
                                  n_C,
                                  {tolerance, max_iterations}};
    const KlrResults results = {coefficients.data(), biases.data(), status.data(),
                                iterations.data(), criterion.data()};
    run_interruptible([&] {
        return solve_klr(problems, results, n_threads, python_was_interrupted);
    });
}

// For the tests: x becomes A^-1 x by the factorisation that the solver falls back on; false if A
// is not positive definite.
bool solve_positive_definite(const Array<const double, 2>& a, const Array<double, 1>& x) {
    const size_t n = a.shape(0);
    require(a.shape(1) == n && x.shape(0) == n, "The shapes must fit.");
    const MatrixKernels& kernels = lanes_in_use().matrix;
    const StopFlag never(false);
    SquareMatrix matrix;
    matrix.resize(padded_order(n), never);
    for (size_t i = 0; i < matrix.order(); ++i)
        for (size_t j = 0; j <= i; ++j)
            matrix.row(i)[j] = i < n ? a.data()[i * n + j] : static_cast<double>(i == j);
    if (!factorise(matrix, kernels, never)) return false;
    std::vector<double> padded(matrix.order(), 0.0);
    std::copy_n(x.data(), n, padded.begin());
    kernels.solve_forward(matrix.data(), matrix.stride(), matrix.order(), padded.data());
    kernels.solve_backward(matrix.data(), matrix.stride(), matrix.order(), padded.data());
    std::copy_n(padded.begin(), n, x.data());
    return true;
}

}    // namespace

void bind_klr(nb::module_& module) {
    module.def("solve_klr", &solve, "gram"_a.noconvert(), "labels"_a.noconvert(),
               "weights"_a.noconvert(), "rows"_a.noconvert(), "ends"_a.noconvert(),
               "C_values"_a.noconvert(), "tolerance"_a, "max_iterations"_a, "n_threads"_a,
               "coefficients"_a.noconvert(), "biases"_a.noconvert(), "status"_a.noconvert(),
               "iterations"_a.noconvert(), "criterion"_a.noconvert());
    module.def("klr_solve_positive_definite", &solve_positive_definite, "a"_a.noconvert(),
               "x"_a.noconvert());
    module.attr("KLR_CONVERGED") = static_cast<int>(KlrStatus::converged);
    module.attr("KLR_UNTRAINED") = static_cast<int>(KlrStatus::untrained);
    module.attr("KLR_ITERATION_LIMIT") = static_cast<int>(KlrStatus::iteration_limit);
    module.attr("KLR_STALLED") = static_cast<int>(KlrStatus::stalled);
    module.attr("KLR_INDEFINITE") = static_cast<int>(KlrStatus::indefinite);
    module.attr("KLR_NOT_FINITE") = static_cast<int>(KlrStatus::not_finite);
}

}    // namespace polychotomy
