// Threads that work on independent tasks, and stop when the caller is interrupted.
//
// A task's result depends on nothing but the task, so the number of threads changes no bit.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace polychotomy {

using StopFlag = std::atomic<bool>;

// The remaining tasks. Every thread has a share of consecutive tasks, so that it can reuse what it
// prepared for the task before. When its share is done, it takes half of the largest share that is
// left. (With one queue for all threads, each of them gathered the kernel rows of every fold.)
class TaskShares {
public:
    TaskShares(std::size_t n_tasks, std::size_t n_threads);

    // The next task of a thread; false if there is none, or if the threads were told to stop.
    bool next(std::size_t thread, std::size_t& task);
    void stop() { stop_ = true; }
    const StopFlag& stop_flag() const { return stop_; }

private:
    struct Share {
        std::size_t next, end;
        std::size_t size() const { return end - next; }
    };

    std::mutex mutex_;
    std::vector<Share> shares_;
    StopFlag stop_{false};
};

// The tasks as one thread sees them.
class Tasks {
public:
    Tasks(TaskShares& shares, std::size_t thread) : shares_(shares), thread_(thread) {}

    bool next(std::size_t& task) { return shares_.next(thread_, task); }
    const StopFlag& stop_flag() const { return shares_.stop_flag(); }

private:
    TaskShares& shares_;
    std::size_t thread_;
};

// Run `work` in up to `n_threads` threads; each takes tasks until there are none. `interrupted` is
// called about ten times a second from the calling thread; once it returns true the threads are
// stopped, and the result is false. What a thread throws is thrown again.
bool run_crew(std::size_t n_tasks, std::size_t n_threads, const std::function<void(Tasks&)>& work,
              const std::function<bool()>& interrupted);

}    // namespace polychotomy
