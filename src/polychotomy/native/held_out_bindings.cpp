#include "bindings.hpp"

#include "held_out.hpp"

namespace polychotomy {
namespace {

void score(const Array<const double, 2>& gram, const Array<const double, 4>& coefficients,
           const Array<const double, 3>& biases, const RowArray& rows, const RowArray& ends,
           size_t n_threads, const Array<double, 3>& scores) {
    const size_t n_rows = gram.shape(0), n_folds = coefficients.shape(0);
    const size_t n_values = coefficients.shape(1), n_columns = coefficients.shape(2);
    require(gram.shape(1) == n_rows && coefficients.shape(3) == n_rows,
            "gram must be square, with a row for every coefficient.");
    require(biases.shape(0) == n_folds && biases.shape(1) == n_values &&
                biases.shape(2) == n_columns && ends.shape(0) == n_folds,
            "There must be a bias for every machine, and an end for every fold.");
    const RowLists tests = checked_lists(rows, ends, n_rows);
    require(scores.shape(0) == n_values && scores.shape(1) == rows.shape(0) &&
                scores.shape(2) == n_columns,
            "The scores must have the shape (values, test rows, columns).");
    const TrainedPath path = {gram.data(), coefficients.data(), biases.data(), n_folds,
                              n_values,    n_columns,           n_rows};
    run_interruptible([&] {
        return held_out_scores(path, tests, scores.data(), n_threads, python_was_interrupted);
    });
}

}    // namespace

void bind_held_out(nb::module_& module) {
    module.def("held_out_scores", &score, "gram"_a.noconvert(), "coefficients"_a.noconvert(),
               "biases"_a.noconvert(), "rows"_a.noconvert(), "ends"_a.noconvert(), "n_threads"_a,
               "scores"_a.noconvert());
}

}    // namespace polychotomy
