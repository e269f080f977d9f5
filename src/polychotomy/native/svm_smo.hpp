// Sequential minimal optimisation of one binary support vector machine for one C.
//
// Every step moves a pair of coefficients, chosen by second-order working set selection (Fan, Chen
// and Lin 2005): i has the largest gradient in I_up, j gives the largest gain in I_low. Now and
// then a Newton step moves all free coefficients together (svm_newton.hpp), and bounded rows are
// left out (svm_active_set.hpp). Where the kernel is narrow, steps go through the entries that are
// not 0 (svm_sparse.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "svm.hpp"
#include "svm_active_set.hpp"
#include "svm_newton.hpp"
#include "svm_rounding.hpp"
#include "svm_sparse.hpp"

namespace polychotomy {

struct SvmControl {
    double tolerance;
    bool shared_rows;    // most problems have the rows of the one before
    const std::atomic<bool>* stop;
};

struct SvmSolution {
    double bias;
    double gap;
    std::int64_t iterations;
    SvmStatus status;
};

template <class Real>
class SvmSmo {
public:
    SvmSmo(const ScaledGram& gram, const SvmControl& control);

    // The problem, its kernel rows, and the rounding of its outputs. They are changed by those who
    // choose a starting point.
    SvmActiveSet<Real>& rows() { return rows_; }
    const SvmActiveSet<Real>& rows() const { return rows_; }
    SvmRounding<Real>& rounding() { return rounding_; }

    // Goes on from the present point, in which the active set has all rows.
    SvmSolution optimise(std::int64_t max_iterations);
    // The outputs from beta and the kernel, so exactly that rounding does not matter to a stopping
    // gap.
    void recompute_outputs(double stopping_gap);

private:
    enum class Outcome { reached, pause, limit, stopped };

    Outcome descend(std::int64_t max_iterations);
    bool step();
    void find_violating_pair();
    void take_newton_step();
    void shrink();
    void unshrink();
    double stopping_gap() const;
    double largest_gap() const;
    double exact_gradient(size_t row) const;
    double bias() const;

    SvmControl control_;
    const SvmPasses<Real>& passes_;
    SvmActiveSet<Real> rows_;
    SvmNewtonStep<Real> newton_;
    SvmSparseSteps<Real> sparse_steps_;
    SvmRounding<Real> rounding_;
    SvmViolatingPair pair_ = {};
    bool indefinite_ = false;
    double stopping_gap_ = 0.0;
    std::int64_t iterations_ = 0;
    std::int64_t next_shrink_ = 0;    // when to try it
    std::int64_t last_newton_ = 0, next_newton_ = 0;
};

}    // namespace polychotomy
