// The lane-parallel loops for any processor: two doubles fit the registers of SSE2 and NEON.
#define POLYCHOTOMY_LANES baseline
#define POLYCHOTOMY_LANE_COUNT 2
#include "all_lanes.hpp"

namespace polychotomy {
constexpr LaneFunctions baseline_lanes = baseline::functions("baseline");
}
