// The loop of held-out scores for x86 processors with AVX2 and FMA; compiled with their flags.
#define POLYCHOTOMY_LANES held_out_avx2
#define POLYCHOTOMY_LANE_COUNT 4
#include "held_out_lanes.hpp"

namespace polychotomy {
const HeldOutKernels avx2_held_out_kernels = {held_out_avx2::combine};
}
