#include "svm_sparse.hpp"

#include <algorithm>
#include <limits>

#include "svm_smo.hpp"

namespace polychotomy {

namespace {

constexpr size_t rows_a_block = 128;    // a multiple of svm_padding

}    // namespace

template <class Real>
SvmExtremes SvmSparseSteps<Real>::begin(const SvmState<Real>& state) {
    const size_t n_blocks = (state.padded_n() + rows_a_block - 1) / rows_a_block;
    blocks_.resize(n_blocks);
    is_changed_.assign(n_blocks, false);
    changed_.clear();
    for (size_t block = 0; block < n_blocks; ++block) look_at(state, block);
    return best();
}

template <class Real>
void SvmSparseSteps<Real>::look_at(const SvmState<Real>& state, size_t block) {
    const size_t start = block * rows_a_block;
    const size_t width = std::min(rows_a_block, state.padded_n() - start);
    SvmExtremes& found = blocks_[block];
    found = passes_.look(state.output.data() + start, state.up_level.data() + start,
                         state.low_level.data() + start, width);
    if (found.up_row != no_row) found.up_row += start;
    if (found.low_row != no_row) found.low_row += start;
}

template <class Real>
SvmExtremes SvmSparseSteps<Real>::best() const {
    SvmExtremes best = blocks_[0];
    for (const SvmExtremes& block : blocks_) {
        if (block.up > best.up) {
            best.up = block.up;
            best.up_row = block.up_row;
        }
        if (block.low < best.low) {
            best.low = block.low;
            best.low_row = block.low_row;
        }
    }
    return best;
}

template <class Real>
SvmPartner SvmSparseSteps<Real>::partner_of(const SvmState<Real>& state,
                                            GatheredRows<Real>& kernel,
                                            const SvmExtremes& extremes,
                                            double least_curvature) const {
    const size_t i = extremes.up_row;
    const double own = state.residual(i), diagonal = state.diagonal[i];
    SvmPartner best = {no_row, 0.0};
    double largest = 0.0;
    const auto see = [&](size_t row, double entry) {
        const double gap = own - state.residual(row);
        if (!state.may_fall(row) || !(gap > 0.0)) return;
        const double gain = gap * gap / std::max(2.0 * (diagonal - entry), least_curvature);
        if (gain > largest) {
            largest = gain;
            best = {row, entry};
        }
    };
    if (extremes.low_row != no_row) see(extremes.low_row, 0.0);
    const auto neighbours = kernel.neighbours(i);
    for (size_t k = 0; k < neighbours.count; ++k) see(neighbours.rows[k], neighbours.entries[k]);
    return best;
}

template <class Real>
SvmExtremes SvmSparseSteps<Real>::step(SvmState<Real>& state, GatheredRows<Real>& kernel,
                                       size_t rising, size_t falling, double amount) {
    add(state, kernel.neighbours(rising), amount);
    add(state, kernel.neighbours(falling), -amount);
    for (const size_t block : changed_) {
        look_at(state, block);
        is_changed_[block] = false;
    }
    changed_.clear();
    return best();
}

template <class Real>
void SvmSparseSteps<Real>::add(SvmState<Real>& state,
                               const typename GatheredRows<Real>::Neighbours& row,
                               double amount) {
    const Real factor = static_cast<Real>(amount);
    for (size_t k = 0; k < row.count; ++k) {
        state.output[row.rows[k]] += factor * row.entries[k];
        const size_t block = row.rows[k] / rows_a_block;
        if (is_changed_[block]) continue;
        is_changed_[block] = true;
        changed_.push_back(block);
    }
}

template class SvmSparseSteps<float>;
template class SvmSparseSteps<double>;

}    // namespace polychotomy
