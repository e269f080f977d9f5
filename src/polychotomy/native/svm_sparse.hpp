// Steps of pairs where nearly all entries of a kernel are 0, as in narrow Gaussian kernels.
//
// A step changes the outputs of a few rows only. The violating pairs are kept by blocks of rows,
// and blocks with changed rows are searched again. The j with the largest gain is either one of the
// few neighbours of i, or the row with the smallest gradient in I_low: all rows that are no
// neighbours have the same curvature. This needs equal diagonal entries. (Half of the widths of the
// usual grids give such kernels; on 2,000 rows the two narrowest took a third and a half of the
// time.)
#pragma once

#include <vector>

#include "svm_passes.hpp"
#include "svm_rows.hpp"
#include "svm_state.hpp"

namespace polychotomy {

// The second row of a pair.
struct SvmSelected {
    size_t j;    // or no_row
    double K_ij;
};

template <class Real>
class SvmSparseSteps {
public:
    explicit SvmSparseSteps(const SvmPasses<Real>& passes) : passes_(passes) {}

    // Searches all rows for the maximal violating pair.
    SvmViolatingPair find_pair(const SvmState<Real>& state);
    // The j for the i of the pair.
    SvmSelected select_j(const SvmState<Real>& state, GatheredRows<Real>& kernel,
                         const SvmViolatingPair& pair, double least_curvature) const;
    // As the pass: the outputs after a step, and the pair that violates most then.
    SvmViolatingPair update(SvmState<Real>& state, GatheredRows<Real>& kernel, size_t i, size_t j,
                            double delta);

private:
    void add(SvmState<Real>& state, const typename GatheredRows<Real>::Neighbours& row,
             double amount);
    void search_block(const SvmState<Real>& state, size_t block);
    SvmViolatingPair best() const;

    const SvmPasses<Real>& passes_;
    std::vector<SvmViolatingPair> blocks_;
    std::vector<size_t> changed_;    // blocks
    std::vector<char> is_changed_;
};

}    // namespace polychotomy
