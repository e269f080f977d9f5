// The lane-parallel loops of all methods, and the choice of an instruction set.
#pragma once

#include "code_coupling.hpp"
#include "gaussian_kernels.hpp"
#include "held_out_kernels.hpp"
#include "matrix_kernels.hpp"
#include "pairwise.hpp"
#include "platt_kernels.hpp"
#include "softmax_kernels.hpp"
#include "svm_passes.hpp"

namespace polychotomy {

// The loops, compiled for one instruction set.
struct LaneFunctions {
    const char* name;
    PairwiseKernels pairwise;
    CodeKernels code;
    PlattKernels platt;
    MatrixKernels matrix;
    SoftMaxKernels softmax;
    HeldOutKernels held_out;
    GaussianKernels gaussian;
    SvmPasses<float> svm_in_single;
    SvmPasses<double> svm_in_double;
};

extern const LaneFunctions baseline_lanes;
#ifdef POLYCHOTOMY_AVX2
extern const LaneFunctions avx2_lanes;
#endif

// The best set for this processor, found when the module is loaded, or the baseline if that was
// asked for (tests compare the two).
const LaneFunctions& lanes_in_use();
void use_baseline_lanes(bool only_baseline);

template <class Real>
const SvmPasses<Real>& svm_passes_in_use() {
    if constexpr (sizeof(Real) == sizeof(float)) return lanes_in_use().svm_in_single;
    else return lanes_in_use().svm_in_double;
}

}    // namespace polychotomy
