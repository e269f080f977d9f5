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

// The threads of one call. Leaving the scope stops and joins them, whatever has happened.
class Crew {
public:
    Crew(size_t n_tasks, const std::function<void(Tasks&)>& work) : tasks_(n_tasks), work_(work) {}
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    ~Crew() {
        tasks_.stop();
        for (std::thread& thread : threads_) thread.join();
    }

    void start(size_t n_threads) {
        threads_.reserve(n_threads);
        for (size_t t = 0; t < n_threads; ++t) {
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                ++n_busy_;
            }
            try {
                threads_.emplace_back([this] { run(); });
            } catch (const std::system_error&) {
                const std::lock_guard<std::mutex> lock(mutex_);
                --n_busy_;
                if (threads_.empty()) throw;
                return;    // the others do it all
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
    void run() {
        std::exception_ptr failure;
        try {
            work_(tasks_);
        } catch (...) {    // out of memory, say
            failure = std::current_exception();
            tasks_.stop();
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        if (failure && !failure_) failure_ = failure;
        if (--n_busy_ == 0) done_.notify_one();
    }

    Tasks tasks_;
    const std::function<void(Tasks&)>& work_;
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable done_;
    size_t n_busy_ = 0;
    std::exception_ptr failure_;
};

}    // namespace

bool run_crew(size_t n_tasks, size_t n_threads, const std::function<void(Tasks&)>& work,
              const std::function<bool()>& interrupted) {
    Crew crew(n_tasks, work);
    crew.start(std::min(n_threads, std::max(n_tasks, size_t{1})));
    return crew.wait(interrupted);
}

}    // namespace polychotomy
