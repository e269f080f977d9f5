// The loop of Platt's sigmoids for any processor.
#define POLYCHOTOMY_LANES platt_baseline
#define POLYCHOTOMY_LANE_COUNT 2
#include "platt_lanes.hpp"

namespace polychotomy {
const PlattKernels baseline_platt_kernels = {platt_baseline::evaluate};
}
