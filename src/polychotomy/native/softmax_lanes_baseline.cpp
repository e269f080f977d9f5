// The loops of the soft-max combination for any processor.
#define POLYCHOTOMY_LANES softmax_baseline
#define POLYCHOTOMY_LANE_COUNT 2
#include "softmax_lanes.hpp"

namespace polychotomy {
const SoftMaxKernels baseline_softmax_kernels = {
    softmax_baseline::evaluate, softmax_baseline::add_products, softmax_baseline::multiply,
    softmax_baseline::subtract_square};
}
