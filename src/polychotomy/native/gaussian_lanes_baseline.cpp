// The Gaussian kernel for any processor.
#define POLYCHOTOMY_LANES baseline
#include "gaussian_lanes.hpp"

namespace polychotomy {
void gaussian_of_products_baseline(const GaussianProducts& given) {
    baseline::gaussian_of_products(given);
}
void gaussian_of_distances_baseline(const double* distances, double* kernel, size_t count,
                                    double gamma) {
    baseline::gaussian_of_distances(distances, kernel, count, gamma);
}
}    // namespace polychotomy
