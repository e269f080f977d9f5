// The loops of kernel logistic regression for x86 processors with AVX2 and FMA; compiled with
// their flags.
#define POLYCHOTOMY_LANES klr_avx2
#define POLYCHOTOMY_LANE_COUNT 4
#include "klr_lanes.hpp"

namespace polychotomy {
const KlrKernels avx2_klr_kernels = {klr_avx2::multiply_symmetric, klr_avx2::subtract_product,
                                    klr_avx2::multiply_rows, klr_avx2::solve_forward,
                                    klr_avx2::solve_backward};
}
