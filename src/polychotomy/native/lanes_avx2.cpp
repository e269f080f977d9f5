// The lane-parallel loops for x86 processors with AVX2 and FMA; compiled with their flags.
#define POLYCHOTOMY_LANES avx2
#define POLYCHOTOMY_LANE_COUNT 4
#include "lanes.hpp"

namespace polychotomy {
const LaneFunctions avx2_lanes = {"avx2", avx2::workspace, avx2::wu_lin_weng, avx2::markov,
                                  avx2::hastie_tibshirani};
}
