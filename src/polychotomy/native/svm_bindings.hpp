#pragma once

#include <nanobind/nanobind.h>

namespace polychotomy {

void bind_svm(nanobind::module_& module);

}    // namespace polychotomy
