// The Python face of the core. Results are written into arrays of the caller.

#include "bindings.hpp"

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "code_coupling.hpp"
#include "lane_functions.hpp"
#include "pairwise.hpp"
#include "platt.hpp"
#include "recycled.hpp"
#include "rest_coupling.hpp"
#include "voting.hpp"

namespace polychotomy {
namespace {
// The core has functions of the same names.
namespace face {

using Matrix = Array<const double, 2>;
using MatrixOut = Array<double, 2>;
using SignMatrix = Array<const std::int8_t, 2>;
using Vector = Array<const double, 1>;

constexpr const char* not_probabilities = "r must lie in [0, 1] and must not be NaN.";

Rows pairwise_rows(const Matrix& r, const MatrixOut& p) {
    require(p.shape(1) >= 2, "There must be at least two classes.");
    require(r.shape(0) == p.shape(0), "r and p must have the same number of rows.");
    require(r.shape(1) == count_pairs(p.shape(1)),
            "r must have one column for every pair of classes.");
    return {r.data(), p.data(), r.shape(0), p.shape(1)};
}

template <bool (*couple)(const Rows&)>
void couple_pairs(const Matrix& r, const MatrixOut& p) {
    const Rows rows = pairwise_rows(r, p);
    bool valid;
    {
        const Unlocked unlocked;
        valid = couple(rows);
    }
    require(valid, not_probabilities);
}

size_t couple_hastie_tibshirani(const Matrix& r, const MatrixOut& p, const nb::object& weights,
                                double tolerance, int max_iterations, double pull) {
    require(pull >= 0.0 && pull <= largest_pull, "pull must be in [0, 1e-6].");
    const Rows rows = pairwise_rows(r, p);
    Vector holder;
    const double* pair_weights =
        optional_data(weights, r.shape(1), holder, "pair_weights must have one entry a pair.");
    size_t n_unconverged = 0;
    bool valid;
    {
        const Unlocked unlocked;
        valid = polychotomy::couple_hastie_tibshirani(
            rows, {pair_weights, tolerance, max_iterations, pull}, n_unconverged);
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
    const CodeCoupling code = {matrix.data(),   column_weights, matrix.shape(0),
                                            matrix.shape(1), pull,           tolerance,
                                            max_iterations};
    size_t n_unconverged = 0;
    bool valid;
    {
        const Unlocked unlocked;
        valid = polychotomy::couple_code(code, r.data(), r.shape(0), p.data(), n_unconverged);
    }
    require(valid, not_probabilities);
    return n_unconverged;
}

void couple_one_vs_rest(const Matrix& r, const MatrixOut& p, double pull) {
    require(r.shape(1) >= 2, "There must be at least two classes.");
    require(r.shape(0) == p.shape(0) && r.shape(1) == p.shape(1), "r and p must have one shape.");
    require(pull > 0.0 && pull <= largest_pull, "pull must be in (0, 1e-6].");
    bool valid;
    {
        const Unlocked unlocked;
        valid = polychotomy::couple_one_vs_rest(r.data(), r.shape(0), r.shape(1), pull, p.data());
    }
    require(valid, not_probabilities);
}

void fit_platt(const Array<const double, 3>& scores, const SignMatrix& labels,
               const nb::object& weights, const RowArray& rows,
               const RowArray& ends, int max_iterations, size_t n_threads,
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
    const PlattData data = {
        scores.data(), labels.data(), row_weights,  n_sets, n_rows, n_columns,
        checked_lists(rows, ends, n_rows), ends.shape(0)};
    std::vector<Sigmoid> sigmoids(ends.shape(0) * n_sets * n_columns);
    run_interruptible([&] {
        return polychotomy::fit_platt(data, max_iterations, sigmoids.data(), n_threads,
                                      python_was_interrupted);
    });
    double* row = result.data();
    for (const Sigmoid& sigmoid : sigmoids) {
        *row++ = sigmoid.slope;
        *row++ = sigmoid.intercept;
        *row++ = sigmoid.converged ? 1.0 : 0.0;
    }
}

void max_wins(const Matrix& pairs, const Vector& prior, const MatrixOut& scores) {
    const Rows rows = pairwise_rows(pairs, scores);
    require(prior.shape(0) == rows.n_classes, "prior must have one entry a class.");
    const Unlocked unlocked;
    polychotomy::max_wins(rows.r, rows.n_rows, prior.data(), rows.n_classes, rows.p);
}

// An array whose memory is used again once nothing refers to it.
nb::ndarray<nb::numpy, double, nb::ndim<1>> recycled(size_t count) {
    auto block = std::make_unique<RecycledBlock>(count);
    double* data = block->data();
    nb::capsule owner(block.get(), [](void* pointer) noexcept {
        delete static_cast<RecycledBlock*>(pointer);
    });
    block.release();
    return nb::ndarray<nb::numpy, double, nb::ndim<1>>(data, {count}, owner);
}

// Lets the calls of other threads end, before Python does; at most this long.
constexpr auto longest_wait = std::chrono::seconds(10);
constexpr auto look_interval = std::chrono::milliseconds(1);

void end_calls() {
    OpenCalls::ending_thread = std::this_thread::get_id();
    OpenCalls::ending = true;
    const nb::gil_scoped_release release;
    const auto last = std::chrono::steady_clock::now() + longest_wait;
    while (OpenCalls::number > 0 && std::chrono::steady_clock::now() < last)
        std::this_thread::sleep_for(look_interval);
}

}    // namespace face
}    // namespace
}    // namespace polychotomy

NB_MODULE(_core, module) {
    using namespace polychotomy;
    module.def("end_calls", &face::end_calls);
    // In a forked process, which has none of the threads that made them.
    module.def("forget_calls", [] { OpenCalls::number = 0; });
    module.def("couple_wu_lin_weng", &face::couple_pairs<couple_wu_lin_weng>,
               "r"_a.noconvert(), "p"_a.noconvert());
    module.def("couple_markov", &face::couple_pairs<couple_markov>, "r"_a.noconvert(),
               "p"_a.noconvert());
    module.def("couple_hastie_tibshirani", &face::couple_hastie_tibshirani, "r"_a.noconvert(),
               "p"_a.noconvert(), "pair_weights"_a.none(), "tolerance"_a, "max_iterations"_a,
               "pull"_a);
    module.def("couple_code", &face::couple_code, "r"_a.noconvert(), "matrix"_a.noconvert(),
               "p"_a.noconvert(), "column_weights"_a.none(), "pull"_a, "tolerance"_a,
               "max_iterations"_a);
    module.def("couple_one_vs_rest", &face::couple_one_vs_rest, "r"_a.noconvert(),
               "p"_a.noconvert(), "pull"_a);
    module.attr("LARGEST_PULL") = largest_pull;
    module.def("fit_platt", &face::fit_platt, "scores"_a.noconvert(), "labels"_a.noconvert(),
               "weights"_a.none(), "rows"_a.noconvert(), "ends"_a.noconvert(),
               "max_iterations"_a, "n_threads"_a, "result"_a.noconvert());
    module.def("max_wins", &face::max_wins, "pairs"_a.noconvert(), "prior"_a.noconvert(),
               "scores"_a.noconvert());
    module.def("recycled", &face::recycled, "count"_a);
    module.attr("RECYCLED_STEP") = recycled_step;
    module.def("release_recycled", &release_recycled);
    module.def("use_baseline_lanes", &use_baseline_lanes, "only_baseline"_a);
    module.def("lanes_in_use", [] { return lanes_in_use().name; });
    bind_svm(module);
    bind_svm_block(module);
    bind_klr(module);
    bind_softmax(module);
    bind_held_out(module);
    bind_weston_watkins(module);
    bind_trees(module);
}
