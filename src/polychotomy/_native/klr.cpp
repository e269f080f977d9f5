#include "klr.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace polychotomy {
namespace {

using std::size_t;

constexpr std::chrono::milliseconds interrupt_interval(100);

KlrRows rows_of_task(const KlrProblems& problems, size_t subset, size_t column) {
    KlrRows task;
    const std::int64_t first = subset == 0 ? 0 : problems.subset_ends[subset - 1];
    for (std::int64_t k = first; k < problems.subset_ends[subset]; ++k) {
        const auto row = static_cast<size_t>(problems.subset_rows[k]);
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

// Threads that take the next task until there is none. A task's result depends on nothing but
// the task, so the number of threads changes no bit.
class Crew {
public:
    Crew(const KlrProblems& problems, const KlrResults& results)
        : problems_(problems), results_(results), kernels_(klr_kernels()),
          n_tasks_(problems.n_subsets * problems.n_columns) {}

    ~Crew() {
        stop_ = true;
        for (std::thread& thread : threads_) thread.join();
    }

    bool run(size_t n_threads, const std::function<bool()>& interrupted) {
        n_threads = std::max<size_t>(1, std::min(n_threads, n_tasks_));
        threads_.reserve(n_threads);
        for (size_t k = 0; k < n_threads; ++k) {
            std::lock_guard<std::mutex> lock(mutex_);
            threads_.emplace_back([this] { work(); });
            ++n_working_;
        }
        std::unique_lock<std::mutex> lock(mutex_);
        while (!finished_.wait_for(lock, interrupt_interval, [this] { return n_working_ == 0; })) {
            lock.unlock();
            if (interrupted()) return false;
            lock.lock();
        }
        if (failure_) std::rethrow_exception(failure_);
        return true;
    }

private:
    void work() {
        std::exception_ptr failure;
        try {
            KlrNewton newton(kernels_, stop_);
            for (size_t task; !stop_ && (task = next_task_++) < n_tasks_;)
                Task(problems_, results_, task).run(newton, stop_);
        } catch (...) {    // out of memory: the calling thread throws it again
            failure = std::current_exception();
            stop_ = true;
        }
        std::lock_guard<std::mutex> lock(mutex_);
        if (failure && !failure_) failure_ = failure;
        if (--n_working_ == 0) finished_.notify_all();
    }

    const KlrProblems& problems_;
    const KlrResults& results_;
    const KlrKernels& kernels_;
    const size_t n_tasks_;
    std::atomic<size_t> next_task_{0};
    StopFlag stop_{false};
    std::mutex mutex_;
    std::condition_variable finished_;
    size_t n_working_ = 0;
    std::exception_ptr failure_;
    std::vector<std::thread> threads_;
};

}    // namespace

bool solve_klr(const KlrProblems& problems, const KlrResults& results, size_t n_threads,
               const std::function<bool()>& interrupted) {
    if (problems.n_subsets * problems.n_columns * problems.n_C == 0) return true;
    Crew crew(problems, results);
    return crew.run(n_threads, interrupted);
}

}    // namespace polychotomy
