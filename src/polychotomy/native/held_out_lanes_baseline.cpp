// The loop of held-out scores for every processor.
#define POLYCHOTOMY_LANES held_out_baseline
#define POLYCHOTOMY_LANE_COUNT 2
#include "held_out_lanes.hpp"

namespace polychotomy {
const HeldOutKernels baseline_held_out_kernels = {held_out_baseline::combine};
}
