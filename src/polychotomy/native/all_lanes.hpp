// All loops that are compiled once per instruction set; see lanes.hpp.
#pragma once

#include "code_coupling_lanes.hpp"
#include "gaussian_lanes.hpp"
#include "hastie_tibshirani_lanes.hpp"
#include "held_out_lanes.hpp"
#include "lane_functions.hpp"
#include "matrix_lanes.hpp"
#include "pairwise_lanes.hpp"
#include "platt_lanes.hpp"
#include "softmax_lanes.hpp"
#include "svm_lanes.hpp"

namespace polychotomy {
namespace {
namespace POLYCHOTOMY_LANES {

constexpr LaneFunctions functions(const char* name) {
    return {name,
            {pairwise::workspace, pairwise::wu_lin_weng, pairwise::markov,
             pairwise::hastie_tibshirani},
            {code_coupling::workspace, code_coupling::couple},
            {platt::evaluate},
            {matrix::multiply_symmetric, matrix::subtract_product, matrix::subtract_square,
             matrix::multiply_rows, matrix::solve_forward, matrix::solve_backward},
            {softmax::evaluate, softmax::add_products, softmax::multiply},
            {held_out::combine},
            {gaussian::of_products, gaussian::of_distances,
             gaussian::of_single_products},
            svm::passes<float>(),
            svm::passes<double>()};
}

}    // namespace POLYCHOTOMY_LANES
}    // namespace
}    // namespace polychotomy
