// The Gaussian kernel for x86 processors with AVX2 and FMA; compiled with their flags.
#define POLYCHOTOMY_LANES avx2
#include "gaussian_lanes.hpp"

namespace polychotomy {
void gaussian_of_products_avx2(const GaussianProducts& given) {
    avx2::gaussian_of_products(given);
}
void gaussian_of_distances_avx2(const double* distances, double* kernel, size_t count,
                                double gamma) {
    avx2::gaussian_of_distances(distances, kernel, count, gamma);
}
}    // namespace polychotomy
