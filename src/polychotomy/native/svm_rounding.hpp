// The estimated rounding error of the outputs of an SVM problem.
//
// Outputs are updated thousands of times. In double precision the sum of all rounding errors stays
// far below usual tolerances. In single precision that sum would be more than the tolerance, so the
// errors are taken for independent, and a multiple of their standard deviation is expected at most.
// (The true gap was within the tolerance in all of 17,444 machines of a grid.)
#pragma once

#include <cmath>
#include <limits>

#include "svm_state.hpp"

namespace polychotomy {

template <class Real>
class SvmRounding {
public:
    // No errors so far.
    void reset() { errors_ = roundings_ = 0.0; }

    // A change of coefficients of this size, whose products with the kernel are rounded.
    void add(double size) {
        errors_ += is_single<Real> ? size * size : size;
        roundings_ += 1.0;
    }

    // All outputs were computed from sums in double precision, and rounded once.
    void outputs_rounded_once() { roundings_ = 1.0; }

    // All outputs were multiplied; `sum` is that of all |beta|.
    void multiply(double multiple, double sum) {
        if (is_single<Real>) {
            errors_ *= multiple * multiple;
            roundings_ += 1.0;
        } else {
            errors_ = multiple * errors_ + 4 * (1 + sum);
        }
    }

    // The absolute error of any output.
    double error() const {
        return unit * (is_single<Real> ? deviations * std::sqrt(errors_) : errors_);
    }

    // The error of an output in units of itself, from being rounded so often.
    double relative_error() const {
        return is_single<Real> ? deviations * unit * std::sqrt(roundings_) : 0.0;
    }

private:
    static constexpr double unit = std::numeric_limits<Real>::epsilon() / 2;
    static constexpr double deviations = 8.0;

    double errors_ = 0.0;    // the sum of sizes, or of their squares
    double roundings_ = 0.0;
};

}    // namespace polychotomy
