#include "bindings.hpp"

#include <vector>

#include "trees.hpp"

namespace polychotomy {
namespace {

using IndexArray = Array<const std::int64_t, 1>;

size_t grow(const Array<const std::uint8_t, 2>& bins, const IndexArray& bin_counts,
            const Array<const double, 1>& slopes, const Array<const double, 1>& curvatures,
            size_t most_leaves, size_t least_rows, double least_curvature, double penalty,
            double rate, const Array<std::int64_t, 1>& inputs,
            const Array<std::int64_t, 1>& last_bins, const Array<std::int64_t, 1>& left,
            const Array<std::int64_t, 1>& right, const Array<double, 1>& values,
            const Array<double, 1>& scores) {
    const size_t n_rows = bins.shape(0), n_inputs = bins.shape(1);
    require(n_rows <= UINT32_MAX, "There are too many rows.");
    require(bin_counts.shape(0) == n_inputs, "bin_counts must have one entry for every input.");
    for (size_t j = 0; j < n_inputs; ++j)
        require(bin_counts.data()[j] >= 1 && bin_counts.data()[j] <= 256,
                "bin_counts must be from 1 to 256.");
    // In a loop that the compiler can turn into one over vectors.
    std::vector<std::uint8_t> last(n_inputs);
    for (size_t j = 0; j < n_inputs; ++j)
        last[j] = static_cast<std::uint8_t>(bin_counts.data()[j] - 1);
    int beyond = 0;
    for (size_t i = 0; i < n_rows; ++i)
        for (size_t j = 0; j < n_inputs; ++j)
            beyond |= bins.data()[i * n_inputs + j] > last[j];
    require(!beyond, "A row is in a bin that does not exist.");
    require(slopes.shape(0) == n_rows && curvatures.shape(0) == n_rows &&
                scores.shape(0) == n_rows,
            "slopes, curvatures and scores must have one entry for every row.");
    require(most_leaves >= 1 && least_rows >= 1, "A tree has at least one leaf of one row.");
    const size_t room = 2 * most_leaves - 1;
    require(inputs.shape(0) >= room && last_bins.shape(0) >= room && left.shape(0) >= room &&
                right.shape(0) >= room && values.shape(0) >= room,
            "There is no room for the nodes.");
    const BinnedRows rows = {bins.data(), bin_counts.data(), n_rows, n_inputs};
    const TreeLimits limits = {most_leaves, least_rows, least_curvature, penalty};
    const TreeNodes nodes = {inputs.data(), last_bins.data(), left.data(), right.data(),
                             values.data()};
    size_t n_nodes = 0;
    run_interruptible([&] {
        n_nodes = grow_tree(rows, slopes.data(), curvatures.data(), limits, rate, nodes,
                            scores.data());
        return !python_was_interrupted();
    });
    return n_nodes;
}

void answer(const Array<const std::int64_t, 2>& roots, const IndexArray& inputs,
            const Array<const double, 1>& thresholds, const IndexArray& left,
            const IndexArray& right, const Array<const double, 1>& values, size_t depth,
            const Array<const double, 2>& X, const Array<double, 2>& scores) {
    const size_t n_nodes = inputs.shape(0), n_inputs = X.shape(1);
    require(thresholds.shape(0) == n_nodes && left.shape(0) == n_nodes &&
                right.shape(0) == n_nodes && values.shape(0) == n_nodes,
            "Nodes must have one entry in every array.");
    require(scores.shape(0) == X.shape(0) && scores.shape(1) == roots.shape(1),
            "scores must have the shape (rows, trees of a round).");
    const auto inside = [](const std::int64_t* found, size_t count, size_t end) {
        for (size_t k = 0; k < count; ++k)
            require(found[k] >= 0 && static_cast<size_t>(found[k]) < end,
                    "A node or an input does not exist.");
    };
    inside(roots.data(), roots.shape(0) * roots.shape(1), n_nodes);
    inside(inputs.data(), n_nodes, n_inputs);
    inside(left.data(), n_nodes, n_nodes);
    inside(right.data(), n_nodes, n_nodes);
    const Forest forest = {roots.data(), inputs.data(), thresholds.data(), left.data(),
                           right.data(), values.data(), roots.shape(0), roots.shape(1), depth};
    run_interruptible([&] {
        return add_answers(forest, X.data(), X.shape(0), n_inputs, scores.data(),
                           python_was_interrupted);
    });
}

}    // namespace

void bind_trees(nb::module_& module) {
    module.def("grow_tree", &grow, "bins"_a.noconvert(), "bin_counts"_a.noconvert(),
               "slopes"_a.noconvert(), "curvatures"_a.noconvert(), "most_leaves"_a,
               "least_rows"_a, "least_curvature"_a, "penalty"_a, "rate"_a,
               "inputs"_a.noconvert(), "last_bins"_a.noconvert(), "left"_a.noconvert(),
               "right"_a.noconvert(), "values"_a.noconvert(), "scores"_a.noconvert());
    module.def("answer_trees", &answer, "roots"_a.noconvert(), "inputs"_a.noconvert(),
               "thresholds"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(),
               "values"_a.noconvert(), "depth"_a, "X"_a.noconvert(), "scores"_a.noconvert());
}

}    // namespace polychotomy
