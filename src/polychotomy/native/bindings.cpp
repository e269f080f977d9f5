// The Python face of the core. Arrays come in checked for type, rank and order by nanobind;
// shapes are checked here; results are written into arrays of the caller.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "code_coupling.hpp"
#include "held_out_bindings.hpp"
#include "interrupt.hpp"
#include "klr_bindings.hpp"
#include "lane_functions.hpp"
#include "pairwise.hpp"
#include "platt.hpp"
#include "recycled.hpp"
#include "row_lists_binding.hpp"
#include "softmax_bindings.hpp"
#include "svm_bindings.hpp"
#include "svm_block_bindings.hpp"
#include "voting.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T, size_t rank>
using Array = nb::ndarray<T, nb::ndim<rank>, nb::c_contig, nb::device::cpu>;
using Matrix = Array<const double, 2>;
using MatrixOut = Array<double, 2>;
using SignMatrix = Array<const std::int8_t, 2>;
using Vector = Array<const double, 1>;

void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

constexpr const char* not_probabilities = "r must lie in [0, 1] and must not be NaN.";

polychotomy::Rows pairwise_rows(const Matrix& r, const MatrixOut& p) {
    require(p.shape(1) >= 2, "There must be at least two classes.");
    require(r.shape(0) == p.shape(0), "r and p must have the same number of rows.");
    require(r.shape(1) == polychotomy::count_pairs(p.shape(1)),
            "r must have one column for every pair of classes.");
    return {r.data(), p.data(), r.shape(0), p.shape(1)};
}

// The data of an optional vector (null if it is None).
const double* optional_data(const nb::object& given, size_t size, Vector& holder,
                            const char* message) {
    if (given.is_none()) return nullptr;
    holder = nb::cast<Vector>(given, false);
    require(holder.shape(0) == size, message);
    return holder.data();
}

void couple_wu_lin_weng(const Matrix& r, const MatrixOut& p) {
    const polychotomy::Rows rows = pairwise_rows(r, p);
    bool valid;
    {
        nb::gil_scoped_release release;
        valid = polychotomy::couple_wu_lin_weng(rows);
    }
    require(valid, not_probabilities);
}

void couple_markov(const Matrix& r, const MatrixOut& p) {
    const polychotomy::Rows rows = pairwise_rows(r, p);
    bool valid;
    {
        nb::gil_scoped_release release;
        valid = polychotomy::couple_markov(rows);
    }
    require(valid, not_probabilities);
}

size_t couple_hastie_tibshirani(const Matrix& r, const MatrixOut& p, const nb::object& weights,
                                double tolerance, int max_iterations) {
    const polychotomy::Rows rows = pairwise_rows(r, p);
    Vector holder;
    const double* pair_weights =
        optional_data(weights, r.shape(1), holder, "pair_weights must have one entry a pair.");
    size_t n_unconverged = 0;
    bool valid;
    {
        nb::gil_scoped_release release;
        valid = polychotomy::couple_hastie_tibshirani(
            rows, {pair_weights, tolerance, max_iterations}, n_unconverged);
    }
    require(valid, not_probabilities);
    return n_unconverged;
}

void check_code(const SignMatrix& matrix) {
    require(matrix.shape(0) >= 2, "There must be at least two classes.");
    for (size_t column = 0; column < matrix.shape(1); ++column) {
        bool positive = false, negative = false;
        for (size_t label = 0; label < matrix.shape(0); ++label) {
            const int entry = matrix.data()[label * matrix.shape(1) + column];
            require(entry >= -1 && entry <= 1, "The code matrix has entries -1, 0 and +1 only.");
            positive = positive || entry > 0;
            negative = negative || entry < 0;
        }
        require(positive && negative, "Every column of the code matrix must have both signs.");
    }
}

size_t couple_code(const Matrix& r, const SignMatrix& matrix, const MatrixOut& p,
                   const nb::object& weights, double pull, double tolerance, int max_iterations) {
    check_code(matrix);
    require(r.shape(0) == p.shape(0), "r and p must have the same number of rows.");
    require(r.shape(1) == matrix.shape(1), "r must have one column for every code column.");
    require(p.shape(1) == matrix.shape(0), "p must have one column for every class.");
    Vector holder;
    const double* column_weights =
        optional_data(weights, r.shape(1), holder, "column_weights must have one entry a column.");
    const polychotomy::CodeCoupling code = {matrix.data(),   column_weights, matrix.shape(0),
                                            matrix.shape(1), pull,           tolerance,
                                            max_iterations};
    size_t n_unconverged = 0;
    bool valid;
    {
        nb::gil_scoped_release release;
        valid = polychotomy::couple_code(code, r.data(), r.shape(0), p.data(), n_unconverged);
    }
    require(valid, not_probabilities);
    return n_unconverged;
}

