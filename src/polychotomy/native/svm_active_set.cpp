#include "svm_active_set.hpp"

#include <utility>

#include "lane_functions.hpp"

namespace polychotomy {

namespace {

constexpr size_t least_rows_to_shrink = 100;
constexpr double largest_share_to_keep = 0.7;

}    // namespace

template <class Real>
bool SvmActiveSet<Real>::shrink(const SvmViolatingPair& pair) {
    SvmState<Real>& state = this->state();
    if (state.n < least_rows_to_shrink) return false;
    std::vector<size_t> kept;
    for (size_t i = 0; i < state.n; ++i) {
        const bool too_high = !state.in_I_up(i) && state.gradient(i) > pair.up;
        const bool too_low = !state.in_I_low(i) && state.gradient(i) < pair.low;
        if (!too_high && !too_low) kept.push_back(i);
    }
    if (static_cast<double>(kept.size()) > largest_share_to_keep * static_cast<double>(state.n))
        return false;
    SvmState<Real> smaller;
    smaller.resize(kept.size());
    for (size_t to = 0; to < kept.size(); ++to) smaller.copy_row(to, state, kept[to]);
    smaller.equal_diagonal = state.equal_diagonal;
    if (is_shrunk_) {
        save_active();
        for (size_t& row : kept) row = places_[row];
    }
    places_ = std::move(kept);
    active_ = std::move(smaller);
    is_shrunk_ = true;
    active_kernel_.bind(active_.numbers);
    return true;
}

template <class Real>
void SvmActiveSet<Real>::save_active() {
    for (size_t k = 0; k < active_.n; ++k) {
        full_.beta[places_[k]] = active_.beta[k];
        full_.set_levels(places_[k]);
    }
}

template <class Real>
bool SvmActiveSet<Real>::unshrink() {
    if (!is_shrunk_) return false;
    save_active();
    is_shrunk_ = false;
    return true;
}

template <class Real>
std::vector<double> SvmActiveSet<Real>::combine_rows(const std::vector<double>& amounts,
                                                     bool exactly) {
    if (exactly) return full_kernel_.combine_exactly(amounts);
    std::vector<double> sums(full_.padded_n(), 0.0), factors;
    std::vector<const Real*> rows;
    for (size_t i = 0; i < full_.n; ++i) {
        if (amounts[i] == 0.0) continue;
        if (full_kernel_.is_sparse()) {
            const auto found = full_kernel_.neighbours(i);
            for (size_t k = 0; k < found.count; ++k)
                sums[found.rows[k]] += amounts[i] * found.entries[k];
        } else {
            rows.push_back(full_kernel_.row(i));
            factors.push_back(amounts[i]);
        }
    }
    svm_passes_in_use<Real>().add_rows(sums.data(), rows.data(), factors.data(), rows.size(),
                                       sums.size());
    return sums;
}

template <class Real>
void SvmActiveSet<Real>::release() {
    full_kernel_.release();
    active_kernel_.release();
}

template class SvmActiveSet<float>;
template class SvmActiveSet<double>;

}    // namespace polychotomy
