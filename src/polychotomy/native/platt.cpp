// Newton's method with backtracking of Lin, Lin and Weng, "A note on Platt's probabilistic
// outputs for support vector machines" (2003). Departures: scores are centred and scaled, rows
// have weights, and the stopping rule is the Newton decrement, which does not depend on the
// scale of scores and weights.

#include "platt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "crew.hpp"
#include "lane_functions.hpp"

namespace polychotomy {
namespace {

using std::size_t;

constexpr int largest_exponent = 460;             // the square of a scaled score is finite
constexpr double ridge = 1e-12;
constexpr double smallest_decrement = 1e-12;      // squared, for a total weight of 1

// The rows of a column that count, padded with rows of weight 0.
struct Samples {
    std::vector<double> scores, targets, weights;
    size_t count = 0;    // without the padding
    bool unit_weights = true;

    PlattRows view() const {
        return {scores.data(), targets.data(), weights.data(), scores.size(), unit_weights};
    }
};

struct Scaling {
    double centre = 0.0;
    int exponent = 0;
    bool constant = true;

    // Halves, because the difference of two huge scores could overflow.
    double apply(double score) const {
        return std::ldexp(0.5 * score - 0.5 * centre, -exponent);
    }
};

struct Totals {
    double positive = 0.0;
    double negative = 0.0;
};

Samples read_column(const PlattData& data, const double* scores, const RowSubset& subset,
                    size_t column, Totals& totals) {
    Samples samples;
    for (std::vector<double>* each : {&samples.scores, &samples.targets, &samples.weights})
        each->reserve(subset.count + platt_lanes);
    for (size_t n = 0; n < subset.count; ++n) {
        const auto row = static_cast<size_t>(subset.rows[n]);
        const int label = data.labels[row * data.n_columns + column];
        const double weight = data.weights ? data.weights[row] : 1.0;
        if (label == 0 || weight <= 0.0) continue;
        (label > 0 ? totals.positive : totals.negative) += weight;
        samples.scores.push_back(scores[row * data.n_columns + column]);
        samples.targets.push_back(static_cast<double>(label));
        samples.weights.push_back(weight);
        samples.unit_weights = samples.unit_weights && weight == 1.0;
    }
    samples.count = samples.scores.size();
    return samples;
}

// The smoothed targets keep the fit finite where the scores separate the classes.
void set_targets(Samples& samples, const Totals& totals) {
    const double high = (totals.positive + 1.0) / (totals.positive + 2.0);
    const double low = 1.0 / (totals.negative + 2.0);
    for (double& target : samples.targets) target = target > 0.0 ? high : low;
}

double median_score(std::vector<double> scores) {
    const auto middle = scores.begin() + static_cast<std::ptrdiff_t>(scores.size() / 2);
    std::nth_element(scores.begin(), middle, scores.end());
    return *middle;
}

// Centre at the median and divide by a power of two near the geometric mean of the deviations:
// neither is moved far by a few huge scores, unless they would overflow.
Scaling find_scaling(const std::vector<double>& scores) {
    Scaling scaling;
    scaling.centre = median_score(scores);
    double sum = 0.0;
    int largest = std::numeric_limits<int>::min();
    size_t n_different = 0;
    for (const double score : scores) {
        const double deviation = 0.5 * score - 0.5 * scaling.centre;
        if (deviation == 0.0) continue;
        const int exponent = std::ilogb(deviation);
        sum += exponent;
        largest = std::max(largest, exponent);
        ++n_different;
    }
    scaling.constant = n_different == 0;
    if (scaling.constant) return scaling;
    const int usual = static_cast<int>(std::lround(sum / static_cast<double>(n_different)));
    scaling.exponent = std::max(usual, largest - largest_exponent);
    return scaling;
}

void scale_and_pad(Samples& samples, const Scaling& scaling) {
    for (double& score : samples.scores) score = scaling.apply(score);
    const size_t padded = (samples.count + platt_lanes - 1) / platt_lanes * platt_lanes;
    samples.scores.resize(padded, 0.0);
    samples.targets.resize(padded, 0.5);
    samples.weights.resize(padded, 0.0);
}

// Newton's method for one column of scaled scores.
class Fit {
public:
    Fit(const PlattKernels& kernels, const PlattRows& rows, const Totals& totals)
        : kernels_(kernels), rows_(rows), weight_(totals.positive + totals.negative),
          b_(std::log((totals.negative + 1.0) / (totals.positive + 1.0))),
          here_(kernels.evaluate(rows, a_, b_)) {}

