// The Python face of the SVM solver; svm.py checks values, shapes are checked here.

#include "bindings.hpp"

#include "gram.hpp"
#include "lane_functions.hpp"
#include "svm.hpp"
#include "svm_constants.hpp"

namespace polychotomy {
namespace {
// The core has functions of the same names.
namespace face {

SvmGram as_gram(const Array<const double, 2>& gram) {
    require(gram.shape(0) == gram.shape(1), "gram must be square.");
    return {gram.data(), nullptr, gram.shape(0)};
}

SvmGram as_gram(const Array<const float, 2>& gram) {
    require(gram.shape(0) == gram.shape(1), "gram must be square.");
    return {nullptr, gram.data(), gram.shape(0)};
}

template <class Entry>
nb::tuple inspect_gram(const Array<const Entry, 2>& gram, size_t n_threads) {
    const SvmGram view = as_gram(gram);
    require(n_threads >= 1, "n_threads must be positive.");
    SvmGramFacts facts;
    run_interruptible([&] {
        return polychotomy::inspect_gram(view, facts, n_threads, python_was_interrupted);
    });
    return nb::make_tuple(facts.finite, facts.largest, facts.asymmetry);
}

void gaussian_of_distances(const Array<const double, 2>& distances, const Array<double, 2>& kernel,
                           double gamma, size_t n_threads) {
    require(distances.shape(0) == kernel.shape(0) && distances.shape(1) == kernel.shape(1),
            "kernel must have the shape of distances.");
    require(n_threads >= 1, "n_threads must be positive.");
    run_interruptible([&] {
        return polychotomy::gaussian_of_distances(distances.data(), kernel.data(), kernel.size(),
                                                  gamma, n_threads, python_was_interrupted);
    });
}

void gaussian_of_single_products(const Array<float, 2>& products,
                                 const Array<const float, 1>& row_terms,
                                 const Array<const float, 1>& column_terms) {
    require(products.shape(0) == row_terms.shape(0) && products.shape(1) == column_terms.shape(0),
            "products must have a row for every row term, and a column for every column term.");
    const SingleGaussianProducts given = {products.data(), products.shape(0), products.shape(1),
                                          row_terms.data(), column_terms.data()};
    // Callers give small blocks, several at a time from threads of their own.
    const Unlocked unlocked;
    lanes_in_use().gaussian.of_single_products(given);
}

template <class T>
void require_shape(const Array<T, 3>& result, const SvmProblems& problems) {
    require(result.shape(0) == problems.n_subsets && result.shape(1) == problems.n_C &&
                result.shape(2) == problems.n_columns,
            "A result must have the shape (subsets, values of C, columns).");
}

template <class Entry>
void solve_svm(const Array<const Entry, 2>& gram, double largest_entry,
               const Array<const std::int8_t, 2>& labels,
               const RowArray& rows, const RowArray& ends, const Array<const double, 1>& C_values,
               const nb::object& weights, double tolerance, std::int64_t max_iterations,
               size_t n_threads, const Array<double, 4>& coefficients,
               const Array<double, 3>& biases, const Array<double, 3>& gaps,
               const Array<std::int64_t, 3>& iterations, const Array<std::int8_t, 3>& status) {
    const SvmGram view = as_gram(gram);
    require(labels.shape(0) == view.n, "labels must have one row for every row of gram.");
    Array<const double, 1> holder;
    const double* row_weights = optional_data(
        weights, view.n, holder, "weights must have one entry for every row of gram.");
    const SvmProblems problems = {view,
                                  largest_entry,
                                  labels.data(),
                                  labels.shape(1),
                                  checked_lists(rows, ends, view.n),
                                  ends.shape(0),
                                  C_values.data(),
                                  C_values.shape(0),
                                  row_weights,
                                  tolerance,
                                  max_iterations};
    require_shape(biases, problems);
    require_shape(gaps, problems);
    require_shape(iterations, problems);
    require_shape(status, problems);
    require(coefficients.shape(0) == problems.n_subsets && coefficients.shape(1) == problems.n_C &&
                coefficients.shape(2) == problems.n_columns && coefficients.shape(3) == view.n,
            "coefficients must have the shape (subsets, values of C, columns, rows).");
    require(n_threads >= 1, "n_threads must be positive.");
    const SvmResults results = {coefficients.data(), biases.data(), gaps.data(), iterations.data(),
                                status.data()};
    run_interruptible([&] {
        return polychotomy::solve_svm(problems, results, n_threads, python_was_interrupted);
    });
}

template <class Entry>
void define_for(nb::module_& module) {
    module.def("inspect_gram", &face::inspect_gram<Entry>, "gram"_a.noconvert(), "n_threads"_a);
    module.def("solve_svm", &face::solve_svm<Entry>, "gram"_a.noconvert(), "largest_entry"_a,
               "labels"_a.noconvert(), "rows"_a.noconvert(), "ends"_a.noconvert(),
               "C_values"_a.noconvert(), "weights"_a.none(), "tolerance"_a, "max_iterations"_a,
               "n_threads"_a, "coefficients"_a.noconvert(), "biases"_a.noconvert(),
               "gaps"_a.noconvert(), "iterations"_a.noconvert(), "status"_a.noconvert());
}

}    // namespace face
}    // namespace

void bind_svm(nb::module_& module) {
    face::define_for<double>(module);
    face::define_for<float>(module);
    module.def("gaussian_of_distances", &face::gaussian_of_distances, "distances"_a.noconvert(),
               "kernel"_a.noconvert(), "gamma"_a, "n_threads"_a);
    module.def("gaussian_of_single_products", &face::gaussian_of_single_products,
               "products"_a.noconvert(), "row_terms"_a.noconvert(), "column_terms"_a.noconvert());
    module.attr("SVM_CONVERGED") = static_cast<int>(SvmStatus::converged);
    module.attr("SVM_ITERATION_LIMIT") = static_cast<int>(SvmStatus::iteration_limit);
    module.attr("SVM_UNTRAINED") = static_cast<int>(SvmStatus::untrained);
    module.attr("SVM_INDEFINITE") = static_cast<int>(SvmStatus::indefinite);
    module.attr("SVM_BOUND_SLACK") = svm_bound_slack;
    module.attr("SVM_LEAST_CURVATURE") = svm_least_curvature;
    module.attr("SVM_LEAST_SHARE_OF_REACH") = svm_least_share_of_reach;
    module.attr("SVM_ROUNDING_TERMS") = svm_rounding_terms;
    module.attr("SVM_MOST_ROWS") = svm_most_rows;
}

}    // namespace polychotomy
