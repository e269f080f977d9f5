// A projected Newton method for the weights of the soft-max combination on one set of rows.
//
// Class k has the score w_k . x_k on features x_k of its own, the last of them the constant 1.
// Minimises sum_f strength_f w_f^2 / 2 + mean NLL over w >= 0, which is convex. Scores are scaled
// to size 1, so that a tolerance means the same for all of them. Each Newton step is exact over w
// >= 0: steps that clip weights to their bounds were often rejected by the line search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "matrix.hpp"
#include "row_lists.hpp"
#include "softmax_kernels.hpp"

namespace polychotomy {

struct SoftMaxOptions {
    double tolerance;
    int max_iterations;
    int extra_steps;    // beyond the tolerance, if rounding allows
};

// Scores of the binary machines, row by row: those of the pairs (0, 1), (0, 2), ..., or one a
// class.
struct SoftMaxScores {
    const double* scores;
    const std::int64_t* y;
    const double* weights;
    std::size_t n_classes;
    bool one_vs_rest;

    std::size_t n_columns() const {
        return one_vs_rest ? n_classes : n_classes * (n_classes - 1) / 2;
    }
    std::size_t n_features() const { return one_vs_rest ? 2 : n_classes; }    // of a class
    std::size_t n_weights() const { return n_classes * n_features(); }
};

// Some rows, laid out for the loops: one row of memory a feature.
class FeatureRows {
public:
    // The shares are the weights of the rows divided by `total`.
    void load(const SoftMaxScores& data, const RowSubset& subset, double scale, double total);

    const double* const* features() const { return features_.data(); }
    const double* shares() const { return shares_.data(); }
    SoftMaxRows view() const { return {labels_.data(), shares_.data(), n_rows_}; }
    std::size_t n_rows() const { return n_rows_; }    // with padding

private:
    std::size_t n_rows_ = 0;
    std::vector<double> values_, labels_, shares_;
    std::vector<const double*> features_;
};

// The terms whose weight is not 0.
class TermList {
public:
    SoftMaxTerms select(const std::vector<double>& w, const double* const* features,
                        std::size_t n_classes);

private:
    std::vector<const double*> features_;
    std::vector<double> weights_;
    std::vector<std::size_t> ends_;
};

class SoftMaxNewton {
public:
    SoftMaxNewton(const SoftMaxKernels& kernels, const MatrixKernels& matrix_kernels,
                  const StopFlag& stop)
        : kernels_(kernels), matrix_kernels_(matrix_kernels), stop_(stop) {}

    // Copies a set of rows, and sets all weights to 0.
    void load(const SoftMaxScores& data, const RowSubset& subset);
    // Moves from the present weights to the minimum of 1/2 |w|^2 + C NLL; C may be infinite.
    bool solve(double C, const SoftMaxOptions& options);

    // The weights times the scale of the scores (except for those of the constants).
    const std::vector<double>& scaled_weights() const { return w_; }
    double scale() const { return scale_; }
    // The weight f for scores as they were given.
    double weight(std::size_t f) const {
        return (f + 1) % n_features_ == 0 ? w_[f] : w_[f] / scale_;
    }
    int iterations() const { return iterations_; }

private:
    using Vector = std::vector<double>;

    double penalty_of(const Vector& w) const;
    bool minimise(const SoftMaxOptions& options);
    bool minimise_unpenalised(const SoftMaxOptions& options);
    void extrapolate(double steps);
    double evaluate(const Vector& w);
    void differentiate();
    double violation() const;
    void choose_free();
    bool find_direction();
    void fill_hessian();
    void add_rows_to_hessian(std::size_t first, std::size_t count);
    bool search_line();
    void guess_kept();
    void find_misplaced();
    void swap_misplaced();
    bool solve_kept();
    void copy_kept(std::size_t order);
    double lift_of(std::size_t i) const;
    double hessian_entry(std::size_t i, std::size_t j) const {
        return i >= j ? hessian_.row(i)[j] : hessian_.row(j)[i];
    }

    const SoftMaxKernels& kernels_;
    const MatrixKernels& matrix_kernels_;
    const StopFlag& stop_;
    FeatureRows rows_;
    TermList terms_;
    std::size_t n_classes_ = 0, n_features_ = 0, n_weights_ = 0;
    double total_ = 0.0, scale_ = 1.0;
    double C_ = 0.0, C_before_ = 0.0;                  // the last values solved, 0 for none
    Vector w_before_;                                  // the solution for the last C but one
    int iterations_ = 0;
    Vector strength_, w_, candidate_, gradient_, direction_;
    double loss_ = 0.0;                                // at w
    Vector p_, residuals_, losses_, roots_;            // roots of the shares
    std::vector<std::size_t> free_;                    // weights
    std::vector<std::size_t> kept_, to_bound_, misplaced_;    // which of the free ones
    SquareMatrix hessian_, factor_;
    double lift_ = 0.0;                                // of the diagonal, a share of it
    Vector weighted_, solution_;
    std::vector<const double*> from_first_;
};

}    // namespace polychotomy