void fit_platt(const Array<const double, 3>& scores, const SignMatrix& labels,
               const nb::object& weights, const polychotomy::RowArray& rows,
               const polychotomy::RowArray& ends, int max_iterations, size_t n_threads,
               const Array<double, 4>& result) {
    const size_t n_sets = scores.shape(0), n_rows = scores.shape(1), n_columns = scores.shape(2);
    require(n_rows == labels.shape(0) && n_columns == labels.shape(1),
            "scores and labels must have the same rows and columns.");
    require(result.shape(0) == ends.shape(0) && result.shape(1) == n_sets &&
                result.shape(2) == n_columns && result.shape(3) == 3,
            "The result must have the shape (subsets, sets, columns, 3).");
    Vector holder;
    const double* row_weights =
        optional_data(weights, n_rows, holder, "weights must have one entry a row.");
    const polychotomy::PlattData data = {
        scores.data(), labels.data(), row_weights,  n_sets, n_rows, n_columns,
        polychotomy::checked_lists(rows, ends, n_rows), ends.shape(0)};
    std::vector<polychotomy::Sigmoid> sigmoids(ends.shape(0) * n_sets * n_columns);
    bool finished;
    {
        nb::gil_scoped_release release;
        finished = polychotomy::fit_platt(data, max_iterations, sigmoids.data(), n_threads,
                                          python_was_interrupted);
    }
    if (!finished) throw nb::python_error();
    double* row = result.data();
    for (const polychotomy::Sigmoid& sigmoid : sigmoids) {
        *row++ = sigmoid.slope;
        *row++ = sigmoid.intercept;
        *row++ = sigmoid.converged ? 1.0 : 0.0;
    }
}

void max_wins(const Matrix& pairs, const Vector& prior, const MatrixOut& scores) {
    const polychotomy::Rows rows = pairwise_rows(pairs, scores);
    require(prior.shape(0) == rows.n_classes, "prior must have one entry a class.");
    nb::gil_scoped_release release;
    polychotomy::max_wins(rows.r, rows.n_rows, prior.data(), rows.n_classes, rows.p);
}

// An array of memory that is used again when nobody refers to it any more.
nb::ndarray<nb::numpy, double, nb::ndim<1>> recycled(size_t count) {
    auto block = std::make_unique<polychotomy::RecycledBlock>(count);
    double* data = block->data();
    nb::capsule owner(block.get(), [](void* pointer) noexcept {
        delete static_cast<polychotomy::RecycledBlock*>(pointer);
    });
    block.release();
    return nb::ndarray<nb::numpy, double, nb::ndim<1>>(data, {count}, owner);
}

}    // namespace

NB_MODULE(_core, module) {
    module.def("couple_wu_lin_weng", &couple_wu_lin_weng, "r"_a.noconvert(), "p"_a.noconvert());
    module.def("couple_markov", &couple_markov, "r"_a.noconvert(), "p"_a.noconvert());
    module.def("couple_hastie_tibshirani", &couple_hastie_tibshirani, "r"_a.noconvert(),
               "p"_a.noconvert(), "pair_weights"_a.none(), "tolerance"_a, "max_iterations"_a);
    module.def("couple_code", &couple_code, "r"_a.noconvert(), "matrix"_a.noconvert(),
               "p"_a.noconvert(), "column_weights"_a.none(), "pull"_a, "tolerance"_a,
               "max_iterations"_a);
    module.def("fit_platt", &fit_platt, "scores"_a.noconvert(), "labels"_a.noconvert(),
               "weights"_a.none(), "rows"_a.noconvert(), "ends"_a.noconvert(),
               "max_iterations"_a, "n_threads"_a, "result"_a.noconvert());
    module.def("max_wins", &max_wins, "pairs"_a.noconvert(), "prior"_a.noconvert(),
               "scores"_a.noconvert());
    module.def("recycled", &recycled, "count"_a);
    module.def("release_recycled", &polychotomy::release_recycled);
    module.def("use_baseline_lanes", &polychotomy::use_baseline_lanes, "only_baseline"_a);
    module.def("lanes_in_use", [] { return polychotomy::lanes_in_use().name; });
    polychotomy::bind_svm(module);
    polychotomy::bind_svm_block(module);
    polychotomy::bind_klr(module);
    polychotomy::bind_softmax(module);
    polychotomy::bind_held_out(module);
}
