#include "held_out.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "crew.hpp"
#include "held_out_kernels.hpp"
#include "pairwise.hpp"

namespace polychotomy {

const HeldOutKernels& held_out_kernels() {
#ifdef POLYCHOTOMY_AVX2
    if (std::strcmp(lanes_in_use(), "avx2") == 0) return avx2_held_out_kernels;
#endif
    return baseline_held_out_kernels;
}

namespace {

constexpr std::size_t rows_a_task = 64;

struct Fold {
    std::size_t number;
    const std::int64_t* tests;
    std::size_t n_tests;
    std::size_t offset;     // of its first test row among all test rows
    std::size_t padded;     // n_tests, filled up
};

// The kernel between every row and the test rows of a fold, one row of memory for every row.
class FoldKernel {
public:
    FoldKernel(const TrainedPath& path, const Fold& fold)
        : path_(path), fold_(fold), values_(path.n_rows * fold.padded, 0.0) {}

    const double* row(std::size_t j) const { return values_.data() + j * fold_.padded; }

    void gather(Tasks& tasks) {
        std::size_t task;
        while (tasks.next(task)) {
            const std::size_t end = std::min(path_.n_rows, (task + 1) * rows_a_task);
            for (std::size_t j = task * rows_a_task; j < end; ++j) {
                const double* from = path_.gram + j * path_.n_rows;
                double* to = values_.data() + j * fold_.padded;
                for (std::size_t t = 0; t < fold_.n_tests; ++t) to[t] = from[fold_.tests[t]];
            }
        }
    }

private:
    const TrainedPath& path_;
    const Fold& fold_;
    std::vector<double> values_;
};

// What one thread needs to score columns.
class ColumnScorer {
public:
    ColumnScorer(const TrainedPath& path, const Fold& fold, const FoldKernel& kernel,
                 std::size_t n_all_tests, double* scores)
        : path_(path), fold_(fold), kernel_(kernel), n_all_tests_(n_all_tests), scores_(scores),
          sums_(path.n_values * fold.padded) {}

    void score(std::size_t column) {
        collect(column);
        held_out_kernels().combine(rows_.data(), weights_.data(), rows_.size(), path_.n_values,
                                   fold_.padded, sums_.data());
        for (std::size_t v = 0; v < path_.n_values; ++v) {
            const double bias = path_.biases[place(v, column)];
            double* out = scores_ + (v * n_all_tests_ + fold_.offset) * path_.n_columns + column;
            const double* sums = sums_.data() + v * fold_.padded;
            for (std::size_t t = 0; t < fold_.n_tests; ++t)
                out[t * path_.n_columns] = sums[t] + bias;
        }
    }

private:
    std::size_t place(std::size_t v, std::size_t column) const {
        return (fold_.number * path_.n_values + v) * path_.n_columns + column;
    }

    // The rows that some machine of the column uses, and their coefficients for all values.
    void collect(std::size_t column) {
        rows_.clear();
        weights_.clear();
        for (std::size_t j = 0; j < path_.n_rows; ++j) {
            bool used = false;
            for (std::size_t v = 0; v < path_.n_values && !used; ++v)
                used = coefficient(v, column, j) != 0.0;
            if (!used) continue;
            rows_.push_back(kernel_.row(j));
            for (std::size_t v = 0; v < path_.n_values; ++v)
                weights_.push_back(coefficient(v, column, j));
        }
    }

    double coefficient(std::size_t v, std::size_t column, std::size_t j) const {
        return path_.coefficients[place(v, column) * path_.n_rows + j];
    }

    const TrainedPath& path_;
    const Fold& fold_;
    const FoldKernel& kernel_;
    const std::size_t n_all_tests_;
    double* const scores_;
    std::vector<const double*> rows_;
    std::vector<double> weights_;
    std::vector<double> sums_;
};

}    // namespace

bool held_out_scores(const TrainedPath& path, const FoldTests& tests, double* scores,
                     std::size_t n_threads, const std::function<bool()>& interrupted) {
    const std::size_t n_all_tests = path.n_folds ? tests.ends[path.n_folds - 1] : 0;
    std::size_t offset = 0;
    for (std::size_t number = 0; number < path.n_folds; ++number) {
        const std::size_t end = tests.ends[number], n_tests = end - offset;
        const std::size_t padded = (n_tests + held_out_lanes - 1) / held_out_lanes * held_out_lanes;
        const Fold fold = {number, tests.rows + offset, n_tests, offset, padded};
        offset = end;
        if (n_tests == 0) continue;
        FoldKernel kernel(path, fold);
        const std::size_t n_tasks = (path.n_rows + rows_a_task - 1) / rows_a_task;
        const auto gather = [&](Tasks& tasks) { kernel.gather(tasks); };
        if (!run_crew(n_tasks, n_threads, gather, interrupted)) return false;
        const auto work = [&](Tasks& tasks) {
            ColumnScorer scorer(path, fold, kernel, n_all_tests, scores);
            std::size_t column;
            while (tasks.next(column)) scorer.score(column);
        };
        if (!run_crew(path.n_columns, n_threads, work, interrupted)) return false;
    }
    return true;
}

}    // namespace polychotomy