    bool run(int max_iterations) {
        for (int round = 0; round < max_iterations; ++round) {
            const PlattSums& d = here_;
            const double aa = d.aa * (1.0 + ridge) + ridge * weight_, bb = d.bb * (1.0 + ridge);
            const double determinant = aa * bb - d.ab * d.ab;
            const double step_a = -(bb * d.a - d.ab * d.b) / determinant;
            const double step_b = -(aa * d.b - d.ab * d.a) / determinant;
            const double descent = d.a * step_a + d.b * step_b;
            if (-descent <= smallest_decrement * weight_) {
                a_ += step_a;
                b_ += step_b;
                return true;
            }
            if (!search_line(step_a, step_b, descent)) return false;
        }
        return false;
    }

    double a() const { return a_; }
    double b() const { return b_; }

private:
    bool search_line(double step_a, double step_b, double descent) {
        for (double length = 1.0; length >= 1e-10; length *= 0.5) {
            const double a = a_ + length * step_a, b = b_ + length * step_b;
            const PlattSums there = kernels_.evaluate(rows_, a, b);
            if (!(there.value < here_.value + 1e-4 * length * descent)) continue;
            a_ = a;
            b_ = b;
            here_ = there;
            return true;
        }
        return false;
    }

    const PlattKernels& kernels_;
    const PlattRows rows_;
    double weight_;
    double a_ = 0.0;
    double b_;
    PlattSums here_;
};

double saturate(double x) {
    constexpr double most = std::numeric_limits<double>::max();
    return std::min(std::max(x, -most), most);
}

// For equal scores, which tell nothing: slope 0 and the mean target.
Sigmoid fit_constant(const Samples& samples) {
    double yes = 0.0, no = 0.0;
    for (size_t n = 0; n < samples.count; ++n) {
        yes += samples.weights[n] * samples.targets[n];
        no += samples.weights[n] * (1.0 - samples.targets[n]);
    }
    Sigmoid sigmoid;
    sigmoid.intercept = std::log(no / yes);
    return sigmoid;
}

Sigmoid fit_column(const PlattData& data, const double* scores, const RowSubset& subset,
                   size_t column, int max_iterations) {
    Totals totals;
    Samples samples = read_column(data, scores, subset, column, totals);
    if (samples.count == 0) return {};
    set_targets(samples, totals);
    const Scaling scaling = find_scaling(samples.scores);
    // A single target for all rows is fitted by a constant too.
    if (scaling.constant || totals.positive == 0.0 || totals.negative == 0.0)
        return fit_constant(samples);
    scale_and_pad(samples, scaling);
    Fit fit(lanes_in_use().platt, samples.view(), totals);
    Sigmoid sigmoid;
    sigmoid.converged = fit.run(max_iterations);
    sigmoid.slope = saturate(std::ldexp(0.5 * fit.a(), -scaling.exponent));
    const double shift = fit.a() * std::ldexp(0.5 * scaling.centre, -scaling.exponent);
    sigmoid.intercept = saturate(fit.b() - shift);
    return sigmoid;
}

}    // namespace

// A column of a million rows takes a tenth of a second, so stopping between columns is soon enough.
bool fit_platt(const PlattData& data, int max_iterations, Sigmoid* sigmoids, size_t n_threads,
               const std::function<bool()>& interrupted) {
    const auto work = [&](Tasks& tasks) {
        for (size_t task; tasks.next(task);) {
            const RowSubset subset = data.subsets.at(task / data.n_sets);
            const double* scores = data.scores + task % data.n_sets * data.n_rows * data.n_columns;
            Sigmoid* out = sigmoids + task * data.n_columns;
            for (size_t column = 0; column < data.n_columns; ++column) {
                if (tasks.stop_flag()) return;
                out[column] = fit_column(data, scores, subset, column, max_iterations);
            }
        }
    };
    return run_crew(data.n_subsets * data.n_sets, n_threads, work, interrupted);
}

}    // namespace polychotomy
