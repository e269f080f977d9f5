// The Python face of svm_block.hpp; values are checked by the callers, shapes here.

#include "svm_block_bindings.hpp"

#include <nanobind/ndarray.h>

#include "lane_functions.hpp"
#include "svm_block.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T, size_t rank>
using Array = nb::ndarray<T, nb::ndim<rank>, nb::c_contig, nb::device::cpu>;

void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

void require_inside(const Array<const std::int64_t, 1>& places, size_t n) {
    for (size_t k = 0; k < places.shape(0); ++k)
        require(places.data()[k] >= 0 && static_cast<size_t>(places.data()[k]) < n,
                "A place is not in rows.");
}

// Short enough to need no look at signals: at most a few thousand rows and `max_iterations`.
std::int64_t solve_svm_block(const Array<const double, 2>& gram,
                             const Array<const double, 1>& lower,
                             const Array<const double, 1>& upper, const Array<double, 1>& beta,
                             const Array<double, 1>& residual, double least_curvature, double goal,
                             std::int64_t max_iterations) {
    const size_t n = gram.shape(0);
    require(gram.shape(1) == n, "gram must be square.");
    require(lower.shape(0) == n && upper.shape(0) == n && beta.shape(0) == n &&
                residual.shape(0) == n,
            "Vectors must have one entry for every row of gram.");
    nb::gil_scoped_release release;
    return polychotomy::solve_svm_block({gram.data(), n, lower.data(), upper.data(), beta.data(),
                                         residual.data(), least_curvature, goal,
                                         max_iterations});
}

void subtract_rows(const Array<double, 1>& residual, const Array<const double, 2>& rows,
                   const Array<const std::int64_t, 1>& places,
                   const Array<const double, 1>& amounts) {
    require(rows.shape(1) == residual.shape(0), "rows must be as long as residual.");
    require(places.shape(0) == amounts.shape(0), "places and amounts must be as many.");
    require_inside(places, rows.shape(0));
    nb::gil_scoped_release release;
    polychotomy::subtract_rows(residual.data(), residual.shape(0), rows.data(), places.data(),
                               amounts.data(), places.shape(0));
}

void gather_block(const Array<const double, 2>& rows, const Array<const std::int64_t, 1>& places,
                  const Array<const std::int64_t, 1>& columns, const Array<double, 2>& block) {
    const size_t count = places.shape(0);
    require(columns.shape(0) == count && block.shape(0) == count && block.shape(1) == count,
            "places, columns and block must be of one size.");
    require_inside(places, rows.shape(0));
    require_inside(columns, rows.shape(1));
    nb::gil_scoped_release release;
    polychotomy::gather_block(rows.data(), rows.shape(1), places.data(), columns.data(), count,
                              block.data());
}

void gaussian_of_products(const Array<double, 2>& products, const Array<const double, 1>& row_terms,
                          const Array<const double, 1>& column_terms, double gamma) {
    require(row_terms.shape(0) == products.shape(0) &&
                column_terms.shape(0) == products.shape(1),
            "There must be one term for every row and column of products.");
    nb::gil_scoped_release release;
    polychotomy::lanes_in_use().gaussian.of_products({products.data(), products.shape(0), products.shape(1),
                                       row_terms.data(), column_terms.data(), gamma});
}

}    // namespace

namespace polychotomy {

void bind_svm_block(nb::module_& module) {
    module.def("solve_svm_block", &::solve_svm_block, "gram"_a.noconvert(), "lower"_a.noconvert(),
               "upper"_a.noconvert(), "beta"_a.noconvert(), "residual"_a.noconvert(),
               "least_curvature"_a, "goal"_a, "max_iterations"_a);
    module.def("subtract_rows", &::subtract_rows, "residual"_a.noconvert(), "rows"_a.noconvert(),
               "places"_a.noconvert(), "amounts"_a.noconvert());
    module.def("gather_block", &::gather_block, "rows"_a.noconvert(), "places"_a.noconvert(),
               "columns"_a.noconvert(), "block"_a.noconvert());
    module.def("gaussian_of_products", &::gaussian_of_products, "products"_a.noconvert(),
               "row_terms"_a.noconvert(), "column_terms"_a.noconvert(), "gamma"_a);
}

}    // namespace polychotomy
