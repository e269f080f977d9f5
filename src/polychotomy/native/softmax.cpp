#include "softmax.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "crew.hpp"
#include "lane_functions.hpp"

namespace polychotomy {

namespace {

using std::size_t;

// Probabilities count as at least 1e-300.
const double largest_loss = -std::log(1e-300);
// Weighted sums of larger scaled scores could overflow.
constexpr double largest_score = 1e150;

// The test rows of one subset. Rows with huge scores, compared to the training rows, are separate.
class TestRows {
public:
    explicit TestRows(const SoftMaxKernels& kernels) : kernels_(kernels) {}

    void load(const SoftMaxScores& data, const RowSubset& subset, double scale) {
        data_ = data;
        usual_.clear();
        huge_.clear();
        for (size_t n = 0; n < subset.count; ++n)
            (is_huge(subset.rows[n], scale) ? huge_ : usual_).push_back(subset.rows[n]);
        rows_.load(data, {usual_.data(), usual_.size()}, scale, 1.0);
        p_.resize(data.n_classes * rows_.n_rows());
        losses_.resize(rows_.n_rows());
    }

    void judge(const SoftMaxNewton& model, double& error, double& loss) {
        error = loss = 0.0;
        const size_t n_rows = rows_.n_rows();
        kernels_.evaluate(
            terms_.select(model.scaled_weights(), rows_.features(), data_.n_classes),
            rows_.view(), p_.data(), nullptr, losses_.data());
        for (size_t n = 0; n < usual_.size(); ++n) {
            size_t best = 0;
            for (size_t k = 1; k < data_.n_classes; ++k)
                if (p_[k * n_rows + n] > p_[best * n_rows + n]) best = k;
            add(usual_[n], best, losses_[n], error, loss);
        }
        for (const std::int64_t row : huge_) judge_huge(row, model, error, loss);
    }

private:
    const double* scores_of(std::int64_t row) const {
        return data_.scores + static_cast<size_t>(row) * data_.n_columns();
    }

    bool is_huge(std::int64_t row, double scale) const {
        const double* scores = scores_of(row);
        return std::any_of(scores, scores + data_.n_columns(), [scale](double score) {
            return !(std::fabs(score) / scale < largest_score);
        });
    }

    void add(std::int64_t row, size_t best, double loss_of_row, double& error, double& loss) const {
        const double weight = data_.weights[row];
        if (static_cast<std::int64_t>(best) != data_.y[row]) error += weight;
        loss += weight * std::min(loss_of_row, largest_loss);
    }

    // Exponents are taken relative to the largest before they overflow.
    void judge_huge(std::int64_t row, const SoftMaxNewton& model, double& error, double& loss) {
        const size_t n_columns = data_.n_columns(), n_features = data_.n_features();
        double size = 1.0, largest = 0.0;
        for (size_t c = 0; c < n_columns; ++c)
            size = std::max(size, std::fabs(scores_of(row)[c]));
        for (size_t f = 0; f < data_.n_weights(); ++f)
            largest = std::max(largest, model.weight(f));
        if (largest == 0.0) largest = 1.0;
        FeatureRows single;
        single.load(data_, {&row, 1}, size, 1.0);
        std::vector<double> exponents(data_.n_classes, 0.0);
        for (size_t f = 0; f < data_.n_weights(); ++f) {
            const double x = (f + 1) % n_features == 0 ? 1.0 / size : single.features()[f][0];
            exponents[f / n_features] += model.weight(f) / largest * x;
        }
        const auto top = std::max_element(exponents.begin(), exponents.end());
        double sum = 0.0;
        for (const double exponent : exponents) sum += std::exp((exponent - *top) * size * largest);
        const double gap = *top - exponents[static_cast<size_t>(data_.y[row])];
        add(row, static_cast<size_t>(top - exponents.begin()),
            std::log(sum) + gap * size * largest, error, loss);
    }

    const SoftMaxKernels& kernels_;
    SoftMaxScores data_{};
    std::vector<std::int64_t> usual_, huge_;
    FeatureRows rows_;
    TermList terms_;
    std::vector<double> p_, losses_;
};

}    // namespace

bool solve_softmax(const SoftMaxProblems& problems, const SoftMaxResults& results,
                   size_t n_threads, const std::function<bool()>& interrupted) {
    const size_t n_weights = problems.data.n_weights();
    const auto work = [&](Tasks& tasks) {
        SoftMaxNewton newton(lanes_in_use().softmax, lanes_in_use().matrix, tasks.stop_flag());
        TestRows test(lanes_in_use().softmax);
        for (size_t subset; tasks.next(subset);) {
            newton.load(problems.data, problems.train.at(subset));
            test.load(problems.data, problems.test.at(subset), newton.scale());
            for (size_t k = subset * problems.n_C; k < (subset + 1) * problems.n_C; ++k) {
                results.converged[k] = newton.solve(problems.C_values[k], problems.options);
                if (tasks.stop_flag()) return;
                results.iterations[k] = newton.iterations();
                for (size_t f = 0; f < n_weights; ++f)
                    results.weights[k * n_weights + f] = newton.weight(f);
                test.judge(newton, results.errors[k], results.losses[k]);
            }
        }
    };
    return run_crew(problems.n_subsets, n_threads, work, interrupted);
}

}    // namespace polychotomy
