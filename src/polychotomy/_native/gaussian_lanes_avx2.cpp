// The Gaussian kernel for x86 processors with AVX2 and FMA; compiled with their flags.
#define POLYCHOTOMY_LANES avx2
#include "gaussian_lanes.hpp"

namespace polychotomy {
void gaussian_of_products_avx2(const GaussianProducts& given) {
    avx2::gaussian_of_products(given);
}
}    // namespace polychotomy
