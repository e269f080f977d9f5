// Newton's method with backtracking of Lin, Lin and Weng, "A note on Platt's probabilistic
// outputs for support vector machines" (2003). Departures: scores are centred and scaled, rows
// have weights, and the stopping rule is the Newton decrement, which does not depend on the
// scale of scores and weights.

#include "platt.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
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
// Scores that differ by a smaller share of their size are equal: no solver gives more digits. Where
// inputs say nothing, all scores of an SVM are -1 up to rounding, and slopes were 1e13.
constexpr double fewest_digits = 1e-7;

// The rows of a column that count, padded with rows of weight 0. Its memory is used again for
// other columns.
struct Samples {
    std::vector<double> scores, targets, weights;
    size_t count = 0;     // without the padding
    size_t padded = 0;    // with it
    bool unit_weights = true;

    void start(size_t most) {
        for (std::vector<double>* each : {&scores, &targets, &weights})
            if (each->size() < most + platt_lanes) each->resize(most + platt_lanes);
        count = 0;
        unit_weights = true;
    }
    void pad() {
        padded = (count + platt_lanes - 1) / platt_lanes * platt_lanes;
        for (size_t n = count; n < padded; ++n) {
            scores[n] = 0.0;
            targets[n] = 0.5;
            weights[n] = 0.0;
        }
    }
    PlattRows view() const {
        return {scores.data(), targets.data(), weights.data(), padded, unit_weights};
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
    // The same for many: if the power of two is a number, a product rounds as ldexp does.
    void apply_to(double* scores, size_t count) const {
        if (exponent < -1000 || exponent > 1000) {
            for (size_t n = 0; n < count; ++n) scores[n] = apply(scores[n]);
            return;
        }
        const double power = std::ldexp(1.0, -exponent), middle = 0.5 * centre;
        for (size_t n = 0; n < count; ++n) scores[n] = (0.5 * scores[n] - middle) * power;
    }
};

struct Totals {
    double positive = 0.0;
    double negative = 0.0;
};

// Neighbouring columns are read together, because their scores of a row are in one line of the
// cache; the lines of the next row are far away.
constexpr size_t columns_at_once = 8;

struct Workspace {
    std::array<Samples, columns_at_once> samples;
    std::array<Totals, columns_at_once> totals;
    Samples few;
    std::vector<double> scratch;
};

void read_columns(const PlattData& data, const double* scores, const RowSubset& subset,
                  size_t first, size_t n_columns, Workspace& work) {
    for (size_t c = 0; c < n_columns; ++c) {
        work.samples[c].start(subset.count);
        work.totals[c] = {};
    }
    for (size_t n = 0; n < subset.count; ++n) {
        const auto row = static_cast<size_t>(subset.rows[n]);
        const double weight = data.weights ? data.weights[row] : 1.0;
        if (weight <= 0.0) continue;
        const size_t start = row * data.n_columns + first;
        for (size_t c = 0; c < n_columns; ++c) {
            const int label = data.labels[start + c];
            if (label == 0) continue;
            (label > 0 ? work.totals[c].positive : work.totals[c].negative) += weight;
            Samples& samples = work.samples[c];
            samples.scores[samples.count] = scores[start + c];
            samples.targets[samples.count] = static_cast<double>(label);
            samples.weights[samples.count] = weight;
            samples.unit_weights = samples.unit_weights && weight == 1.0;
            ++samples.count;
        }
    }
}

// The smoothed targets keep the fit finite where the scores separate the classes.
void set_targets(Samples& samples, const Totals& totals) {
    const double high = (totals.positive + 1.0) / (totals.positive + 2.0);
    const double low = 1.0 / (totals.negative + 2.0);
    for (size_t n = 0; n < samples.count; ++n)
        samples.targets[n] = samples.targets[n] > 0.0 ? high : low;
}

double* nth(std::vector<double>& values, size_t count, size_t rank) {
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(values.begin(), place, values.begin() + static_cast<std::ptrdiff_t>(count));
    return &*place;
}

// The element in the middle of the sorted scores. Of many scores, those between two of a sample
// that are a little below and above its median are kept, and the others counted: one quick pass in
// place of three slow ones.
double median_score(const double* scores, size_t count, std::vector<double>& scratch) {
    if (scratch.size() < count) scratch.resize(count);
    const size_t middle = count / 2;
    constexpr size_t sample = 1024, aside = 64;    // four standard deviations of the rank
    if (count > 8 * sample) {
        for (size_t k = 0; k < sample; ++k) scratch[k] = scores[k * (count / sample)];
        const double low = *nth(scratch, sample, sample / 2 - aside);
        const double high = *nth(scratch, sample, sample / 2 + aside);
        size_t below = 0, kept = 0;
        for (size_t n = 0; n < count; ++n) {
            below += scores[n] < low;
            scratch[kept] = scores[n];
            kept += scores[n] >= low && scores[n] <= high;
        }
        if (middle >= below && middle - below < kept) return *nth(scratch, kept, middle - below);
    }
    std::copy(scores, scores + count, scratch.begin());
    return *nth(scratch, count, middle);
}

// As std::ilogb, without a call for numbers of the usual sizes.
int exponent_of(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const int biased = static_cast<int>(bits >> 52 & 0x7ff);
    return biased > 0 ? biased - 1023 : std::ilogb(value);
}

// Centre at the median and divide by a power of two near the geometric mean of the deviations:
// neither is moved far by a few huge scores, unless they would overflow.
Scaling find_scaling(const double* scores, size_t count, std::vector<double>& scratch) {
    Scaling scaling;
    scaling.centre = median_score(scores, count, scratch);
    double sum = 0.0;
    int largest = std::numeric_limits<int>::min();
    size_t n_different = 0;
    double widest = 0.0;
    for (size_t n = 0; n < count; ++n) {
        const double deviation = 0.5 * scores[n] - 0.5 * scaling.centre;
        if (deviation == 0.0) continue;
        widest = std::max(widest, std::abs(deviation));
        const int exponent = exponent_of(deviation);
        sum += exponent;
        largest = std::max(largest, exponent);
        ++n_different;
    }
    scaling.constant = widest <= fewest_digits * std::abs(0.5 * scaling.centre);
    if (scaling.constant) return scaling;
    const int usual = static_cast<int>(std::lround(sum / static_cast<double>(n_different)));
    scaling.exponent = std::max(usual, largest - largest_exponent);
    return scaling;
}

// Newton's method for one column of scaled scores.
class Fit {
public:
    Fit(const PlattKernels& kernels, const PlattRows& rows, const Totals& totals, double a,
        double b)
        : kernels_(kernels), rows_(rows), weight_(totals.positive + totals.negative), a_(a), b_(b),
          here_(kernels.evaluate(rows, a, b)) {}

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
    double a_, b_;
    PlattSums here_;
};

// Every so many-th row of a side, counted as often, so that about this many are left of it.
constexpr size_t many_rows = 1 << 16, rows_of_side = 1 << 13;

void thin_out(const Samples& all, Samples& few) {
    size_t n_positive = 0;
    double high = 0.0;
    for (size_t n = 0; n < all.count; ++n) high = std::max(high, all.targets[n]);
    for (size_t n = 0; n < all.count; ++n) n_positive += all.targets[n] == high;
    const size_t sides[] = {all.count - n_positive, n_positive};
    size_t steps[2], seen[2] = {0, 0};
    for (size_t side : {0, 1}) steps[side] = std::max<size_t>(1, sides[side] / rows_of_side);
    few.start(all.count);
    few.unit_weights = false;
    for (size_t n = 0; n < all.count; ++n) {
        const size_t side = all.targets[n] == high;
        if (seen[side]++ % steps[side] != 0) continue;
        few.scores[few.count] = all.scores[n];
        few.targets[few.count] = all.targets[n];
        few.weights[few.count] = all.weights[n] * static_cast<double>(steps[side]);
        ++few.count;
    }
}

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

Sigmoid fit_column(Samples& samples, const Totals& totals, int max_iterations, Samples& few,
                   std::vector<double>& scratch) {
    if (samples.count == 0) return {};
    set_targets(samples, totals);
    const Scaling scaling = find_scaling(samples.scores.data(), samples.count, scratch);
    // A single target for all rows is fitted by a constant too.
    if (scaling.constant || totals.positive == 0.0 || totals.negative == 0.0)
        return fit_constant(samples);
    scaling.apply_to(samples.scores.data(), samples.count);
    samples.pad();
    const PlattKernels& kernels = lanes_in_use().platt;
    double a = 0.0, b = std::log((totals.negative + 1.0) / (totals.positive + 1.0));
    if (samples.count >= many_rows) {
        // A tenth of the rows takes Newton's method near the end, in a tenth of the time.
        thin_out(samples, few);
        few.pad();
        Fit start(kernels, few.view(), totals, a, b);
        if (start.run(max_iterations)) {
            a = start.a();
            b = start.b();
        }
    }
    Fit fit(kernels, samples.view(), totals, a, b);
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
    const auto run = [&](Tasks& tasks) {
        Workspace work;
        for (size_t task; tasks.next(task);) {
            const RowSubset subset = data.subsets.at(task / data.n_sets);
            const double* scores = data.scores + task % data.n_sets * data.n_rows * data.n_columns;
            Sigmoid* out = sigmoids + task * data.n_columns;
            for (size_t first = 0; first < data.n_columns; first += columns_at_once) {
                const size_t count = std::min(columns_at_once, data.n_columns - first);
                if (tasks.stop_flag()) return;
                read_columns(data, scores, subset, first, count, work);
                for (size_t c = 0; c < count; ++c) {
                    if (tasks.stop_flag()) return;
                    out[first + c] = fit_column(work.samples[c], work.totals[c], max_iterations,
                                                work.few, work.scratch);
                }
            }
        }
    };
    return run_crew(data.n_subsets * data.n_sets, n_threads, run, interrupted);
}

}    // namespace polychotomy
