// Newton's method for one binary problem of kernel logistic regression.
//
// Minimises 1/2 c'Kc + C sum_i v_i log(1 + exp(-y_i f_i)) over f = K c + b. With the dual values
// g_i = C v_i y_i sigmoid(-y_i f_i), the curvatures W_i = C v_i p_i (1 - p_i) and the residual
// r = g - c, which vanishes at the optimum, a Newton step changes c by s u, where s = sqrt(W):
//
//     (I + s K s) u + s db = r / s,    s'u = 0,    df = K s u + db.
//
// The matrix B = I + s K s is positive definite for singular K too. If this system is solved up to
// a remainder e, the residual after the step is s e (to first order), which gives the criterion:
// the inner and the outer iteration stop by the same measure. A rough solution need not be a
// direction of descent, however. (The inner iteration lowers another quadratic function than the
// model of the objective, with the same minimum.) So it has to lower the model too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "matrix.hpp"

namespace polychotomy {

enum class KlrStatus : std::int32_t {
    converged = 0,
    untrained = 1,          // the column lacks a sign
    iteration_limit = 2,
    stalled = 3,            // no step lowers the objective: the limit of the arithmetic
    indefinite = 4,         // the Gram matrix is not positive semidefinite
    not_finite = 5          // overflow
};

struct KlrOptions {
    double tolerance;
    int max_iterations;
};

struct KlrOutcome {
    KlrStatus status;
    int iterations;
    double criterion;
};

// Rows of a Gram matrix, with their signs and positive weights.
struct KlrRows {
    std::vector<std::size_t> rows;
    std::vector<double> signs;
    std::vector<double> weights;

    bool has_both_signs() const;
};

class KlrNewton {
public:
    KlrNewton(const MatrixKernels& kernels, const StopFlag& stop)
        : kernels_(kernels), stop_(stop) {}

    // Copies a problem; `gram` has n_rows rows and columns.
    void load(const double* gram, std::size_t n_rows, const KlrRows& problem);
    // Back to c = 0 and the best b for it.
    void restart();
    // Starts from the present c and b.
    KlrOutcome solve(double C, const KlrOptions& options);

    double coefficient(std::size_t i) const { return c_[i]; }
    double bias() const { return b_; }

private:
    using Vector = std::vector<double>;

    void refresh_decisions();
    void linearise(double C);
    // `converged` if there is a step, or why there is none.
    KlrStatus find_step(const KlrOptions& options);
    bool search_line(double C);
    double loss(double C, double length) const;

    bool factorise_here();
    void prepare_preconditioner();
    void precondition(const Vector& x, Vector& z);
    enum class Solved { yes, no, broken };
    Solved solve_system(double goal, std::size_t budget);
    double set_best_shift();
    bool lowers_model() const;
    void multiply(const Vector& x, Vector& y) const;

    const MatrixKernels& kernels_;
    const StopFlag& stop_;
    SquareMatrix gram_, factor_;
    bool has_factor_ = false;
    std::size_t n_ = 0, order_ = 0;
    Vector signs_, weights_;                   // 0 in the padding of the last block
    Vector c_, f_;
    double b_ = 0.0;
    Vector g_, s_, r_;                         // see above
    Vector s_by_cost_;                         // s_i / (C v_i)
    double criterion_ = 0.0, curvature_ = 0.0;
    int invisible_steps_ = 0;                  // consecutive, too small to change the objective
    Vector u_, ksu_, remainder_;
    double shift_ = 0.0;                       // db
    Vector factored_diagonal_, scale_;         // of the preconditioner
    Vector border_, z_, direction_, sp_, ksp_;
};

}    // namespace polychotomy
