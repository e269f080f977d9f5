// The loop of Platt's sigmoids for x86 processors with AVX2 and FMA; compiled with their flags.
#define POLYCHOTOMY_LANES platt_avx2
#define POLYCHOTOMY_LANE_COUNT 4
#include "platt_lanes.hpp"

namespace polychotomy {
const PlattKernels avx2_platt_kernels = {platt_avx2::evaluate};
}
