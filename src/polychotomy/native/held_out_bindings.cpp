#include "held_out_bindings.hpp"

#include <nanobind/ndarray.h>

#include <cstdint>

#include "held_out.hpp"
#include "interrupt.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace polychotomy {
namespace {

template <class T, size_t rank>
using Array = nb::ndarray<T, nb::ndim<rank>, nb::c_contig, nb::device::cpu>;

void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

void score(const Array<const double, 2>& gram, const Array<const double, 4>& coefficients,
           const Array<const double, 3>& biases, const Array<const std::int64_t, 1>& rows,
           const Array<const std::int64_t, 1>& ends, size_t n_threads,
           const Array<double, 3>& scores) {
    const size_t n_rows = gram.shape(0), n_folds = coefficients.shape(0);
    const size_t n_values = coefficients.shape(1), n_columns = coefficients.shape(2);
    require(gram.shape(1) == n_rows && coefficients.shape(3) == n_rows,
            "gram must be square, with a row for every coefficient.");
    require(biases.shape(0) == n_folds && biases.shape(1) == n_values &&
                biases.shape(2) == n_columns && ends.shape(0) == n_folds,
            "There must be a bias for every machine, and an end for every fold.");
    std::int64_t before = 0;
    for (size_t k = 0; k < n_folds; ++k) {
        require(before <= ends.data()[k], "The ends of the folds must not decrease.");
        before = ends.data()[k];
    }
    require(before == static_cast<std::int64_t>(rows.shape(0)),
            "The last fold must end with the last row.");
    for (size_t k = 0; k < rows.shape(0); ++k)
        require(rows.data()[k] >= 0 && rows.data()[k] < static_cast<std::int64_t>(n_rows),
                "A fold has a row that does not exist.");
    require(scores.shape(0) == n_values && scores.shape(1) == rows.shape(0) &&
                scores.shape(2) == n_columns,
            "The scores must have the shape (values, test rows, columns).");
    const TrainedPath path = {gram.data(), coefficients.data(), biases.data(), n_folds,
                              n_values,    n_columns,           n_rows};
    bool finished;
    {
        nb::gil_scoped_release release;
        finished = held_out_scores(path, {rows.data(), ends.data()}, scores.data(), n_threads,
                                   python_was_interrupted);
    }
    if (!finished) throw nb::python_error();
}

}    // namespace

void bind_held_out(nb::module_& module) {
    module.def("held_out_scores", &score, "gram"_a.noconvert(), "coefficients"_a.noconvert(),
               "biases"_a.noconvert(), "rows"_a.noconvert(), "ends"_a.noconvert(), "n_threads"_a,
               "scores"_a.noconvert());
}

}    // namespace polychotomy
