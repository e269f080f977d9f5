#include "held_out.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "crew.hpp"
#include "lane_functions.hpp"
#include "recycled.hpp"

namespace polychotomy {

namespace {

using std::size_t;

constexpr size_t rows_a_task = 64;
// Neighbouring columns that are written to the results together, a cache line.
constexpr size_t columns_a_task = 8;
// Folds are worked on together until this many kernel values have been gathered.
constexpr size_t most_gathered = size_t{1} << 22;

// The test rows of a fold, and the kernel between every row and them, a row of memory for every
// row: what the inner loop reads is contiguous.
class Fold {
public:
    Fold(const TrainedPath& path, size_t number, const std::int64_t* tests, size_t n_tests,
         size_t offset)
        : path_(path), number_(number), tests_(tests), n_tests_(n_tests), offset_(offset),
          padded_((n_tests + held_out_lanes - 1) / held_out_lanes * held_out_lanes),
          values_(path.n_rows * padded_) {}

    void gather(size_t first, size_t end) {
        for (size_t j = first; j < end; ++j) {
            const double* from = path_.gram + j * path_.n_rows;
            double* to = values_.data() + j * padded_;
            for (size_t t = 0; t < n_tests_; ++t) to[t] = from[tests_[t]];
            std::fill(to + n_tests_, to + padded_, 0.0);
        }
    }

    const double* row(size_t j) const { return values_.data() + j * padded_; }
    size_t size() const { return path_.n_rows * padded_; }
    size_t number() const { return number_; }
    size_t n_tests() const { return n_tests_; }
    size_t offset() const { return offset_; }    // of its first test row among all test rows
    size_t padded() const { return padded_; }    // n_tests, padded for the inner loop

private:
    const TrainedPath& path_;
    size_t number_;
    const std::int64_t* tests_;
    size_t n_tests_, offset_, padded_;
    RecycledBlock values_;
};

// What one thread needs to score columns.
class ColumnScorer {
public:
    ColumnScorer(const TrainedPath& path, size_t n_all_tests, double* scores)
        : path_(path), n_all_tests_(n_all_tests), scores_(scores), used_(path.n_rows) {}

    void score(const Fold& fold, size_t first, size_t end) {
        const size_t n_sums = path_.n_values * fold.padded();
        sums_.resize(columns_a_task * n_sums);
        for (size_t column = first; column < end; ++column) {
            collect(fold, column);
            lanes_in_use().held_out.combine(rows_.data(), weights_.data(), rows_.size(),
                                            path_.n_values, fold.padded(),
                                            sums_.data() + (column - first) * n_sums);
        }
        for (size_t v = 0; v < path_.n_values; ++v) {
            const double* biases = path_.biases + place(fold, v, first);
            double* out = scores_ + (v * n_all_tests_ + fold.offset()) * path_.n_columns + first;
            for (size_t t = 0; t < fold.n_tests(); ++t, out += path_.n_columns) {
                const double* sums = sums_.data() + v * fold.padded() + t;
                for (size_t k = 0; k < end - first; ++k) out[k] = sums[k * n_sums] + biases[k];
            }
        }
    }

private:
    size_t place(const Fold& fold, size_t v, size_t column) const {
        return (fold.number() * path_.n_values + v) * path_.n_columns + column;
    }

    const double* coefficients(const Fold& fold, size_t v, size_t column) const {
        return path_.coefficients + place(fold, v, column) * path_.n_rows;
    }

    // The rows that some machine of the column uses, and their coefficients for all values.
    void collect(const Fold& fold, size_t column) {
        const size_t n_rows = path_.n_rows;
        double* const used = used_.data();
        std::fill_n(used, n_rows, 0.0);
        for (size_t v = 0; v < path_.n_values; ++v) {
            const double* values = coefficients(fold, v, column);
            for (size_t j = 0; j < n_rows; ++j) used[j] += std::fabs(values[j]);
        }
        rows_.clear();
        weights_.clear();
        for (size_t j = 0; j < n_rows; ++j) {
            if (used[j] == 0.0) continue;
            rows_.push_back(fold.row(j));
            for (size_t v = 0; v < path_.n_values; ++v)
                weights_.push_back(coefficients(fold, v, column)[j]);
        }
    }

    const TrainedPath& path_;
    const size_t n_all_tests_;
    double* const scores_;
    std::vector<double> used_;    // above 0 for rows that some machine uses
    std::vector<const double*> rows_;
    std::vector<double> weights_;
    std::vector<double> sums_;
};

}    // namespace

bool held_out_scores(const TrainedPath& path, const RowLists& tests, double* scores,
                     size_t n_threads, const std::function<bool()>& interrupted) {
    const size_t n_all_tests = path.n_folds ? tests.ends[path.n_folds - 1] : 0;
    const size_t row_blocks = (path.n_rows + rows_a_task - 1) / rows_a_task;
    const size_t column_blocks = (path.n_columns + columns_a_task - 1) / columns_a_task;
    std::vector<Fold> group;
    const auto gather = [&](Tasks& tasks) {
        for (size_t task; tasks.next(task);) {
            const size_t first = task % row_blocks * rows_a_task;
            group[task / row_blocks].gather(first, std::min(path.n_rows, first + rows_a_task));
        }
    };
    const auto score = [&](Tasks& tasks) {
        ColumnScorer scorer(path, n_all_tests, scores);
        for (size_t task; tasks.next(task);) {
            const size_t first = task % column_blocks * columns_a_task;
            scorer.score(group[task / column_blocks], first,
                         std::min(path.n_columns, first + columns_a_task));
        }
    };
    size_t offset = 0, gathered = 0;
    for (size_t number = 0; number < path.n_folds; ++number) {
        const size_t end = tests.ends[number];
        if (end > offset) {
            group.emplace_back(path, number, tests.rows + offset, end - offset, offset);
            gathered += group.back().size();
        }
        offset = end;
        if (gathered < most_gathered && number + 1 < path.n_folds) continue;
        if (!run_crew(group.size() * row_blocks, n_threads, gather, interrupted) ||
            !run_crew(group.size() * column_blocks, n_threads, score, interrupted))
            return false;
        group.clear();
        gathered = 0;
    }
    return true;
}

}    // namespace polychotomy
