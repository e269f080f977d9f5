#include "klr.hpp"

#include "crew.hpp"
#include "lane_functions.hpp"

namespace polychotomy {
namespace {

using std::size_t;

KlrRows rows_of_task(const KlrProblems& problems, size_t subset, size_t column) {
    KlrRows task;
    const RowSubset chosen = problems.subsets.at(subset);
    for (size_t k = 0; k < chosen.count; ++k) {
        const auto row = static_cast<size_t>(chosen.rows[k]);
        const int label = problems.labels[row * problems.n_columns + column];
        const double weight = problems.weights[row];
        if (label == 0 || weight <= 0.0) continue;
        task.rows.push_back(row);
        task.signs.push_back(label);
        task.weights.push_back(weight);
    }
    return task;
}

// One column on one subset, along all C.
class Task {
public:
    Task(const KlrProblems& problems, const KlrResults& results, size_t index)
        : problems_(problems), results_(results), subset_(index / problems.n_columns),
          column_(index % problems.n_columns), rows_(rows_of_task(problems, subset_, column_)) {}

    void run(KlrNewton& newton, const StopFlag& stop) const {
        const bool trainable = rows_.has_both_signs();
        if (trainable) newton.load(problems_.gram, problems_.n_rows, rows_);
        for (size_t k = 0; k < problems_.n_C; ++k) {
            if (stop.load(std::memory_order_relaxed)) return;
            if (!trainable) {
                results_.status[place(k)] = static_cast<std::int32_t>(KlrStatus::untrained);
                continue;
            }
            const KlrOutcome outcome = newton.solve(problems_.C_values[k], problems_.options);
            write(newton, outcome, k);
            if (outcome.status == KlrStatus::indefinite || outcome.status == KlrStatus::not_finite)
                newton.restart();
        }
    }

private:
    size_t place(size_t k) const {
        return (subset_ * problems_.n_C + k) * problems_.n_columns + column_;
    }

    void write(const KlrNewton& newton, const KlrOutcome& outcome, size_t k) const {
        results_.status[place(k)] = static_cast<std::int32_t>(outcome.status);
        results_.iterations[place(k)] = outcome.iterations;
        results_.criterion[place(k)] = outcome.criterion;
        if (outcome.status == KlrStatus::not_finite) return;
        results_.biases[place(k)] = newton.bias();
        double* coefficients = results_.coefficients + place(k) * problems_.n_rows;
        for (size_t i = 0; i < rows_.rows.size(); ++i)
            coefficients[rows_.rows[i]] = newton.coefficient(i);
    }

    const KlrProblems& problems_;
    const KlrResults& results_;
    size_t subset_, column_;
    KlrRows rows_;
};

}    // namespace

bool solve_klr(const KlrProblems& problems, const KlrResults& results, size_t n_threads,
               const std::function<bool()>& interrupted) {
    const auto work = [&](Tasks& tasks) {
        KlrNewton newton(lanes_in_use().matrix, tasks.stop_flag());
        for (size_t task; tasks.next(task);)
            Task(problems, results, task).run(newton, tasks.stop_flag());
    };
    return run_crew(problems.n_subsets * problems.n_columns, n_threads, work, interrupted);
}

}    // namespace polychotomy
