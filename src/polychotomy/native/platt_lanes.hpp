// The loop of platt_kernels.hpp with lanes along the rows; see lanes.hpp for the rules.
#pragma once

#include "lanes.hpp"
#include "platt_kernels.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {
namespace platt {

// So many factors between 1 and 2 are multiplied before one logarithm is taken of their product. A
// logarithm costs as much as all other work on a row.
constexpr size_t factors_at_once = 512;

struct PlattLanes {
    Lane value = all(0.0), a = all(0.0), b = all(0.0), aa = all(0.0), ab = all(0.0), bb = all(0.0);
};

// Adds the rows to the sums; returns the product of 1 + exp(-|z|) over rows of weight 1, or else
// adds its weighted logarithm.
template <bool unit_weights>
Lane add_rows(const PlattRows& rows, size_t first, size_t end, double a, double b,
              PlattLanes& sums) {
    Lane product = all(1.0);
    for (size_t n = first; n < end; n += W) {
        const Lane score = load(rows.scores + n), target = load(rows.targets + n);
        const Lane weight = load(rows.weights + n);
        const Lane z = a * score + b;
        const auto positive = z >= all(0.0);
        const Lane small = vanishing_exponential(positive ? -z : z);
        const Lane likely = 1.0 / (1.0 + small), unlikely = small * likely;
        const Lane probability = positive ? unlikely : likely;
        sums.value += weight * ((positive ? target : target - 1.0) * z);
        if (unit_weights) product *= 1.0 + weight * small;
        else sums.value += weight * logarithm(1.0 + small);
        const Lane excess = weight * (target - probability), curvature = weight * likely * unlikely;
        sums.a += score * excess;
        sums.b += excess;
        sums.aa += score * score * curvature;
        sums.ab += score * curvature;
        sums.bb += curvature;
    }
    return product;
}

PlattSums evaluate(const PlattRows& rows, double a, double b) {
    PlattLanes sums;
    if (rows.unit_weights)
        for (size_t first = 0; first < rows.n_rows; first += factors_at_once * W) {
            const size_t past = first + factors_at_once * W;
            const size_t end = past < rows.n_rows ? past : rows.n_rows;
            sums.value += logarithm(add_rows<true>(rows, first, end, a, b, sums));
        }
    else
        add_rows<false>(rows, 0, rows.n_rows, a, b, sums);
    return {total(sums.value), total(sums.a),  total(sums.b),
            total(sums.aa),    total(sums.ab), total(sums.bb)};
}

}    // namespace platt
}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
