// Sequential minimal optimisation of one binary support vector machine along a path of C.
//
// With beta_i = a_i y_i the dual is: maximise sum y_i beta_i - 1/2 beta' K beta subject to
// sum beta_i = 0 and lower_i <= beta_i <= upper_i (0 and C w_i, or -C w_i and 0). Its gradient is
// the residual y_i - sum_j K_ij beta_j; labels appear nowhere else. The pair to move is chosen by
// second-order information (Fan, Chen and Lin 2005): i has the largest residual of those that
// may rise, j gives the largest gain among those that may fall. Now and then all coefficients that
// are at no bound are moved together (svm_jump.hpp).
//
// Outputs, sum_j K_ij beta_j, and kernel rows are kept in single or in double precision (Real).
// Rounding is relative to the outputs, then, which are small where C is. A number added to all
// residuals changes no gap: the label of the larger side, whose rows can be free at small C, is taken
// away from all, so that residuals of these rows are small, too.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "svm.hpp"
#include "svm_constants.hpp"
#include "svm_jump.hpp"
#include "svm_passes.hpp"
#include "svm_rows.hpp"
#include "svm_sparse.hpp"

namespace polychotomy {

// A problem, or the part of it that is still being worked on, row by row.
template <class Real>
struct SvmState {
    size_t n = 0;
    RowNumbers numbers;    // in the Gram matrix
    std::vector<double> label, capacity;    // capacity: the weight times the unit of beta
    std::vector<double> target;             // the residual where beta is 0
    std::vector<double> beta, lower, upper;
    // These are padded.
    std::vector<Real> output, up_level, low_level, diagonal;
    bool equal_diagonal = false;    // as Gaussian kernels have it

    void resize(size_t rows);
    void copy_row(size_t to, const SvmState& from, size_t row);
    void compare_diagonal();
    void set_levels(size_t row);
    size_t padded_n() const { return output.size(); }
    double residual(size_t row) const { return target[row] - output[row]; }
    bool may_rise(size_t row) const { return std::isfinite(up_level[row]); }
    bool may_fall(size_t row) const { return std::isfinite(low_level[row]); }
    bool is_free(size_t row) const { return may_rise(row) && may_fall(row); }
    SvmPartnerSearch<Real> partner_of(size_t row, double least_curvature) const;
};

struct SvmControl {
    double tolerance;
    bool shared_rows;    // most problems have the rows of the one before
    const std::atomic<bool>* stop;
};

struct SvmSolution {
    double bias;
    double gap;
    std::int64_t iterations;
    SvmStatus status;
};

template <class Real>
class SvmPathSolver {
public:
    SvmPathSolver(const ScaledGram& gram, const SvmControl& control);

    // Starts a new problem at beta = 0. Weights may be null; rows have positive weights.
    void begin(const RowNumbers& rows, const std::vector<double>& labels, const double* weights);
    // Solves for C, from the solution for the C before, which was not larger.
    SvmSolution solve(double C, std::int64_t max_iterations);
    // Solves for C, from the betas of another solver.
    SvmSolution solve_from(const std::vector<double>& betas, double C, std::int64_t max_iterations);
    const std::vector<double>& betas() const { return whole_.beta; }
    // Forgets the kernel rows, until the next problem begins.
    void release();
    // a_i y_i of a row of the problem, for the C solved last.
    double coefficient(size_t row) const;

private:
    enum class Outcome { reached, pause, limit, stopped };

    void move_to(double C);
    void start(double C);
    void restart(double C);
    void fill();
    bool worth_filling();
    void add_sides(double C);
    void rescale(double C, double multiple);
    double best_multiple() const;
    bool at_capacity(size_t row) const;
    SvmSolution optimise(std::int64_t max_iterations);
    Outcome descend(std::int64_t max_iterations);
    bool move_pair();
    double goal() const;
    void look_around();
    void jump();
    void shrink();
    void save_part();
    void unshrink();
    void recompute(double goal);
    std::vector<double> combine_rows(const std::vector<double>& amounts, bool exactly = false);
    void add_error(double size);
    double error() const;
    double relative_error() const;
    double largest_gap() const;
    double exact_residual(size_t row) const;
    double bias() const;
    double gap() const { return extremes_.up - extremes_.low; }
    SvmState<Real>& state() { return shrunk_ ? part_ : whole_; }
    bool is_sparse() { return kernel().is_sparse() && state().equal_diagonal; }
    GatheredRows<Real>& kernel() { return shrunk_ ? part_kernel_ : whole_kernel_; }

    ScaledGram gram_;
    SvmControl control_;
    const SvmPasses<Real>& passes_;
    GatheredRows<Real> whole_kernel_, part_kernel_;
    SvmJump<Real> jump_;
    SvmSparseSteps<Real> sparse_steps_;

    SvmState<Real> whole_, part_;
    std::vector<double> all_sums_;    // of the kernel rows times their bounds at all_sums_C_
    double all_sums_C_ = 0.0;
    std::vector<size_t> part_rows_;    // places of the part's rows in the whole
    bool shrunk_ = false;
    bool indefinite_ = false;
    double C_ = 0.0;
    double offset_ = 0.0;    // what was taken away from all labels
    SvmExtremes extremes_ = {};
    double errors_ = 0.0, roundings_ = 0.0;    // see error() and relative_error()
    double goal_ = 0.0;
    std::int64_t iterations_ = 0;
    std::int64_t next_look_ = 0;    // when to think of shrinking
    std::int64_t last_jump_ = 0, next_jump_ = 0;
};

}    // namespace polychotomy
