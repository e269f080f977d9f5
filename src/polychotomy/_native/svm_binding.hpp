#pragma once

#include <nanobind/nanobind.h>

void define_svm(nanobind::module_& module);
