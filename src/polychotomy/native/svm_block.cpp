#include "svm_block.hpp"

#include <algorithm>
#include <vector>

#include "lane_functions.hpp"
#include "svm_passes.hpp"
#include "svm_state.hpp"

namespace polychotomy {

namespace {

SvmState<double> state_of(const SvmBlock& block) {
    SvmState<double> state;
    state.resize(block.n);
    for (size_t i = 0; i < block.n; ++i) {
        state.beta[i] = block.beta[i];
        state.lower[i] = block.lower[i];
        state.upper[i] = block.upper[i];
        state.linear[i] = block.gradient[i];
        state.diagonal[i] = block.gram[i * block.n + i];
        state.set_levels(i);
    }
    state.compare_diagonal();
    return state;
}

std::vector<double> padded_rows(const SvmBlock& block) {
    const size_t stride = padded(block.n);
    std::vector<double> rows(block.n * stride, 0.0);
    for (size_t i = 0; i < block.n; ++i)
        std::copy_n(block.gram + i * block.n, block.n, rows.data() + i * stride);
    return rows;
}

}    // namespace

std::int64_t solve_svm_block(const SvmBlock& block) {
    const SvmPasses<double>& passes = svm_passes_in_use<double>();
    SvmState<double> state = state_of(block);
    const std::vector<double> rows = padded_rows(block);
    const size_t stride = padded(block.n);
    SvmViolatingPair pair = passes.update(state.output.data(), rows.data(), rows.data(), 0.0,
                                          state.up_level.data(), state.low_level.data(), stride);
    std::int64_t iterations = 0;
    while (iterations < block.max_iterations && pair.gap() > block.stopping_gap) {
        const size_t i = pair.i;
        const double* row_i = rows.data() + i * stride;
        const size_t j =
            passes.select_j(state.second_order(i, block.least_curvature), row_i, stride);
        if (j == no_row) break;
        const double curvature = state.diagonal[i] + state.diagonal[j] - 2.0 * row_i[j];
        double delta = (state.gradient(i) - state.gradient(j)) /
                       std::max(curvature, block.least_curvature);
        if (!state.move_pair(i, j, delta)) break;
        pair = passes.update(state.output.data(), row_i, rows.data() + j * stride, delta,
                             state.up_level.data(), state.low_level.data(), stride);
        ++iterations;
    }
    std::copy_n(state.beta.data(), block.n, block.beta);
    for (size_t i = 0; i < block.n; ++i) block.gradient[i] = state.gradient(i);
    return iterations;
}

void subtract_rows(double* gradient, size_t n, const double* rows, const std::int64_t* places,
                   const double* amounts, size_t count) {
    constexpr size_t tile = 2048;    // gradients, which stay in the cache while rows are added
    const SvmPasses<double>& passes = svm_passes_in_use<double>();
    std::vector<const double*> parts(count);
    std::vector<double> negated(amounts, amounts + count);
    for (double& amount : negated) amount = -amount;
    for (size_t start = 0; start < n; start += tile) {
        for (size_t k = 0; k < count; ++k)
            parts[k] = rows + static_cast<size_t>(places[k]) * n + start;
        passes.add_rows(gradient + start, parts.data(), negated.data(), count,
                        std::min(tile, n - start));
    }
}

void gather_block(const double* rows, size_t n, const std::int64_t* places,
                  const std::int64_t* columns, size_t count, double* block) {
    for (size_t k = 0; k < count; ++k) {
        const double* row = rows + static_cast<size_t>(places[k]) * n;
        for (size_t l = 0; l < count; ++l) block[k * count + l] = row[columns[l]];
    }
}

}    // namespace polychotomy
