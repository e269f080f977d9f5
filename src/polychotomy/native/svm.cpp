#include "svm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "crew.hpp"
#include "svm_path.hpp"

namespace polychotomy {

namespace {

// Single precision is tried first: twice as many rows fit a register and a cache line, and a step
// takes about half as long. Not for few rows, where it saves nothing, nor for small tolerances, nor
// for bounds whose squares it cannot represent. Where its rounding matters, the problem continues
// in double.
constexpr size_t least_single_rows = 128;
constexpr double least_single_tolerance = 1e-4;
constexpr double least_single_bound = 1e-6, largest_single_bound = 1e6;
// It gives up after this many steps a row and a few more.
constexpr std::int64_t single_steps_a_row = 20, few_steps = 1000;

// How many rows are looked at to see whether a Gram matrix is sparse.
constexpr size_t rows_to_count_in = 32;

// Divides by the power of two that brings the largest entry into [1/2, 1), and counts entries.
template <class Real>
ScaledGram scaled(const SvmProblems& problems) {
    int exponent = 0;
    if (problems.largest_entry > 0.0) std::frexp(problems.largest_entry, &exponent);
    const double factor = std::ldexp(1.0, -std::min(std::max(exponent, -1000), 1000));
    ScaledGram gram = {problems.gram, factor, 0.0};
    const size_t n = problems.gram.n, step = std::max<size_t>(n / rows_to_count_in, 1);
    const double n_rows = std::ceil(static_cast<double>(n - step / 2) / static_cast<double>(step));
    // Counting ends when there are too many for a sparse kernel.
    for (size_t row = step / 2; row < n && rows_a_neighbour * gram.neighbours <= n; row += step) {
        size_t count = 0;
        for (size_t k = 0; k < n; ++k)
            count += std::fabs(gram.entry(row, k)) >= negligible_entry<Real>;
        gram.neighbours += static_cast<double>(count) / n_rows;
    }
    return gram;
}

bool has_zeros(const SvmProblems& problems) {
    const size_t n = problems.gram.n * problems.n_columns;
    return std::find(problems.labels, problems.labels + n, 0) != problems.labels + n;
}

class Worker {
public:
    Worker(const SvmProblems& problems, const SvmResults& results,
           const std::vector<size_t>& order, const ScaledGram& in_single,
           const ScaledGram& in_double, const std::atomic<bool>& stop)
        : problems_(problems), results_(results), order_(order), stop_(stop),
          by_column_(has_zeros(problems)), factor_(in_single.factor),
          single_(in_single, {problems.tolerance, !by_column_, &stop}),
          double_(in_double, {problems.tolerance, !by_column_, &stop}) {}

    void run(size_t task) {
        const size_t subset = by_column_ ? task % problems_.n_subsets : task / problems_.n_columns;
        const size_t column = by_column_ ? task / problems_.n_subsets : task % problems_.n_columns;
        if (!collect(subset, column)) {
            for (size_t c = 0; c < problems_.n_C; ++c) {
                write({0.0, 0.0, 0, SvmStatus::untrained}, place(subset, c, column));
                zero_coefficients(place(subset, c, column));
            }
            return;
        }
        begin();
        for (const size_t c : order_) {
            const SvmSolution solution = solve(problems_.C_values[c]);
            if (stop_.load(std::memory_order_relaxed)) return;
            write(solution, place(subset, c, column));
            double* coefficients = zero_coefficients(place(subset, c, column));
            for (size_t i = 0; i < rows_.size(); ++i) coefficients[rows_[i]] += coefficient(i);
        }
    }

private:
    void begin() {
        in_single_ = fits_single();
        if (!in_single_) return begin_in_double();
        double_.release();
        single_.begin(rows_, labels_, problems_.weights);
    }

    // Only one of the solvers keeps kernel rows, to bound the memory of a thread.
    void begin_in_double() {
        in_single_ = false;
        single_.release();
        double_.begin(rows_, labels_, problems_.weights);
    }

