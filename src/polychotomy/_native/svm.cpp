#include "svm.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "crew.hpp"
#include "pairwise.hpp"
#include "svm_smo.hpp"

namespace polychotomy {

const SvmPasses& svm_passes_in_use() {
#ifdef POLYCHOTOMY_AVX2
    if (std::strcmp(lanes_in_use(), avx2_lanes.name) == 0) return svm_passes_avx2;
#endif
    return svm_passes_baseline;
}

// ---- tasks ----------------------------------------------------------------------------------

namespace {

// The power of two that brings the largest entry into [1/2, 1).
ScaledGram scaled(const SvmProblems& problems) {
    int exponent = 0;
    if (problems.largest_entry > 0.0) std::frexp(problems.largest_entry, &exponent);
    return {problems.gram, std::ldexp(1.0, -std::min(std::max(exponent, -1000), 1000))};
}

bool has_zeros(const SvmProblems& problems) {
    const size_t n = problems.gram.n * problems.n_columns;
    return std::find(problems.labels, problems.labels + n, 0) != problems.labels + n;
}

class Worker {
public:
    Worker(const SvmProblems& problems, const SvmResults& results,
           const std::vector<size_t>& order, const std::atomic<bool>& stop)
        : problems_(problems), results_(results), order_(order), stop_(stop),
          by_column_(has_zeros(problems)),
          solver_(scaled(problems), {problems.tolerance, problems.max_iterations, &stop}) {}

    void run(size_t task) {
        const size_t subset = by_column_ ? task % problems_.n_subsets : task / problems_.n_columns;
        const size_t column = by_column_ ? task / problems_.n_subsets : task % problems_.n_columns;
        if (!collect(subset, column)) {
            for (size_t c = 0; c < problems_.n_C; ++c)
                write({0.0, 0.0, 0, SvmStatus::untrained}, place(subset, c, column));
            return;
        }
        solver_.begin(rows_, labels_, problems_.weights);
        for (const size_t c : order_) {
            const SvmSolution solution = solver_.solve(problems_.C_values[c]);
            if (stop_.load(std::memory_order_relaxed)) return;
            write(solution, place(subset, c, column));
            double* coefficients =
                results_.coefficients + place(subset, c, column) * problems_.gram.n;
            for (size_t i = 0; i < rows_.size(); ++i)
                coefficients[rows_[i]] += solver_.coefficient(i);
        }
    }

private:
    // The rows of a task; false if a sign is missing.
    bool collect(size_t subset, size_t column) {
        rows_.clear();
        labels_.clear();
        bool positive = false, negative = false;
        for (auto k = problems_.starts[subset]; k < problems_.starts[subset + 1]; ++k) {
            const auto row = static_cast<size_t>(problems_.rows[k]);
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
    // Columns with zeros read their own part of the Gram matrix, which is in the cache for the next
    // subset; columns without read the same rows, which the solver keeps for the next column.
    const bool by_column_;
    SvmPathSolver solver_;
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
    const auto work = [&](Tasks& tasks) {
        Worker worker(problems, results, order, tasks.stop_flag());
        for (size_t task; tasks.next(task);) worker.run(task);
    };
    return run_crew(problems.n_subsets * problems.n_columns, n_threads, work, interrupted);
}

}    // namespace polychotomy
