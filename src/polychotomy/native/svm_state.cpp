#include "svm_state.hpp"

#include <algorithm>

namespace polychotomy {

template <class Real>
void SvmState<Real>::resize(size_t rows) {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    n = rows;
    numbers.resize(n);
    for (auto* vector : {&label, &unit_bound, &linear, &beta, &lower, &upper}) vector->resize(n);
    output.assign(padded(n), Real(0));
    diagonal.assign(padded(n), Real(1));
    up_level.assign(padded(n), -infinity);
    low_level.assign(padded(n), infinity);
    equal_diagonal = false;
}

template <class Real>
void SvmState<Real>::copy_row(size_t to, const SvmState<Real>& from, size_t row) {
    numbers[to] = from.numbers[row];
    label[to] = from.label[row];
    unit_bound[to] = from.unit_bound[row];
    linear[to] = from.linear[row];
    beta[to] = from.beta[row];
    lower[to] = from.lower[row];
    upper[to] = from.upper[row];
    output[to] = from.output[row];
    diagonal[to] = from.diagonal[row];
    up_level[to] = from.up_level[row];
    low_level[to] = from.low_level[row];
}

template <class Real>
void SvmState<Real>::compare_diagonal() {
    equal_diagonal = std::all_of(diagonal.begin(), diagonal.begin() + static_cast<long>(n),
                                 [&](Real entry) { return entry == diagonal[0]; });
}

template struct SvmState<float>;
template struct SvmState<double>;

}    // namespace polychotomy
