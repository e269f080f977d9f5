// Python's way to the held-out scores of a path.
#pragma once

#include <nanobind/nanobind.h>

namespace polychotomy {
void bind_held_out(nanobind::module_& module);
}
