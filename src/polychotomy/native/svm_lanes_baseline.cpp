// The passes of the SVM solver for any processor: two doubles fit SSE2 and NEON registers.
#define POLYCHOTOMY_LANES baseline
#define POLYCHOTOMY_LANE_COUNT 2
#include "svm_lanes.hpp"

namespace polychotomy {
const SvmPassesOfBoth svm_passes_baseline = {baseline::passes<float>(), baseline::passes<double>()};
}
