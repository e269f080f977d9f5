// The Python face of the SVM solver; svm.py checks values, shapes are checked here.

#include "svm_bindings.hpp"

#include <nanobind/ndarray.h>

#include "gram.hpp"
#include "interrupt.hpp"
#include "svm.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T, size_t rank>
using Array = nb::ndarray<T, nb::ndim<rank>, nb::c_contig, nb::device::cpu>;

void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

polychotomy::SvmGram as_gram(const Array<const double, 2>& gram) {
    require(gram.shape(0) == gram.shape(1), "gram must be square.");
    return {gram.data(), nullptr, gram.shape(0)};
}

polychotomy::SvmGram as_gram(const Array<const float, 2>& gram) {
    require(gram.shape(0) == gram.shape(1), "gram must be square.");
    return {nullptr, gram.data(), gram.shape(0)};
}

template <class Entry>
nb::tuple inspect_gram(const Array<const Entry, 2>& gram, size_t n_threads) {
    const polychotomy::SvmGram view = as_gram(gram);
    require(n_threads >= 1, "n_threads must be positive.");
    polychotomy::SvmGramFacts facts;
    bool finished;
    {
        nb::gil_scoped_release release;
        finished = polychotomy::inspect_gram(view, facts, n_threads, python_was_interrupted);
    }
    if (!finished) throw nb::python_error();
    return nb::make_tuple(facts.finite, facts.largest, facts.asymmetry);
}

void gaussian_of_distances(const Array<const double, 2>& distances, const Array<double, 2>& kernel,
                           double gamma, size_t n_threads) {
    require(distances.shape(0) == kernel.shape(0) && distances.shape(1) == kernel.shape(1),
            "kernel must have the shape of distances.");
    require(n_threads >= 1, "n_threads must be positive.");
    bool finished;
    {
        nb::gil_scoped_release release;
        finished = polychotomy::gaussian_of_distances(distances.data(), kernel.data(),
                                                      kernel.size(), gamma, n_threads,
                                                      python_was_interrupted);
    }
    if (!finished) throw nb::python_error();
}

void check_subsets(const Array<const std::int64_t, 1>& rows,
                   const Array<const std::int64_t, 1>& starts, size_t n) {
    require(starts.shape(0) >= 1 && starts.data()[0] == 0, "starts must begin with 0.");
    for (size_t s = 1; s < starts.shape(0); ++s)
        require(starts.data()[s - 1] <= starts.data()[s], "starts must not descend.");
    require(starts.data()[starts.shape(0) - 1] == static_cast<std::int64_t>(rows.shape(0)),
            "starts must end with the number of rows.");
    for (size_t k = 0; k < rows.shape(0); ++k)
        require(rows.data()[k] >= 0 && static_cast<size_t>(rows.data()[k]) < n,
                "A subset has a row that is not in gram.");
}

template <class T>
void require_shape(const Array<T, 3>& result, const polychotomy::SvmProblems& problems) {
    require(result.shape(0) == problems.n_subsets && result.shape(1) == problems.n_C &&
                result.shape(2) == problems.n_columns,
            "A result must have the shape (subsets, values of C, columns).");
}

// Raises KeyboardInterrupt, or whatever else a signal handler raises, once the workers are gone.
void run(const polychotomy::SvmProblems& problems, const polychotomy::SvmResults& results,
         size_t n_threads) {
    bool finished;
    {
        nb::gil_scoped_release release;
        finished = polychotomy::solve_svm(problems, results, n_threads, python_was_interrupted);
    }
    if (!finished) throw nb::python_error();
}

template <class Entry>
void solve_svm(const Array<const Entry, 2>& gram, double largest_entry,
               const Array<const std::int8_t, 2>& labels,
               const Array<const std::int64_t, 1>& rows,
               const Array<const std::int64_t, 1>& starts, const Array<const double, 1>& C_values,
               const nb::object& weights, double tolerance, std::int64_t max_iterations,
               size_t n_threads, const Array<double, 4>& coefficients,
               const Array<double, 3>& biases, const Array<double, 3>& gaps,
               const Array<std::int64_t, 3>& iterations, const Array<std::int8_t, 3>& status) {
    const polychotomy::SvmGram view = as_gram(gram);
    require(labels.shape(0) == view.n, "labels must have one row for every row of gram.");
    check_subsets(rows, starts, view.n);
    Array<const double, 1> holder;
    if (!weights.is_none()) {
        holder = nb::cast<Array<const double, 1>>(weights, false);
        require(holder.shape(0) == view.n, "weights must have one entry for every row of gram.");
    }
    const polychotomy::SvmProblems problems = {
        view,          largest_entry,   labels.data(),
        labels.shape(1), rows.data(),   starts.data(),
        starts.shape(0) - 1, C_values.data(), C_values.shape(0),
        weights.is_none() ? nullptr : holder.data(), tolerance, max_iterations};
    require_shape(biases, problems);
    require_shape(gaps, problems);
    require_shape(iterations, problems);
    require_shape(status, problems);
    require(coefficients.shape(0) == problems.n_subsets && coefficients.shape(1) == problems.n_C &&
                coefficients.shape(2) == problems.n_columns && coefficients.shape(3) == view.n,
            "coefficients must have the shape (subsets, values of C, columns, rows).");
    require(n_threads >= 1, "n_threads must be positive.");
    run(problems,
        {coefficients.data(), biases.data(), gaps.data(), iterations.data(), status.data()},
        n_threads);
}

template <class Entry>
void define_for(nb::module_& module) {
    module.def("inspect_gram", &inspect_gram<Entry>, "gram"_a.noconvert(), "n_threads"_a);
    module.def("solve_svm", &solve_svm<Entry>, "gram"_a.noconvert(), "largest_entry"_a,
               "labels"_a.noconvert(), "rows"_a.noconvert(), "starts"_a.noconvert(),
               "C_values"_a.noconvert(), "weights"_a.none(), "tolerance"_a, "max_iterations"_a,
               "n_threads"_a, "coefficients"_a.noconvert(), "biases"_a.noconvert(),
               "gaps"_a.noconvert(), "iterations"_a.noconvert(), "status"_a.noconvert());
}

}    // namespace

namespace polychotomy {

void bind_svm(nb::module_& module) {
    define_for<double>(module);
    define_for<float>(module);
    module.def("gaussian_of_distances", &::gaussian_of_distances, "distances"_a.noconvert(),
               "kernel"_a.noconvert(), "gamma"_a, "n_threads"_a);
}

}    // namespace polychotomy
