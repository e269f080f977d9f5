// Threads that share out independent tasks, and stop when the caller is interrupted.
//
// A task's result depends on nothing but the task, so the number of threads changes no bit.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace polychotomy {

using StopFlag = std::atomic<bool>;

// The tasks that are left, seen by a thread.
class Tasks {
public:
    explicit Tasks(std::size_t count) : count_(count) {}

    // Take the next task; false if there is none, or if it is time to stop.
    bool next(std::size_t& task) { return !stop_ && (task = next_++) < count_; }
    void stop() { stop_ = true; }
    const StopFlag& stop_flag() const { return stop_; }

private:
    const std::size_t count_;
    std::atomic<std::size_t> next_{0};
    StopFlag stop_{false};
};

// Run `work` in up to `n_threads` threads; each takes tasks until there are none. `interrupted` is
// called about ten times a second from the calling thread; once it returns true the threads are
// stopped, and the result is false. What a thread throws is thrown again.
bool run_crew(std::size_t n_tasks, std::size_t n_threads, const std::function<void(Tasks&)>& work,
              const std::function<bool()>& interrupted);

}    // namespace polychotomy
