// The Python face of svm_block.hpp; values are checked by the callers, shapes here.

#include "bindings.hpp"

#include "lane_functions.hpp"
#include "sparse_scores.hpp"
#include "svm_block.hpp"

namespace polychotomy {
namespace {
// The core has functions of the same names.
namespace face {

// Too short to check for signals: at most a few thousand rows and `max_iterations`.
std::int64_t solve_svm_block(const Array<const double, 2>& gram,
                             const Array<const double, 1>& lower,
                             const Array<const double, 1>& upper, const Array<double, 1>& beta,
                             const Array<double, 1>& gradient, double least_curvature,
                             double stopping_gap, std::int64_t max_iterations) {
    const size_t n = gram.shape(0);
    require(gram.shape(1) == n, "gram must be square.");
    require(lower.shape(0) == n && upper.shape(0) == n && beta.shape(0) == n &&
                gradient.shape(0) == n,
            "Vectors must have one entry for every row of gram.");
    const Unlocked unlocked;
    return polychotomy::solve_svm_block({gram.data(), n, lower.data(), upper.data(), beta.data(),
                                         gradient.data(), least_curvature, stopping_gap,
                                         max_iterations});
}

void subtract_rows(const Array<double, 1>& gradient, const Array<const double, 2>& rows,
                   const RowArray& places,
                   const Array<const double, 1>& amounts) {
    require(rows.shape(1) == gradient.shape(0), "rows must be as long as gradient.");
    require(places.shape(0) == amounts.shape(0), "places and amounts must be as many.");
    require_rows(places, rows.shape(0));
    const Unlocked unlocked;
    polychotomy::subtract_rows(gradient.data(), gradient.shape(0), rows.data(), places.data(),
                               amounts.data(), places.shape(0));
}

void gather_block(const Array<const double, 2>& rows, const RowArray& places,
                  const RowArray& columns, const Array<double, 2>& block) {
    const size_t count = places.shape(0);
    require(columns.shape(0) == count && block.shape(0) == count && block.shape(1) == count,
            "places, columns and block must be of one size.");
    require_rows(places, rows.shape(0));
    require_rows(columns, rows.shape(1));
    const Unlocked unlocked;
    polychotomy::gather_block(rows.data(), rows.shape(1), places.data(), columns.data(), count,
                              block.data());
}

void gaussian_of_products(const Array<double, 2>& products, const Array<const double, 1>& row_terms,
                          const Array<const double, 1>& column_terms, double gamma) {
    require(row_terms.shape(0) == products.shape(0) &&
                column_terms.shape(0) == products.shape(1),
            "There must be one term for every row and column of products.");
    const Unlocked unlocked;
    lanes_in_use().gaussian.of_products({products.data(), products.shape(0), products.shape(1),
                                       row_terms.data(), column_terms.data(), gamma});
}

void sparse_scores(const Array<const double, 2>& kernel, const Array<const std::int32_t, 1>& starts,
                   const Array<const std::int32_t, 1>& rows, const Array<const double, 1>& values,
                   const Array<const double, 1>& biases, const Array<double, 2>& scores) {
    const size_t n_columns = biases.shape(0);
    require(starts.shape(0) == n_columns + 1 && scores.shape(1) == n_columns,
            "starts, biases and scores must be for the same columns.");
    require(rows.shape(0) == values.shape(0), "rows and values must be as many.");
    require(scores.shape(0) == kernel.shape(0), "scores must have the rows of kernel.");
    bool done = false;
    {
        const Unlocked unlocked;
        done = polychotomy::sparse_scores(kernel.data(), kernel.shape(0), kernel.shape(1),
                                          {starts.data(), rows.data(), values.data(), n_columns},
                                          rows.shape(0), biases.data(), scores.data());
    }
    require(done, "The coefficients have an entry that does not exist.");
}

}    // namespace face
}    // namespace

void bind_svm_block(nb::module_& module) {
    module.def("solve_svm_block", &face::solve_svm_block, "gram"_a.noconvert(),
               "lower"_a.noconvert(), "upper"_a.noconvert(), "beta"_a.noconvert(),
               "gradient"_a.noconvert(), "least_curvature"_a, "stopping_gap"_a, "max_iterations"_a);
    module.def("subtract_rows", &face::subtract_rows, "gradient"_a.noconvert(),
               "rows"_a.noconvert(), "places"_a.noconvert(), "amounts"_a.noconvert());
    module.def("gather_block", &face::gather_block, "rows"_a.noconvert(), "places"_a.noconvert(),
               "columns"_a.noconvert(), "block"_a.noconvert());
    module.def("gaussian_of_products", &face::gaussian_of_products, "products"_a.noconvert(),
               "row_terms"_a.noconvert(), "column_terms"_a.noconvert(), "gamma"_a);
    module.def("sparse_scores", &face::sparse_scores, "kernel"_a.noconvert(),
               "starts"_a.noconvert(), "rows"_a.noconvert(), "values"_a.noconvert(),
               "biases"_a.noconvert(), "scores"_a.noconvert());
}

}    // namespace polychotomy
