#include "bindings.hpp"

#include "softmax.hpp"

namespace polychotomy {
namespace {

void solve(const Array<const double, 2>& scores, const Array<const std::int64_t, 1>& y,
           const Array<const double, 1>& weights, size_t n_classes, bool one_vs_rest,
           const RowArray& train, const RowArray& train_ends, const RowArray& test,
           const RowArray& test_ends,
           const Array<const double, 2>& C_values, double tolerance, int max_iterations,
           int extra_steps, size_t n_threads, const Array<double, 4>& out_weights,
           const Array<std::int32_t, 2>& converged, const Array<std::int32_t, 2>& iterations,
           const Array<double, 2>& errors, const Array<double, 2>& losses) {
    const SoftMaxScores data = {scores.data(), y.data(), weights.data(), n_classes, one_vs_rest};
    const size_t n_rows = scores.shape(0), n_subsets = C_values.shape(0), n_C = C_values.shape(1);
    require(n_classes >= 2, "There must be at least two classes.");
    require(scores.shape(1) == data.n_columns(), "scores must have the columns of the code.");
    require(y.shape(0) == n_rows && weights.shape(0) == n_rows,
            "y and weights must have one entry for every row of scores.");
    for (size_t n = 0; n < n_rows; ++n)
        require(y.data()[n] >= 0 && y.data()[n] < static_cast<std::int64_t>(n_classes),
                "y has a class that does not exist.");
    require(train_ends.shape(0) == n_subsets && test_ends.shape(0) == n_subsets,
            "There must be one row of C_values for every subset.");
    require(out_weights.shape(0) == n_subsets && out_weights.shape(1) == n_C &&
                out_weights.shape(2) == n_classes && out_weights.shape(3) == data.n_features(),
            "The weights must have the shape (subsets, C values, classes, features).");
    const auto fits = [&](const auto& array) {
        return array.shape(0) == n_subsets && array.shape(1) == n_C;
    };
    require(fits(converged) && fits(iterations) && fits(errors) && fits(losses),
            "The results must have the shape (subsets, C values).");
    const SoftMaxProblems problems = {data,
                                      checked_lists(train, train_ends, n_rows),
                                      checked_lists(test, test_ends, n_rows),
                                      n_subsets,
                                      C_values.data(),
                                      n_C,
                                      {tolerance, max_iterations, extra_steps}};
    const SoftMaxResults results = {out_weights.data(), converged.data(), iterations.data(),
                                    errors.data(), losses.data()};
    run_interruptible([&] {
        return solve_softmax(problems, results, n_threads, python_was_interrupted);
    });
}

}    // namespace

void bind_softmax(nb::module_& module) {
    module.def("solve_softmax", &solve, "scores"_a.noconvert(), "y"_a.noconvert(),
               "weights"_a.noconvert(), "n_classes"_a, "one_vs_rest"_a, "train"_a.noconvert(),
               "train_ends"_a.noconvert(), "test"_a.noconvert(), "test_ends"_a.noconvert(),
               "C_values"_a.noconvert(), "tolerance"_a, "max_iterations"_a,
               "extra_steps"_a, "n_threads"_a,
               "out_weights"_a.noconvert(), "converged"_a.noconvert(),
               "iterations"_a.noconvert(), "errors"_a.noconvert(), "losses"_a.noconvert());
}

}    // namespace polychotomy
