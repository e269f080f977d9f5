#include "softmax_newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace polychotomy {
namespace {

using std::size_t;

constexpr double last_penalty = 1e-8;
// Penalties on the way to none, in units of the mean log-likelihood and of scores of size 1.
constexpr double vanishing_penalties[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, last_penalty};
// On the way, solutions need not be better than the next penalty moves them.
constexpr double rough_share = 0.1;      // of the penalty
constexpr double surely_above = 2.0;     // times the mean loss that is sought
constexpr double rounding = 1e-15;
constexpr double rounding_of_slopes = 1e-12;
constexpr int most_failures = 3;         // pivots that do not lower the number of misplaced
constexpr size_t pivots_a_weight = 10;
constexpr double sufficient_decrease = 1e-4;
constexpr double smallest_step = 1e-12;
// Scores that are all smaller than this count as 0.
constexpr double smallest_scores = 1e-100;
constexpr double largest_weight = 1e100;
constexpr double least_lift = 1e-14, largest_lift = 1e10;
constexpr double sought_share = 1e-3;    // of the tolerance
constexpr size_t rows_at_once = 256;

size_t padded_rows(size_t n) { return (n + softmax_lanes - 1) / softmax_lanes * softmax_lanes; }

// The root of the weighted mean square of the scores, or 1 if all are nearly 0.
double typical_size(const SoftMaxScores& data, const RowSubset& subset, double total) {
    const size_t n_columns = data.n_columns();
    double largest = 0.0;
    for (size_t n = 0; n < subset.count; ++n) {
        const double* row = data.scores + static_cast<size_t>(subset.rows[n]) * n_columns;
        for (size_t c = 0; c < n_columns; ++c) largest = std::max(largest, std::fabs(row[c]));
    }
    if (largest < smallest_scores) return 1.0;
    double mean_square = 0.0;
    for (size_t n = 0; n < subset.count; ++n) {
        const auto number = static_cast<size_t>(subset.rows[n]);
        const double* row = data.scores + number * n_columns;
        double squares = 0.0;
        for (size_t c = 0; c < n_columns; ++c) squares += (row[c] / largest) * (row[c] / largest);
        mean_square += data.weights[number] / total * squares;
    }
    const double size = largest * std::sqrt(mean_square / static_cast<double>(n_columns));
    return size > 0.0 ? size : 1.0;    // 0 if only rows of no weight have scores
}

}    // namespace

// ---- the rows ---------------------------------------------------------------------------------

void FeatureRows::load(const SoftMaxScores& data, const RowSubset& subset, double scale,
                       double total) {
    n_rows_ = padded_rows(subset.count);
    const size_t n_classes = data.n_classes, n_features = data.n_features();
    const size_t n_columns = data.n_columns(), n_scores = n_classes * (n_features - 1);
    values_.assign((n_scores + 1) * n_rows_, 0.0);
    labels_.assign(n_rows_, -1.0);
    shares_.assign(n_rows_, 0.0);
    double* ones = values_.data() + n_scores * n_rows_;
    features_.clear();
    for (size_t k = 0; k < n_classes; ++k) {
        for (size_t d = 0; d + 1 < n_features; ++d)
            features_.push_back(values_.data() + (k * (n_features - 1) + d) * n_rows_);
        features_.push_back(ones);
    }
    for (size_t n = 0; n < subset.count; ++n) {
        const auto number = static_cast<size_t>(subset.rows[n]);
        const double* row = data.scores + number * n_columns;
        labels_[n] = static_cast<double>(data.y[number]);
        shares_[n] = data.weights[number] / total;
        ones[n] = 1.0;
        const auto put = [&](size_t k, size_t d, double score) {
            values_[(k * (n_features - 1) + d) * n_rows_ + n] = score / scale;
        };
        if (data.one_vs_rest) {
            for (size_t k = 0; k < n_classes; ++k) put(k, 0, row[k]);
            continue;
        }
        // The features of a class are its scores against the others in class order.
        for (size_t i = 0, column = 0; i < n_classes; ++i)
            for (size_t j = i + 1; j < n_classes; ++j, ++column) {
                put(i, j - 1, row[column]);
                put(j, i, -row[column]);
            }
    }
}

SoftMaxTerms TermList::select(const std::vector<double>& w, const double* const* features,
                              size_t n_classes) {
    const size_t n_features = w.size() / n_classes;
    features_.clear();
    weights_.clear();
    ends_.clear();
    for (size_t f = 0; f < w.size(); ++f) {
        if (w[f] != 0.0) {
            features_.push_back(features[f]);
            weights_.push_back(w[f]);
        }
        if ((f + 1) % n_features == 0) ends_.push_back(weights_.size());
    }
    return {features_.data(), weights_.data(), ends_.data(), n_classes};
}

