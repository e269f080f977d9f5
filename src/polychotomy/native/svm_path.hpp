// One binary support vector machine along a path of ascending C.
//
// Each C starts from the solution for the one before (a warm start), the first from a point that is
// near the solution where C is small.
#pragma once

#include <cstdint>
#include <vector>

#include "svm_smo.hpp"

namespace polychotomy {

template <class Real>
class SvmPathSolver {
public:
    SvmPathSolver(const ScaledGram& gram, const SvmControl& control)
        : gram_(gram), control_(control), smo_(gram, control) {}

    // Starts a new problem at beta = 0. Weights may be null; rows have positive weights.
    void begin(const RowNumbers& rows, const std::vector<double>& labels, const double* weights);
    // Solves for C, from the solution for the C before, which was not larger.
    SvmSolution solve(double C, std::int64_t max_iterations);
    // Solves for C, from the betas of another solver.
    SvmSolution solve_from(const std::vector<double>& betas, double C, std::int64_t max_iterations);
    const std::vector<double>& betas() const { return full().beta; }
    // Forgets the kernel rows, until the next problem begins.
    void release() { smo_.rows().release(); }
    // a_i y_i of a row of the problem, for the C solved last.
    double coefficient(size_t row) const;

private:
    // What the betas of each side can add up to.
    struct Room {
        double above, below;
    };

    void warm_start(double C);
    void rescale(double C, double multiple);
    void cold_start(double C);
    void set_to_zero(double C);
    void fill();
    bool is_filling_promising();
    void set_filled_outputs(double C);
    Room room() const;
    double best_multiple() const;
    SvmState<Real>& full() { return smo_.rows().full(); }
    const SvmState<Real>& full() const { return smo_.rows().full(); }

    ScaledGram gram_;
    SvmControl control_;
    SvmSmo<Real> smo_;
    std::vector<double> all_sums_;    // of the kernel rows times their bounds at all_sums_C_
    double all_sums_C_ = 0.0;
    double C_ = 0.0;
};

}    // namespace polychotomy
