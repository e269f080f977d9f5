// Gradient boosting by histograms, as LightGBM and scikit-learn do it: Ke and others (2017),
// "LightGBM: A highly efficient gradient boosting decision tree". A leaf of slope sum G and
// curvature sum H has the value -G / (H + penalty); a split gains G_l^2 / (H_l + penalty) + G_r^2 /
// (H_r + penalty) - G^2 / (H + penalty). The histogram of the larger child is that of the parent
// less that of the smaller one.

#include "trees.hpp"

#include <algorithm>
#include <queue>
#include <vector>

namespace polychotomy {
namespace {

using std::size_t;

constexpr double no_division_by_zero = 1e-15;
constexpr size_t rows_between_checks = 4096;

struct Sums {
    double slope = 0.0, curvature = 0.0;
    size_t count = 0;

    void add(const Sums& other) {
        slope += other.slope;
        curvature += other.curvature;
        count += other.count;
    }
    void subtract(const Sums& other) {
        slope -= other.slope;
        curvature -= other.curvature;
        count -= other.count;
    }
};

using Histogram = std::vector<Sums>;    // the bins of all inputs, one input after the other

struct Split {
    double gain = 0.0;
    size_t input = 0, last_bin = 0;
    Sums left;
};

// A leaf that may be split: its rows are a stretch of the order.
struct Candidate {
    size_t node, start, end;
    Sums sums;
    Split split;
    Histogram histogram;
};

class Grower {
   public:
    Grower(const BinnedRows& rows, const double* slopes, const double* curvatures,
           const TreeLimits& limits, const TreeNodes& nodes)
        : rows_(rows), slopes_(slopes), curvatures_(curvatures), limits_(limits), nodes_(nodes),
          order_(rows.n_rows), aside_(rows.n_rows), firsts_(rows.n_inputs + 1, 0) {
        for (size_t i = 0; i < rows.n_rows; ++i) order_[i] = static_cast<std::uint32_t>(i);
        for (size_t j = 0; j < rows.n_inputs; ++j)
            firsts_[j + 1] = firsts_[j] + static_cast<size_t>(rows.bin_counts[j]);
    }

    void run(double rate, double* scores) {
        Candidate root{0, 0, rows_.n_rows, {}, {}, {}};
        for (size_t i = 0; i < rows_.n_rows; ++i) root.sums.add(of_row(i));
        open(root);
        if (limits_.most_leaves > 1 && divisible(root)) {
            root.histogram = histogram_of(root);
            consider(std::move(root));
        }
        while (!promising_.empty() && n_leaves_ < limits_.most_leaves) divide(next());
        for (size_t node = 0; node < n_nodes_; ++node) nodes_.values[node] *= rate;
        for (size_t node = 0; node < n_nodes_; ++node)
            if (nodes_.left[node] == static_cast<std::int64_t>(node))
                for (size_t k = starts_[node]; k < ends_[node]; ++k)
                    scores[order_[k]] += nodes_.values[node];
    }

    size_t n_nodes() const { return n_nodes_; }

   private:
    Sums of_row(size_t i) const { return {slopes_[i], curvatures_[i], 1}; }

    double value(const Sums& sums) const {
        return -sums.slope / (sums.curvature + limits_.penalty + no_division_by_zero);
    }

    // What the loss falls by, twice: the value of a leaf times its slope is negative.
    double gain(const Sums& sums) const { return -value(sums) * sums.slope; }

    // Makes the leaf a node.
    void open(Candidate& leaf) {
        leaf.node = n_nodes_++;
        const auto own = static_cast<std::int64_t>(leaf.node);
        nodes_.inputs[own] = nodes_.last_bins[own] = 0;
        nodes_.left[own] = nodes_.right[own] = own;
        nodes_.values[own] = value(leaf.sums);
        starts_.push_back(leaf.start);
        ends_.push_back(leaf.end);
        ++n_leaves_;
    }

    bool divisible(const Candidate& leaf) const {
        return leaf.end - leaf.start >= 2 * limits_.least_rows &&
               leaf.sums.curvature >= limits_.least_curvature;
    }

    Histogram histogram_of(const Candidate& leaf) const {
        Histogram found(firsts_.back());
        for (size_t k = leaf.start; k < leaf.end; ++k) {
            const size_t i = order_[k];
            const std::uint8_t* bins = rows_.bins + i * rows_.n_inputs;
            const Sums own = of_row(i);
            for (size_t j = 0; j < rows_.n_inputs; ++j) found[firsts_[j] + bins[j]].add(own);
        }
        return found;
    }