void SoftMaxNewton::load(const SoftMaxScores& data, const RowSubset& subset) {
    n_classes_ = data.n_classes;
    n_features_ = data.n_features();
    n_weights_ = data.n_weights();
    total_ = 0.0;
    for (size_t n = 0; n < subset.count; ++n)
        total_ += data.weights[static_cast<size_t>(subset.rows[n])];
    scale_ = 1.0;
    C_ = C_before_ = 0.0;
    w_.assign(n_weights_, 0.0);
    if (!(total_ > 0.0)) return;
    scale_ = typical_size(data, subset, total_);
    rows_.load(data, subset, scale_, total_);
    for (Vector* vector : {&strength_, &candidate_, &gradient_, &direction_})
        vector->assign(n_weights_, 0.0);
    p_.resize(n_classes_ * rows_.n_rows());
    residuals_.resize(n_classes_ * rows_.n_rows());
    losses_.resize(rows_.n_rows());
    roots_.resize(rows_.n_rows());
    for (size_t n = 0; n < roots_.size(); ++n) roots_[n] = std::sqrt(rows_.shares()[n]);
    loss_ = evaluate(w_);
}

// ---- the objective ----------------------------------------------------------------------------

// Fills p and the residuals, and returns the mean loss.
double SoftMaxNewton::evaluate(const Vector& w) {
    for (const double weight : w)
        if (!(weight < largest_weight)) return std::numeric_limits<double>::infinity();
    kernels_.evaluate(terms_.select(w, rows_.features(), n_classes_), rows_.view(), p_.data(),
                      residuals_.data(), losses_.data());
    const double* losses = losses_.data();
    double sum = 0.0;
    kernels_.add_products(rows_.shares(), &losses, 1, rows_.n_rows(), &sum);
    return sum;
}

void SoftMaxNewton::differentiate() {
    for (size_t f = 0; f < n_weights_; ++f) gradient_[f] = strength_[f] * w_[f];
    for (size_t k = 0; k < n_classes_; ++k)
        kernels_.add_products(residuals_.data() + k * rows_.n_rows(),
                              rows_.features() + k * n_features_, n_features_, rows_.n_rows(),
                              gradient_.data() + k * n_features_);
}

// How far a step along the gradient would go before it meets a bound.
double SoftMaxNewton::violation() const {
    double largest = 0.0;
    for (size_t f = 0; f < n_weights_; ++f)
        largest = std::max(largest, std::fabs(w_[f] - std::max(w_[f] - gradient_[f], 0.0)));
    return largest;
}

// ---- Newton's method --------------------------------------------------------------------------

bool SoftMaxNewton::solve(double C, const SoftMaxOptions& options) {
    iterations_ = 0;
    if (!(total_ > 0.0)) return false;
    if (std::isinf(C)) return minimise_unpenalised(options);
    const double penalty = 1.0 / C / total_;
    for (size_t f = 0; f < n_weights_; ++f)
        strength_[f] = (f + 1) % n_features_ == 0 ? penalty : penalty / scale_ / scale_;
    const Vector start = w_;
    if (C_before_ > 0.0 && C_ > C_before_) extrapolate(std::log(C / C_) / std::log(C_ / C_before_));
    const bool converged = minimise(options);
    w_before_ = start;
    C_before_ = C_;
    C_ = C;
    return converged;
}

// Weights change gradually with log C. Extrapolates the last change, if that is better than the
// present weights.
void SoftMaxNewton::extrapolate(double steps) {
    for (size_t f = 0; f < n_weights_; ++f)
        candidate_[f] = std::max(w_[f] + steps * (w_[f] - w_before_[f]), 0.0);
    const double loss = evaluate(candidate_);
    if (loss + penalty_of(candidate_) < loss_ + penalty_of(w_)) {
        std::swap(w_, candidate_);
        loss_ = loss;
    } else {
        loss_ = evaluate(w_);
    }
}

double SoftMaxNewton::penalty_of(const Vector& w) const {
    double sum = 0.0;
    for (size_t f = 0; f < n_weights_; ++f) sum += 0.5 * strength_[f] * w[f] * w[f];
    return sum;
}

// Lowers a penalty step by step, and stops before separable data drive the weights to infinity. A
// mean loss below that of Platt's smoothed targets, about n_classes / n_rows, is not sought,
// because so few rows cannot support it. Most data do not come near it, so the last penalty is
// tried first.
bool SoftMaxNewton::minimise_unpenalised(const SoftMaxOptions& options) {
    const double sought = static_cast<double>(n_classes_) / total_;
    std::fill(strength_.begin(), strength_.end(), last_penalty);
    if (minimise(options) && loss_ >= sought) return true;
    std::fill(w_.begin(), w_.end(), 0.0);
    loss_ = evaluate(w_);
    bool converged = false;
    for (const double penalty : vanishing_penalties) {
        std::fill(strength_.begin(), strength_.end(), penalty);
        minimise({std::max(rough_share * penalty, options.tolerance), options.max_iterations, 0});
        if (penalty > last_penalty && loss_ > surely_above * sought) continue;
        converged = minimise(options);
        if (loss_ < sought) break;
    }
    return converged;
}

