// Steps of pairs where next to all entries of a kernel are 0, as those of narrow Gaussians are.
//
// A step changes the outputs of a few rows only. The extremes of all residuals are kept by blocks of
// rows, of which those with changed rows are looked at again. The partner of a row is, if it is none
// of its few neighbours, the one of least residual: all others have the same curvature. For kernels
// with equal diagonal entries.
#pragma once

#include <vector>

#include "svm_passes.hpp"
#include "svm_rows.hpp"

namespace polychotomy {

template <class Real>
struct SvmState;

struct SvmPartner {
    size_t row;    // or no_row
    double entry;
};

template <class Real>
class SvmSparseSteps {
public:
    explicit SvmSparseSteps(const SvmPasses<Real>& passes) : passes_(passes) {}

    // Looks at all rows.
    SvmExtremes begin(const SvmState<Real>& state);
    SvmPartner partner_of(const SvmState<Real>& state, GatheredRows<Real>& kernel,
                          const SvmExtremes& extremes, double least_curvature) const;
    // As the pass: the outputs after a step, and the extremes of the new residuals.
    SvmExtremes step(SvmState<Real>& state, GatheredRows<Real>& kernel, size_t rising,
                     size_t falling, double amount);

private:
    void add(SvmState<Real>& state, const typename GatheredRows<Real>::Neighbours& row,
             double amount);
    void look_at(const SvmState<Real>& state, size_t block);
    SvmExtremes best() const;

    const SvmPasses<Real>& passes_;
    std::vector<SvmExtremes> blocks_;
    std::vector<size_t> changed_;    // blocks
    std::vector<char> is_changed_;
};

}    // namespace polychotomy
