#include "bindings.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "weston_watkins.hpp"

namespace polychotomy {
namespace {

std::tuple<double, double, int, bool> solve(const Array<const double, 2>& features,
                                            const Array<const std::int64_t, 1>& y,
                                            const Array<const double, 1>& bounds,
                                            double tolerance, int max_epochs, std::uint64_t seed,
                                            const Array<double, 2>& weights,
                                            const Array<double, 2>& duals) {
    const size_t n_rows = features.shape(0), n_classes = weights.shape(0);
    require(y.shape(0) == n_rows && bounds.shape(0) == n_rows,
            "y and bounds must have one entry for every row.");
    require(weights.shape(1) == features.shape(1), "weights must have the columns of features.");
    require(duals.shape(0) == n_rows && duals.shape(1) == n_classes,
            "duals must have the shape (rows, classes).");
    for (size_t n = 0; n < n_rows; ++n)
        require(y.data()[n] >= 0 && y.data()[n] < static_cast<std::int64_t>(n_classes),
                "y has a class that does not exist.");
    const WestonWatkinsProblem problem = {features.data(), y.data(), bounds.data(), n_rows,
                                          features.shape(1), n_classes};
    WestonWatkinsResult result;
    result.weights = weights.data();
    result.duals = duals.data();
    run_interruptible([&] {
        return solve_weston_watkins(problem, tolerance, max_epochs, seed, result,
                                    python_was_interrupted);
    });
    return {result.primal, result.dual, result.epochs, result.converged};
}

}    // namespace

void bind_weston_watkins(nb::module_& module) {
    module.def("solve_weston_watkins", &solve, "features"_a.noconvert(), "y"_a.noconvert(),
               "bounds"_a.noconvert(), "tolerance"_a, "max_epochs"_a, "seed"_a,
               "weights"_a.noconvert(), "duals"_a.noconvert());
}

}    // namespace polychotomy