// Where the penalty is weak, probabilities may still be off by 1e-5 when the tolerance is reached:
// a step or two more, if rounding allows, take them to 1e-8.
bool SoftMaxNewton::minimise(const SoftMaxOptions& options) {
    bool converged = false;
    int n_extra = 0;
    for (int round = 0;; ++round) {
        differentiate();
        const double left = violation();
        converged = converged || left <= options.tolerance;
        if (left <= sought_share * options.tolerance) return true;
        if (converged && n_extra++ == options.extra_steps) return true;
        if (round == options.max_iterations || stop_.load(std::memory_order_relaxed))
            return converged;
        choose_free();
        if (!find_direction() || !search_line()) return converged;
        ++iterations_;
    }
}

// Halves the step until the objective decreases. The probabilities end up as those of w.
bool SoftMaxNewton::search_line() {
    double slope = 0.0;
    for (size_t f = 0; f < n_weights_; ++f) slope += gradient_[f] * direction_[f];
    const double value = loss_ + penalty_of(w_);
    // Near the optimum the decrease is smaller than the rounding of the objective.
    const double slack = rounding * (1.0 + value);
    for (double step = 1.0; step >= smallest_step; step *= 0.5) {
        for (size_t f = 0; f < n_weights_; ++f)
            candidate_[f] = std::max(w_[f] + step * direction_[f], 0.0);
        const double loss = evaluate(candidate_);
        const double most = value + sufficient_decrease * step * std::min(slope, 0.0) + slack;
        if (!(loss + penalty_of(candidate_) <= most)) continue;
        std::swap(w_, candidate_);
        loss_ = loss;
        return true;
    }
    loss_ = evaluate(w_);
    return false;
}

// A weight that the gradient holds on its bound stays there for this step.
void SoftMaxNewton::choose_free() {
    free_.clear();
    for (size_t f = 0; f < n_weights_; ++f)
        if (w_[f] > 0.0 || gradient_[f] < 0.0) free_.push_back(f);
}

// The step to the minimum of the quadratic model over free weights of 0 or more, by principal
// pivoting: kept weights that come out below 0 go to their bound, those on the bound that the model
// pulls away from it come back. All of them are exchanged at once, as long as their number falls
// now and then; after that one by one, which cannot cycle (Judice and Pires 1994).
bool SoftMaxNewton::find_direction() {
    fill_hessian();
    lift_ = least_lift;
    guess_kept();
    size_t fewest = free_.size() + 1;
    int patience = most_failures;
    for (size_t round = 0; round < pivots_a_weight * (free_.size() + 1); ++round) {
        if (!solve_kept()) return false;
        find_misplaced();
        if (misplaced_.empty()) return true;
        if (misplaced_.size() < fewest) {
            fewest = misplaced_.size();
            patience = most_failures;
        } else if (patience > 0) {
            --patience;
        } else {
            misplaced_.erase(misplaced_.begin(), misplaced_.end() - 1);
        }
        swap_misplaced();
    }
    return true;    // not the minimum, because of rounding, but perhaps good enough
}

// Weights that are positive will mostly remain so.
void SoftMaxNewton::guess_kept() {
    kept_.clear();
    to_bound_.clear();
    for (size_t i = 0; i < free_.size(); ++i)
        (w_[free_[i]] > 0.0 ? kept_ : to_bound_).push_back(i);
    if (kept_.empty()) kept_.swap(to_bound_);
}

// Finds, in ascending order, the free weights that are not where they belong.
void SoftMaxNewton::find_misplaced() {
    misplaced_.clear();
    for (const size_t i : kept_)
        if (w_[free_[i]] + direction_[free_[i]] < 0.0) misplaced_.push_back(i);
    for (const size_t b : to_bound_) {
        double slope = gradient_[free_[b]] + lift_of(b) * direction_[free_[b]];
        double size = std::fabs(gradient_[free_[b]]);
        for (size_t i = 0; i < free_.size(); ++i) {
            const double part = hessian_entry(b, i) * direction_[free_[i]];
            slope += part;
            size += std::fabs(part);
        }
        if (slope < -rounding_of_slopes * size) misplaced_.push_back(b);
    }
    std::sort(misplaced_.begin(), misplaced_.end());
}

