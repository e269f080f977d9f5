// Adds kernel logistic regression to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace polychotomy {
void bind_klr(nanobind::module_& module);
}
