// Asking Python whether the user wants to stop.
#pragma once

#include <nanobind/nanobind.h>

// True if a signal handler has raised something, KeyboardInterrupt for one, which is then pending.
// Python looks for signals in its main thread only; elsewhere this never says yes.
inline bool python_was_interrupted() {
    nanobind::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
}
