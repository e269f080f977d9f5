// The loops of the soft-max combination for x86 processors with AVX2 and FMA; compiled with their
// flags.
#define POLYCHOTOMY_LANES softmax_avx2
#define POLYCHOTOMY_LANE_COUNT 4
#include "softmax_lanes.hpp"

namespace polychotomy {
const SoftMaxKernels avx2_softmax_kernels = {softmax_avx2::evaluate, softmax_avx2::add_products,
                                            softmax_avx2::multiply,
                                            softmax_avx2::subtract_square};
}
