// The loops of kernel logistic regression for any processor.
#define POLYCHOTOMY_LANES klr_baseline
#define POLYCHOTOMY_LANE_COUNT 2
#include "klr_lanes.hpp"

namespace polychotomy {
const KlrKernels baseline_klr_kernels = {
    klr_baseline::multiply_symmetric, klr_baseline::subtract_product, klr_baseline::multiply_rows,
    klr_baseline::solve_forward, klr_baseline::solve_backward};
}
