// The Gaussian kernel for any processor.
#define POLYCHOTOMY_LANES baseline
#include "gaussian_lanes.hpp"

namespace polychotomy {
void gaussian_of_products_baseline(const GaussianProducts& given) {
    baseline::gaussian_of_products(given);
}
}    // namespace polychotomy
