// Shrinking: the rows of an SVM problem that are still being worked on.
//
// Bounded rows that cannot be in a violating pair, as far as one can tell, are left out for a
// while. Shrinking copies rows of the kernel and ends with all outputs recomputed, which costs
// about as much as one step a row. So it is tried only after that many steps, and done only if it
// removes many rows. LIBSVM swaps rows in place instead. A copy leaves the kernel rows of the full
// problem as they are for the next C and for the next column on the same rows.
#pragma once

#include <vector>

#include "svm_rows.hpp"
#include "svm_state.hpp"

namespace polychotomy {

template <class Real>
class SvmActiveSet {
public:
    explicit SvmActiveSet(const ScaledGram& gram) : full_kernel_(gram), active_kernel_(gram) {}

    // Takes the rows of a new problem; true if they are those of the one before, whose kernel rows
    // are then kept.
    bool bind(const RowNumbers& numbers) {
        is_shrunk_ = false;
        return full_kernel_.bind(numbers);
    }

    // The rows that are being worked on.
    SvmState<Real>& state() { return is_shrunk_ ? active_ : full_; }
    const SvmState<Real>& state() const { return is_shrunk_ ? active_ : full_; }
    GatheredRows<Real>& kernel() { return is_shrunk_ ? active_kernel_ : full_kernel_; }
    bool is_shrunk() const { return is_shrunk_; }
    // Whether SvmSparseSteps can work on them.
    bool is_sparse() { return kernel().is_sparse() && state().equal_diagonal; }

    // All rows of the problem. Those of the active set are as they were when it was chosen.
    SvmState<Real>& full() { return full_; }
    const SvmState<Real>& full() const { return full_; }
    GatheredRows<Real>& full_kernel() { return full_kernel_; }
    const GatheredRows<Real>& full_kernel() const { return full_kernel_; }

    // Leaves out rows that are not in a pair as violating as this one; false if they are too few.
    bool shrink(const SvmViolatingPair& pair);
    // Back to all rows, whose outputs are then to be computed again; false if that is not needed.
    bool unshrink();

    // The sum of all kernel rows times their amounts, with the entries that the Gram matrix has
    // (exactly) or with those of the rows in use, which is faster.
    std::vector<double> combine_rows(const std::vector<double>& amounts, bool exactly = false);

    // Forgets the kernel rows.
    void release();

private:
    void save_active();

    SvmState<Real> full_, active_;
    GatheredRows<Real> full_kernel_, active_kernel_;
    std::vector<size_t> places_;    // of the active rows in the full problem
    bool is_shrunk_ = false;
};

}    // namespace polychotomy
