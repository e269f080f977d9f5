#pragma once

#include <nanobind/nanobind.h>

namespace polychotomy {

void bind_svm_block(nanobind::module_& module);

}    // namespace polychotomy
