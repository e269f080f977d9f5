#include "lane_functions.hpp"

namespace polychotomy {
namespace {

const LaneFunctions* best_lanes() {
#ifdef POLYCHOTOMY_AVX2
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2_lanes;
#endif
    return &baseline_lanes;
}

const LaneFunctions* lanes = best_lanes();

}    // namespace

const LaneFunctions& lanes_in_use() { return *lanes; }

void use_baseline_lanes(bool only_baseline) {
    lanes = only_baseline ? &baseline_lanes : best_lanes();
}

}    // namespace polychotomy