    // Looks for the best split of a leaf with a histogram, and keeps it if there is one.
    void consider(Candidate leaf) {
        const double now = gain(leaf.sums);
        for (size_t j = 0; j < rows_.n_inputs; ++j) {
            const Sums* of_bin = leaf.histogram.data() + firsts_[j];
            Sums left;
            for (size_t bin = 0; bin + 1 < static_cast<size_t>(rows_.bin_counts[j]); ++bin) {
                left.add(of_bin[bin]);
                Sums right = leaf.sums;
                right.subtract(left);
                if (left.count < limits_.least_rows) continue;
                if (right.count < limits_.least_rows) break;
                if (left.curvature < limits_.least_curvature) continue;
                if (right.curvature < limits_.least_curvature) break;
                const double better = gain(left) + gain(right) - now;
                if (better > leaf.split.gain) leaf.split = {better, j, bin, left};
            }
        }
        if (leaf.split.gain > 0.0) {
            candidates_.push_back(std::move(leaf));
            promising_.push({candidates_.back().split.gain, candidates_.size() - 1});
        }
    }

    Candidate next() {
        Candidate best = std::move(candidates_[promising_.top().place]);
        promising_.pop();
        return best;
    }

    void divide(Candidate parent) {
        const Split& split = parent.split;
        const size_t middle = part(parent);
        Candidate left{0, parent.start, middle, split.left, {}, {}};
        Candidate right{0, middle, parent.end, parent.sums, {}, {}};
        right.sums.subtract(split.left);
        --n_leaves_;
        open(left);
        open(right);
        nodes_.inputs[parent.node] = static_cast<std::int64_t>(split.input);
        nodes_.last_bins[parent.node] = static_cast<std::int64_t>(split.last_bin);
        nodes_.left[parent.node] = static_cast<std::int64_t>(left.node);
        nodes_.right[parent.node] = static_cast<std::int64_t>(right.node);
        if (n_leaves_ == limits_.most_leaves) return;
        const bool of_left = divisible(left), of_right = divisible(right);
        if (!of_left && !of_right) return;
        const bool left_is_smaller = left.end - left.start <= right.end - right.start;
        Candidate& smaller = left_is_smaller ? left : right;
        Candidate& larger = left_is_smaller ? right : left;
        smaller.histogram = histogram_of(smaller);
        larger.histogram = std::move(parent.histogram);
        for (size_t k = 0; k < larger.histogram.size(); ++k)
            larger.histogram[k].subtract(smaller.histogram[k]);
        if (of_left) consider(std::move(left));
        if (of_right) consider(std::move(right));
    }

    // Sorts the rows of a leaf by the sides of its split, in their order; returns the first right one.
    size_t part(const Candidate& leaf) {
        size_t middle = leaf.start, n_right = 0;
        for (size_t k = leaf.start; k < leaf.end; ++k) {
            const std::uint32_t i = order_[k];
            const size_t bin = rows_.bins[i * rows_.n_inputs + leaf.split.input];
            if (bin <= leaf.split.last_bin)
                order_[middle++] = i;
            else
                aside_[n_right++] = i;
        }
        std::copy(aside_.begin(), aside_.begin() + static_cast<std::ptrdiff_t>(n_right),
                  order_.begin() + static_cast<std::ptrdiff_t>(middle));
        return middle;
    }

    struct Promise {
        double gain;
        size_t place;
        // Of equal gains, the leaf that was found first goes first.
        bool operator<(const Promise& other) const {
            return gain < other.gain || (gain == other.gain && place > other.place);
        }
    };

    const BinnedRows& rows_;
    const double* slopes_;
    const double* curvatures_;
    const TreeLimits& limits_;
    const TreeNodes& nodes_;
    std::vector<std::uint32_t> order_, aside_;
    std::vector<size_t> firsts_;    // the first bin of every input
    std::vector<Candidate> candidates_;
    std::priority_queue<Promise> promising_;
    std::vector<size_t> starts_, ends_;
    size_t n_nodes_ = 0, n_leaves_ = 0;
};

}    // namespace

size_t grow_tree(const BinnedRows& rows, const double* slopes, const double* curvatures,
                 const TreeLimits& limits, double rate, const TreeNodes& nodes, double* scores) {
    Grower grower(rows, slopes, curvatures, limits, nodes);
    grower.run(rate, scores);
    return grower.n_nodes();
}

bool add_answers(const Forest& forest, const double* X, size_t n_rows, size_t n_inputs,
                 double* scores, const std::function<bool()>& interrupted) {
    for (size_t i = 0; i < n_rows; ++i) {
        if (i % rows_between_checks == rows_between_checks - 1 && interrupted()) return false;
        const double* x = X + i * n_inputs;
        double* own = scores + i * forest.n_scores;
        const std::int64_t* root = forest.roots;
        for (size_t round = 0; round < forest.n_rounds; ++round)
            for (size_t k = 0; k < forest.n_scores; ++k, ++root) {
                std::int64_t node = *root;
                for (size_t step = 0; step < forest.depth; ++step) {
                    const bool goes_left = x[forest.inputs[node]] <= forest.thresholds[node];
                    const std::int64_t next = goes_left ? forest.left[node] : forest.right[node];
                    if (next == node) break;
                    node = next;
                }
                own[k] += forest.values[node];
            }
    }
    return true;
}

}    // namespace polychotomy
