#include "svm_sparse.hpp"

#include <algorithm>

namespace polychotomy {

namespace {

constexpr size_t rows_a_block = 128;    // a multiple of svm_padding

}    // namespace

template <class Real>
SvmViolatingPair SvmSparseSteps<Real>::find_pair(const SvmState<Real>& state) {
    const size_t n_blocks = (state.padded_n() + rows_a_block - 1) / rows_a_block;
    blocks_.resize(n_blocks);
    is_changed_.assign(n_blocks, false);
    changed_.clear();
    for (size_t block = 0; block < n_blocks; ++block) search_block(state, block);
    return best();
}

template <class Real>
void SvmSparseSteps<Real>::search_block(const SvmState<Real>& state, size_t block) {
    const size_t start = block * rows_a_block;
    const size_t width = std::min(rows_a_block, state.padded_n() - start);
    SvmViolatingPair& found = blocks_[block];
    found = passes_.find_pair(state.output.data() + start, state.up_level.data() + start,
                              state.low_level.data() + start, width);
    if (found.i != no_row) found.i += start;
    if (found.j != no_row) found.j += start;
}

template <class Real>
SvmViolatingPair SvmSparseSteps<Real>::best() const {
    SvmViolatingPair best = blocks_[0];
    for (const SvmViolatingPair& block : blocks_) {
        if (block.up > best.up) {
            best.up = block.up;
            best.i = block.i;
        }
        if (block.low < best.low) {
            best.low = block.low;
            best.j = block.j;
        }
    }
    return best;
}

template <class Real>
SvmSelected SvmSparseSteps<Real>::select_j(const SvmState<Real>& state, GatheredRows<Real>& kernel,
                                           const SvmViolatingPair& pair,
                                           double least_curvature) const {
    const double G_i = state.gradient(pair.i), K_ii = state.diagonal[pair.i];
    SvmSelected best = {no_row, 0.0};
    double largest = 0.0;
    const auto see = [&](size_t j, double K_ij) {
        const double gap = G_i - state.gradient(j);
        if (!state.in_I_low(j) || !(gap > 0.0)) return;
        const double gain = gap * gap / std::max(2.0 * (K_ii - K_ij), least_curvature);
        if (gain > largest) {
            largest = gain;
            best = {j, K_ij};
        }
    };
    if (pair.j != no_row) see(pair.j, 0.0);
    const auto neighbours = kernel.neighbours(pair.i);
    for (size_t k = 0; k < neighbours.count; ++k) see(neighbours.rows[k], neighbours.entries[k]);
    return best;
}

template <class Real>
SvmViolatingPair SvmSparseSteps<Real>::update(SvmState<Real>& state, GatheredRows<Real>& kernel,
                                              size_t i, size_t j, double delta) {
    add(state, kernel.neighbours(i), delta);
    add(state, kernel.neighbours(j), -delta);
    for (const size_t block : changed_) {
        search_block(state, block);
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
