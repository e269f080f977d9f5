// Gram matrices: computed from distances, and inspected.
#pragma once

#include <cstddef>
#include <functional>

#include "svm.hpp"

namespace polychotomy {

// kernel = exp(-gamma distances), both of `count` entries, by the lanes in use; false if
// interrupted.
bool gaussian_of_distances(const double* distances, double* kernel, size_t count, double gamma,
                           size_t n_threads, const std::function<bool()>& interrupted);

struct SvmGramFacts {
    bool finite;
    double largest;      // absolute entry
    double asymmetry;    // the largest absolute difference of mirrored entries
};

// False if interrupted.
bool inspect_gram(const SvmGram& gram, SvmGramFacts& facts, size_t n_threads,
                  const std::function<bool()>& interrupted);

}    // namespace polychotomy
