// Adds the soft-max combination to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace polychotomy {
void bind_softmax(nanobind::module_& module);
}