void SoftMaxNewton::swap_misplaced() {
    std::vector<size_t> kept, bound;
    const auto misplaced = [this](size_t i) {
        return std::binary_search(misplaced_.begin(), misplaced_.end(), i);
    };
    for (const size_t i : kept_) (misplaced(i) ? bound : kept).push_back(i);
    for (const size_t i : to_bound_) (misplaced(i) ? kept : bound).push_back(i);
    std::sort(kept.begin(), kept.end());
    kept_.swap(kept);
    to_bound_.swap(bound);
}

// The minimum of the quadratic model over the kept ones of the free weights, the others being on
// their bound.
bool SoftMaxNewton::solve_kept() {
    for (size_t f = 0; f < n_weights_; ++f) direction_[f] = -w_[f];
    if (kept_.empty()) return true;
    const size_t n_kept = kept_.size(), order = padded_order(n_kept);
    // Rounding may take a nearly singular Hessian below zero.
    for (; lift_ < largest_lift; lift_ *= 100.0) {
        if (stop_.load(std::memory_order_relaxed)) return false;
        copy_kept(order);
        if (!factorise(factor_, matrix_kernels_, stop_)) continue;
        solution_.assign(order, 0.0);
        for (size_t i = 0; i < n_kept; ++i) {
            double slope = gradient_[free_[kept_[i]]];
            for (const size_t b : to_bound_) slope -= hessian_entry(kept_[i], b) * w_[free_[b]];
            solution_[i] = -slope;
        }
        matrix_kernels_.solve_forward(factor_.data(), factor_.stride(), order, solution_.data());
        matrix_kernels_.solve_backward(factor_.data(), factor_.stride(), order, solution_.data());
        for (size_t i = 0; i < n_kept; ++i) direction_[free_[kept_[i]]] = solution_[i];
        return true;
    }
    return false;
}

// What is added to the diagonal.
double SoftMaxNewton::lift_of(size_t i) const {
    return lift_ * std::max(hessian_.row(i)[i], smallest_scores);
}

// The Hessian of the kept weights, its diagonal lifted a little, padded with a unit matrix.
void SoftMaxNewton::copy_kept(size_t order) {
    factor_.resize(order, stop_);
    for (size_t i = 0; i < order; ++i) {
        double* to = factor_.row(i);
        if (i >= kept_.size()) {
            std::fill_n(to, i, 0.0);
            to[i] = 1.0;
            continue;
        }
        const double* from = hessian_.row(kept_[i]);
        for (size_t j = 0; j <= i; ++j) to[j] = from[kept_[j]];
        to[i] += lift_of(kept_[i]);
    }
}

// ---- the Hessian of the free weights ------------------------------------------------------------

void SoftMaxNewton::fill_hessian() {
    const size_t n_free = free_.size();
    hessian_.resize(padded_order(n_free), stop_);
    for (size_t i = 0; i < hessian_.order(); ++i)
        std::fill_n(hessian_.row(i), hessian_.stride(), 0.0);
    for (size_t first = 0; first < rows_.n_rows(); first += rows_at_once) {
        if (stop_.load(std::memory_order_relaxed)) return;
        add_rows_to_hessian(first, std::min(rows_at_once, rows_.n_rows() - first));
    }
    for (size_t i = 0; i < n_free; ++i) hessian_.row(i)[i] += strength_[free_[i]];
}

// Between classes k and l: -sum_n s p_k p_l x_k x_l', a product of a matrix with itself; within a
// class sum_n s p_k x_k x_k' is added to that.
void SoftMaxNewton::add_rows_to_hessian(size_t first, size_t count) {
    weighted_.resize(hessian_.order() * rows_at_once);
    std::fill(weighted_.begin() + free_.size() * rows_at_once, weighted_.end(), 0.0);
    from_first_.clear();
    for (const size_t f : free_) from_first_.push_back(rows_.features()[f] + first);
    for (size_t begin = 0, end; begin < free_.size(); begin = end) {
        const size_t k = free_[begin] / n_features_;
        const double* p = p_.data() + k * rows_.n_rows() + first;
        double root_p[rows_at_once], share_p[rows_at_once], product[rows_at_once];
        kernels_.multiply(p, roots_.data() + first, count, root_p);
        kernels_.multiply(p, rows_.shares() + first, count, share_p);
        for (end = begin; end < free_.size() && free_[end] / n_features_ == k; ++end) {
            kernels_.multiply(from_first_[end], root_p, count,
                              weighted_.data() + end * rows_at_once);
            kernels_.multiply(from_first_[end], share_p, count, product);
            kernels_.add_products(product, from_first_.data() + begin, end + 1 - begin, count,
                                  hessian_.row(end) + begin);
        }
    }
    matrix_kernels_.subtract_square(hessian_.row(0), hessian_.stride(), weighted_.data(),
                                    rows_at_once, hessian_.order(), count);
}

}    // namespace polychotomy
