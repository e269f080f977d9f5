// A Newton step on the free set of a binary support vector machine.
//
// Where C is large, steps of pairs take thousands of iterations for some tens of coefficients that
// are at no bound. The optimum of these, the others fixed, is the solution of a linear system: K_FF
// d + b = G_F, sum d = 0. The step goes there, or as far as the first bound. Searches of C and the
// kernel width on segment need a third of the iterations, and two thirds of the time, that they
// needed with steps of pairs alone.
#pragma once

#include <vector>

#include "matrix.hpp"
#include "svm_rows.hpp"
#include "svm_state.hpp"

namespace polychotomy {

template <class Real>
class SvmNewtonStep {
public:
    SvmNewtonStep(const SvmPasses<Real>& passes, const StopFlag& stop)
        : passes_(passes), stop_(stop) {}

    // Finds the free set; returns about how many steps of pairs would cost as much as a Newton
    // step.
    double find_free(const SvmState<Real>& state);
    // Moves the free coefficients, and the outputs with them. Returns the length of the step, 0 if
    // there is none that gains.
    double step(SvmState<Real>& state, GatheredRows<Real>& kernel);
    size_t n_free() const { return free_.size(); }

private:
    bool factorise_free(const SvmState<Real>& state, GatheredRows<Real>& kernel);
    void find_direction(const SvmState<Real>& state);
    double longest_step(const SvmState<Real>& state) const;

    const SvmPasses<Real>& passes_;
    const StopFlag& stop_;
    std::vector<size_t> free_;
    SquareMatrix factor_;
    std::vector<const Real*> rows_;
    std::vector<double> direction_, constant_, change_;
};

}    // namespace polychotomy
