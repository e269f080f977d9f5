// The lane-parallel loops for x86 processors with AVX2 and FMA; compiled with their flags.
#define POLYCHOTOMY_LANES avx2
#define POLYCHOTOMY_LANE_COUNT 4
#include "all_lanes.hpp"

namespace polychotomy {
constexpr LaneFunctions avx2_lanes = avx2::functions("avx2");
}
