// Newton's method with backtracking of Lin, Lin and Weng, "A note on Platt's probabilistic
// outputs for support vector machines" (2003). Departures: scores are centred and scaled, rows
// have weights, and the stopping rule is the Newton decrement, which does not depend on the
// scale of scores and weights.

#include "platt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace polychotomy {
namespace {

using std::size_t;

constexpr int largest_exponent = 460;             // the square of a scaled score is finite
constexpr double ridge = 1e-12;
constexpr double smallest_decrement = 1e-12;      // squared, for a total weight of 1

struct Sample {
    double score;
    double target;
    double weight;
};

struct Scaling {
    double centre = 0.0;
    int exponent = 0;
    bool constant = true;

    // Halves, so that the difference of two huge scores does not overflow.
    double apply(double score) const {
        return std::ldexp(0.5 * score - 0.5 * centre, -exponent);
    }
};

struct Totals {
    double positive = 0.0;
    double negative = 0.0;
};

std::vector<Sample> read_column(const PlattData& data, size_t column, Totals& totals) {
    std::vector<Sample> samples;
    samples.reserve(data.n_rows);
    for (size_t row = 0; row < data.n_rows; ++row) {
        const int label = data.labels[row * data.n_columns + column];
        const double weight = data.weights ? data.weights[row] : 1.0;
        if (label == 0 || weight <= 0.0) continue;
        (label > 0 ? totals.positive : totals.negative) += weight;
        const double score = data.scores[row * data.n_columns + column];
        samples.push_back({score, static_cast<double>(label), weight});
    }
    return samples;
}

// The smoothed targets keep the fit finite where the scores separate the classes.
void set_targets(std::vector<Sample>& samples, const Totals& totals) {
    const double high = (totals.positive + 1.0) / (totals.positive + 2.0);
    const double low = 1.0 / (totals.negative + 2.0);
    for (Sample& sample : samples) sample.target = sample.target > 0.0 ? high : low;
}

double median_score(const std::vector<Sample>& samples) {
    std::vector<double> scores;
    scores.reserve(samples.size());
    for (const Sample& sample : samples) scores.push_back(sample.score);
    const auto middle = scores.begin() + static_cast<std::ptrdiff_t>(scores.size() / 2);
    std::nth_element(scores.begin(), middle, scores.end());
    return *middle;
}

// Centre at the median and divide by a power of two near the geometric mean of the deviations:
// neither is moved far by a few huge scores, unless they would overflow.
Scaling find_scaling(const std::vector<Sample>& samples) {
    Scaling scaling;
    scaling.centre = median_score(samples);
    double sum = 0.0;
    int largest = std::numeric_limits<int>::min();
    size_t n_different = 0;
    for (const Sample& sample : samples) {
        const double deviation = 0.5 * sample.score - 0.5 * scaling.centre;
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

// The negative log-likelihood and its derivatives.
struct Evaluation {
    double value = 0.0;
    double a = 0.0, b = 0.0, aa = 0.0, ab = 0.0, bb = 0.0;
};

// A sum of logarithms of factors between 1 and 2, as the logarithm of their product: a logarithm
// costs more than all else that is done for a row.
class LogSum {
public:
    void add(double weight, double small) {
        if (weight != 1.0) {
            sum_ += weight * std::log1p(small);
            return;
        }
        product_ *= 1.0 + small;
        if (product_ > 1e300) {
            sum_ += std::log(product_);
            product_ = 1.0;
        }
    }
    double total() const { return sum_ + std::log(product_); }

private:
    double sum_ = 0.0;
    double product_ = 1.0;
};

Evaluation evaluate(const std::vector<Sample>& samples, double a, double b) {
    Evaluation d;
    LogSum logs;
    for (const Sample& sample : samples) {
        const double z = a * sample.score + b;
        const double small = std::exp(-std::fabs(z));
        const double likely = 1.0 / (1.0 + small);
        const double unlikely = small * likely;
        const double probability = z >= 0.0 ? unlikely : likely;
        d.value += sample.weight * (z >= 0.0 ? sample.target * z : (sample.target - 1.0) * z);
        logs.add(sample.weight, small);
        const double excess = sample.weight * (sample.target - probability);
        const double curvature = sample.weight * likely * unlikely;
        d.a += sample.score * excess;
        d.b += excess;
        d.aa += sample.score * sample.score * curvature;
        d.ab += sample.score * curvature;
        d.bb += curvature;
    }
    d.value += logs.total();
    return d;
}

// Newton's method for one column of scaled scores.
class Fit {
public:
    Fit(const std::vector<Sample>& samples, const Totals& totals)
        : samples_(samples), weight_(totals.positive + totals.negative),
          b_(std::log((totals.negative + 1.0) / (totals.positive + 1.0))),
          here_(evaluate(samples, a_, b_)) {}

    bool run(int max_iterations) {
        for (int round = 0; round < max_iterations; ++round) {
            const Evaluation& d = here_;
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
            const Evaluation there = evaluate(samples_, a, b);
            if (!(there.value < here_.value + 1e-4 * length * descent)) continue;
            a_ = a;
            b_ = b;
            here_ = there;
            return true;
        }
        return false;
    }

    const std::vector<Sample>& samples_;
    double weight_;
    double a_ = 0.0;
    double b_;
    Evaluation here_;
};

double saturate(double x) {
    constexpr double most = std::numeric_limits<double>::max();
    return std::min(std::max(x, -most), most);
}

// Equal scores tell nothing: slope 0 and the mean target.
Sigmoid fit_constant(const std::vector<Sample>& samples) {
    double yes = 0.0, no = 0.0;
    for (const Sample& sample : samples) {
        yes += sample.weight * sample.target;
        no += sample.weight * (1.0 - sample.target);
    }
    Sigmoid sigmoid;
    sigmoid.intercept = std::log(no / yes);
    return sigmoid;
}

}    // namespace

Sigmoid fit_platt_column(const PlattData& data, size_t column, int max_iterations) {
    Totals totals;
    std::vector<Sample> samples = read_column(data, column, totals);
    if (samples.empty()) return {};
    set_targets(samples, totals);
    const Scaling scaling = find_scaling(samples);
    // One target for all rows is fitted by a constant, too.
    if (scaling.constant || totals.positive == 0.0 || totals.negative == 0.0)
        return fit_constant(samples);
    for (Sample& sample : samples) sample.score = scaling.apply(sample.score);
    Fit fit(samples, totals);
    Sigmoid sigmoid;
    sigmoid.converged = fit.run(max_iterations);
    sigmoid.slope = saturate(std::ldexp(0.5 * fit.a(), -scaling.exponent));
    const double shift = fit.a() * std::ldexp(0.5 * scaling.centre, -scaling.exponent);
    sigmoid.intercept = saturate(fit.b() - shift);
    return sigmoid;
}

}    // namespace polychotomy
