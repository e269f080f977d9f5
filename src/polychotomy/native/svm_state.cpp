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

template <class Real>
bool SvmState<Real>::move_pair(size_t i, size_t j, double& delta) {
    const double room_i = upper[i] - beta[i], room_j = beta[j] - lower[j];
    const double before_i = beta[i], before_j = beta[j];
    delta = std::min(delta, std::min(room_i, room_j));
    beta[i] = delta < room_i ? before_i + delta : upper[i];
    beta[j] = delta < room_j ? before_j - delta : lower[j];
    set_levels(i);
    set_levels(j);
    return beta[i] != before_i || beta[j] != before_j;
}

template <class Real>
SvmSecondOrder<Real> SvmState<Real>::second_order(size_t i, double least_curvature) const {
    return {output.data(),
            low_level.data(),
            equal_diagonal ? nullptr : diagonal.data(),
            static_cast<Real>(gradient(i)),
            diagonal[i],
            static_cast<Real>(least_curvature)};
}

template struct SvmState<float>;
template struct SvmState<double>;

}    // namespace polychotomy
