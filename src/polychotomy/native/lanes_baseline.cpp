// The lane-parallel loops for any processor: two doubles fit the registers of SSE2 and NEON.
#define POLYCHOTOMY_LANES baseline
#define POLYCHOTOMY_LANE_COUNT 2
#include "lanes.hpp"

namespace polychotomy {
const LaneFunctions baseline_lanes = {"baseline", baseline::workspace, baseline::wu_lin_weng,
                                      baseline::markov, baseline::hastie_tibshirani};
}
