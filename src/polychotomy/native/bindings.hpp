// What the bindings share: the faces of arrays, their checks, and interrupts.
//
// Arrays come in checked for type, rank and order by nanobind. The bindings check shapes and row
// numbers, because these could make the core read or write outside of arrays. The Python modules
// check values.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "row_lists.hpp"

namespace polychotomy {

namespace nb = nanobind;
using namespace nb::literals;

template <class T, size_t rank>
using Array = nb::ndarray<T, nb::ndim<rank>, nb::c_contig, nb::device::cpu>;
using RowArray = Array<const std::int64_t, 1>;

inline void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

inline void require_rows(const RowArray& rows, size_t n_rows) {
    for (size_t k = 0; k < rows.shape(0); ++k)
        require(rows.data()[k] >= 0 && static_cast<size_t>(rows.data()[k]) < n_rows,
                "A subset has a row that does not exist.");
}

inline RowLists checked_lists(const RowArray& rows, const RowArray& ends, size_t n_rows) {
    std::int64_t before = 0;
    for (size_t k = 0; k < ends.shape(0); ++k) {
        require(before <= ends.data()[k], "The ends of the subsets must not decrease.");
        before = ends.data()[k];
    }
    require(before == static_cast<std::int64_t>(rows.shape(0)),
            "The last subset must end with the last row.");
    require_rows(rows, n_rows);
    return {rows.data(), ends.data()};
}

// The data of an optional vector, null if it is None.
inline const double* optional_data(const nb::object& given, size_t size,
                                   Array<const double, 1>& holder, const char* message) {
    if (given.is_none()) return nullptr;
    holder = nb::cast<Array<const double, 1>>(given, false);
    require(holder.shape(0) == size, message);
    return holder.data();
}

// Calls that have released Python's lock, and whether Python is about to end.
//
// Note: while Python ends, it stops every other thread that asks for its lock by unwinding the
// thread's stack, and C++ aborts the process when that happens in a destructor, where the lock is
// taken again. So these calls come back before Python ends, and none starts after that.
struct OpenCalls {
    static inline std::atomic<int> number{0};
    static inline std::atomic<bool> ending{false};
    static inline std::thread::id ending_thread;

    // True if this thread has to end its call; KeyboardInterrupt is then pending.
    static bool must_end() {
        if (!ending || std::this_thread::get_id() == ending_thread) return false;
        PyErr_SetString(PyExc_KeyboardInterrupt, "Python is ending.");
        return true;
    }
};

// Releases Python's lock for as long as it lives.
class Unlocked {
    struct Count {
        Count() {
            if (OpenCalls::must_end()) throw nb::python_error();
            ++OpenCalls::number;
        }
        ~Count() { --OpenCalls::number; }
    };
    Count count_;    // outlives the other: the call is open until the lock is taken again
    nb::gil_scoped_release release_;
};

// True if a signal handler has raised something, such as KeyboardInterrupt, which is then pending.
// Python handles signals in its main thread only; in others this is true only when Python ends.
inline bool python_was_interrupted() {
    nb::gil_scoped_acquire acquire;
    return OpenCalls::must_end() || PyErr_CheckSignals() != 0;
}

// Runs work while other Python threads may run. If it returns false, it was interrupted, and what
// the signal handler raised is raised here.
template <class Work>
void run_interruptible(const Work& work) {
    bool finished;
    {
        const Unlocked unlocked;
        finished = work();
    }
    if (!finished) throw nb::python_error();
}

void bind_svm(nb::module_& module);
void bind_svm_block(nb::module_& module);
void bind_klr(nb::module_& module);
void bind_softmax(nb::module_& module);
void bind_held_out(nb::module_& module);
void bind_weston_watkins(nb::module_& module);
void bind_trees(nb::module_& module);

}    // namespace polychotomy
