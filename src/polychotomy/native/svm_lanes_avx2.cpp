// The passes of the SVM solver for x86 processors with AVX2 and FMA; compiled with their flags.
#define POLYCHOTOMY_LANES avx2
#define POLYCHOTOMY_LANE_COUNT 4
#include "svm_lanes.hpp"

namespace polychotomy {
const SvmPassesOfBoth svm_passes_avx2 = {avx2::passes<float>(), avx2::passes<double>()};
}