    // In single precision while that is enough, then in double.
    SvmSolution solve(double C) {
        const std::int64_t most = problems_.max_iterations;
        if (!in_single_) return double_.solve(C, most);
        const auto n = static_cast<std::int64_t>(rows_.size());
        const std::int64_t enough = std::min(most, few_steps + single_steps_a_row * n);
        const SvmSolution first = single_.solve(C, enough);
        if (first.status != SvmStatus::iteration_limit || first.iterations >= most) return first;
        if (stop_.load(std::memory_order_relaxed)) return first;
        begin_in_double();
        SvmSolution second = double_.solve_from(single_.betas(), C, most - first.iterations);
        second.iterations += first.iterations;
        return second;
    }

    double coefficient(size_t row) const {
        return in_single_ ? single_.coefficient(row) : double_.coefficient(row);
    }

    bool fits_single() const {
        if (rows_.size() < least_single_rows) return false;
        double least = 1.0, largest = 1.0;
        if (problems_.weights) {
            least = std::numeric_limits<double>::infinity();
            largest = 0.0;
            for (const std::uint32_t row : rows_) {
                least = std::min(least, problems_.weights[row]);
                largest = std::max(largest, problems_.weights[row]);
            }
        }
        return problems_.tolerance >= least_single_tolerance && problems_.n_C > 0 &&
               least * problems_.C_values[order_.front()] >= least_single_bound * factor_ &&
               largest * problems_.C_values[order_.back()] <= largest_single_bound * factor_;
    }

    // The rows of a task; false if a sign is missing.
    bool collect(size_t subset, size_t column) {
        rows_.clear();
        labels_.clear();
        bool positive = false, negative = false;
        const RowSubset chosen = problems_.subsets.at(subset);
        for (size_t k = 0; k < chosen.count; ++k) {
            const auto row = static_cast<size_t>(chosen.rows[k]);
            const int label = problems_.labels[row * problems_.n_columns + column];
            if (label == 0 || (problems_.weights && !(problems_.weights[row] > 0.0))) continue;
            rows_.push_back(static_cast<std::uint32_t>(row));
            labels_.push_back(label);
            positive = positive || label > 0;
            negative = negative || label < 0;
        }
        return positive && negative;
    }

    size_t place(size_t subset, size_t c, size_t column) const {
        return (subset * problems_.n_C + c) * problems_.n_columns + column;
    }

    double* zero_coefficients(size_t place) {
        double* coefficients = results_.coefficients + place * problems_.gram.n;
        std::fill_n(coefficients, problems_.gram.n, 0.0);
        return coefficients;
    }

    void write(const SvmSolution& solution, size_t place) {
        results_.biases[place] = solution.bias;
        results_.gaps[place] = solution.gap;
        results_.iterations[place] = solution.iterations;
        results_.status[place] = static_cast<std::int8_t>(solution.status);
    }

    const SvmProblems& problems_;
    const SvmResults& results_;
    const std::vector<size_t>& order_;
    const std::atomic<bool>& stop_;
    // The order of the tasks. Columns with zeros read their own part of the Gram matrix, which is
    // in the cache for the next subset. Columns without zeros read the same rows, which the solver
    // keeps for the next column.
    const bool by_column_;
    const double factor_;
    SvmPathSolver<float> single_;
    SvmPathSolver<double> double_;
    bool in_single_ = false;
    RowNumbers rows_;
    std::vector<double> labels_;
};

std::vector<size_t> ascending(const double* C_values, size_t n_C) {
    std::vector<size_t> order(n_C);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return C_values[a] < C_values[b]; });
    return order;
}

}    // namespace

bool solve_svm(const SvmProblems& problems, const SvmResults& results, size_t n_threads,
               const std::function<bool()>& interrupted) {
    const std::vector<size_t> order = ascending(problems.C_values, problems.n_C);
    const ScaledGram in_single = scaled<float>(problems), in_double = scaled<double>(problems);
    const auto work = [&](Tasks& tasks) {
        Worker worker(problems, results, order, in_single, in_double, tasks.stop_flag());
        for (size_t task; tasks.next(task);) worker.run(task);
    };
    return run_crew(problems.n_subsets * problems.n_columns, n_threads, work, interrupted);
}

}    // namespace polychotomy
