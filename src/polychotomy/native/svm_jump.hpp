// One long step of all free coefficients of a binary support vector machine at once.
//
// Where C is large, moving pairs takes thousands of steps to settle some tens of coefficients that
// are at no bound. Their optimum, the others fixed, is the solution of a linear system: K_FF d + b =
// residual_F, sum d = 0. The step goes there, or as far as the first bound.
#pragma once

#include <vector>

#include "matrix.hpp"
#include "svm_rows.hpp"

namespace polychotomy {

template <class Real>
struct SvmState;

template <class Real>
class SvmJump {
public:
    SvmJump(const SvmPasses<Real>& passes, const StopFlag& stop) : passes_(passes), stop_(stop) {}

    // Chooses the free rows; returns about how many steps of pairs would cost as much.
    double look(const SvmState<Real>& state);
    // Moves the free coefficients, and the outputs with them. Returns the length of the step,
    // 0 if there is no way up.
    double move(SvmState<Real>& state, GatheredRows<Real>& kernel);
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
