#include "crew.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace polychotomy {
namespace {

using std::size_t;

constexpr std::chrono::milliseconds interrupt_interval(100);

// The threads of one call. Leaving the scope stops and joins them, also after an exception.
class Crew {
public:
    Crew(size_t n_tasks, size_t n_threads, const std::function<void(Tasks&)>& work)
        : shares_(n_tasks, n_threads), n_threads_(n_threads), work_(work) {}
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    ~Crew() {
        shares_.stop();
        for (std::thread& thread : threads_) thread.join();
    }

    void start() {
        threads_.reserve(n_threads_);
        for (size_t t = 0; t < n_threads_; ++t) {
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                ++n_busy_;
            }
            try {
                threads_.emplace_back([this, t] { run(t); });
            } catch (const std::system_error&) {
                if (threads_.empty()) {
                    run(t);    // the system has no threads, as WebAssembly: no interrupts then
                    return;
                }
                const std::lock_guard<std::mutex> lock(mutex_);
                --n_busy_;
                return;    // the threads that did start do all tasks
            }
        }
    }

    bool wait(const std::function<bool()>& interrupted) {
        std::unique_lock<std::mutex> lock(mutex_);
        while (!done_.wait_for(lock, interrupt_interval, [this] { return n_busy_ == 0; })) {
            lock.unlock();
            const bool enough = interrupted();
            lock.lock();
            if (enough) return false;
        }
        if (failure_) std::rethrow_exception(failure_);
        return true;
    }

private:
    void run(size_t thread) {
        std::exception_ptr failure;
        try {
            Tasks tasks(shares_, thread);
            work_(tasks);
        } catch (...) {    // such as std::bad_alloc
            failure = std::current_exception();
            shares_.stop();
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        if (failure && !failure_) failure_ = failure;
        if (--n_busy_ == 0) done_.notify_one();
    }

    TaskShares shares_;
    const size_t n_threads_;
    const std::function<void(Tasks&)>& work_;
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable done_;
    size_t n_busy_ = 0;
    std::exception_ptr failure_;
};

}    // namespace

TaskShares::TaskShares(size_t n_tasks, size_t n_threads) {
    for (size_t t = 0; t < n_threads; ++t)
        shares_.push_back({n_tasks * t / n_threads, n_tasks * (t + 1) / n_threads});
}

bool TaskShares::next(size_t thread, size_t& task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Share& own = shares_[thread];
    if (own.size() == 0) {
        Share& largest = *std::max_element(
            shares_.begin(), shares_.end(),
            [](const Share& a, const Share& b) { return a.size() < b.size(); });
        const size_t middle = largest.next + largest.size() / 2;
        own = {middle, largest.end};
        largest.end = middle;
    }
    if (stop_ || own.size() == 0) return false;
    task = own.next++;
    return true;
}

bool run_crew(size_t n_tasks, size_t n_threads, const std::function<void(Tasks&)>& work,
              const std::function<bool()>& interrupted) {
    Crew crew(n_tasks, std::min(n_threads, std::max(n_tasks, size_t{1})), work);
    crew.start();
    return crew.wait(interrupted);
}

}    // namespace polychotomy
