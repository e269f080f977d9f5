// Kernel rows of one binary problem, as the solver reads them, in single or in double precision.
//
// The solver asks for `row(i)`, the kernel of row i of the problem with all its rows, and holds two
// such pointers at a time. GatheredRows copies a row from the Gram matrix when it is first
// requested and keeps it. Of kernels that are nearly 0 almost everywhere it can keep the other
// entries alone.
#pragma once

#include <cstddef>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lane_functions.hpp"
#include "recycled.hpp"
#include "svm.hpp"
#include "svm_passes.hpp"

namespace polychotomy {

using RowNumbers = std::vector<std::uint32_t>;

inline size_t padded(size_t n) { return (n + svm_padding - 1) / svm_padding * svm_padding; }

// The Gram matrix divided by a power of two, so that no entry is larger than 1.
struct ScaledGram {
    SvmGram gram;
    double factor;
    double neighbours;    // how many entries of a row are not negligible, on average

    double entry(size_t row, size_t column) const {
        const size_t place = row * gram.n + column;
        return factor * (gram.wide ? gram.wide[place] : gram.narrow[place]);
    }
};

// A kernel with at least so many rows, and so many times fewer neighbours, is sparse: steps through
// its neighbours are faster.
constexpr size_t least_sparse_rows = 400;
constexpr double rows_a_neighbour = 50.0;

// Smaller entries are below the rounding of entries near 1.
template <class Real>
constexpr double negligible_entry = std::numeric_limits<Real>::epsilon() / 4;

template <class Real>
class GatheredRows {
public:
    // The entries of a row that are not negligible; valid until the next call for another row.
    struct Neighbours {
        const std::uint32_t* rows;
        const Real* entries;
        size_t count;
    };

    explicit GatheredRows(const ScaledGram& source) : source_(source) {}

    // Takes the rows of a problem. If they are the same as before, the kernel rows are kept, and
    // the result is true.
    bool bind(const RowNumbers& numbers) {
        if (numbers == numbers_ && memory_.data()) return true;
        numbers_ = numbers;
        stride_ = padded(numbers.size());
        is_sparse_ = numbers.size() >= least_sparse_rows &&
                     rows_a_neighbour * source_.neighbours <= static_cast<double>(numbers.size());
        neighbours_.clear();
        entries_.clear();
        starts_.assign(is_sparse_ ? numbers.size() : 0, unknown);
        counts_.resize(starts_.size());
        // Not set to zero, so that pages of rows that are never used are never touched.
        const size_t doubles = (numbers.size() * stride_ * sizeof(Real) + 7) / sizeof(double);
        if (doubles > capacity_) {
            memory_ = RecycledBlock();
            capacity_ = doubles;
            memory_ = RecycledBlock(capacity_);
        }
        present_.assign(numbers.size(), false);
        return false;
    }

    const Real* row(size_t i) {
        Real* place = reinterpret_cast<Real*>(memory_.data()) + i * stride_;
        if (!present_[i]) {
            const auto write = [&](size_t k, double entry) { place[k] = static_cast<Real>(entry); };
            for_each_entry(i, write);
            for (size_t k = numbers_.size(); k < stride_; ++k) place[k] = 0;
            present_[i] = true;
        }
        return place;
    }

    void release() {
        memory_ = RecycledBlock();
        capacity_ = 0;
    }

    // Whether nearly all entries are negligible.
    bool is_sparse() const { return is_sparse_; }

    Neighbours neighbours(size_t i) {
        if (starts_[i] == unknown) {
            starts_[i] = entries_.size();
            for_each_entry(i, [&](size_t k, double entry) {
                if (std::fabs(entry) < negligible_entry<Real>) return;
                neighbours_.push_back(static_cast<std::uint32_t>(k));
                entries_.push_back(static_cast<Real>(entry));
            });
            counts_[i] = entries_.size() - starts_[i];
        }
        return {neighbours_.data() + starts_[i], entries_.data() + starts_[i], counts_[i]};
    }

    // The sum of row i times values.
    double multiply(size_t i, const double* values) {
        double sum = 0.0;
        if (is_sparse_) {
            const Neighbours found = neighbours(i);
            for (size_t k = 0; k < found.count; ++k)
                sum += found.entries[k] * values[found.rows[k]];
        } else {
            const Real* entries = row(i);
            for (size_t k = 0; k < numbers_.size(); ++k) sum += entries[k] * values[k];
        }
        return sum;
    }

    // An entry as the Gram matrix has it.
    double entry(size_t i, size_t j) const { return source_.entry(numbers_[i], numbers_[j]); }

    // The sum of the rows times their amounts, with the entries of the Gram matrix. Whole rows of
    // it are added up, and the problem's part of the sum is taken: to pick that part from every row
    // is slower.
    std::vector<double> combine_exactly(const std::vector<double>& amounts) const {
        const std::vector<double> all = source_.gram.wide ? combine(source_.gram.wide, amounts)
                                                          : combine(source_.gram.narrow, amounts);
        std::vector<double> sums(stride_, 0.0);
        for (size_t k = 0; k < numbers_.size(); ++k) sums[k] = all[numbers_[k]];
        return sums;
    }

    // A curvature below this is negative, and not a positive one with a rounding error.
    double surely_negative() const { return source_.gram.narrow ? -1e-6 : -1e-12; }

private:
    template <class Entry>
    std::vector<double> combine(const Entry* gram, const std::vector<double>& amounts) const {
        const size_t n = source_.gram.n;
        std::vector<const Entry*> rows;
        std::vector<double> factors, sums(n, 0.0);
        for (size_t i = 0; i < numbers_.size(); ++i) {
            if (amounts[i] == 0.0) continue;
            rows.push_back(gram + numbers_[i] * n);
            factors.push_back(source_.factor * amounts[i]);
        }
        svm_passes_in_use<Entry>().add_rows(sums.data(), rows.data(), factors.data(), rows.size(),
                                            n);
        return sums;
    }

    template <class Use>
    void for_each_entry(size_t i, const Use& use) const {
        if (source_.gram.wide) for_each_entry(source_.gram.wide, i, use);
        else for_each_entry(source_.gram.narrow, i, use);
    }

    template <class Entry, class Use>
    void for_each_entry(const Entry* gram, size_t i, const Use& use) const {
        const Entry* from = gram + numbers_[i] * source_.gram.n;
        // Copies, or the compiler would read them again after every entry that is written.
        const std::uint32_t* numbers = numbers_.data();
        const double factor = source_.factor;
        const size_t n = numbers_.size();
        for (size_t k = 0; k < n; ++k) use(k, factor * from[numbers[k]]);
    }

    static constexpr size_t unknown = static_cast<size_t>(-1);

    ScaledGram source_;
    RowNumbers numbers_;
    bool is_sparse_ = false;
    // The neighbours of one row after another, in the order of the calls.
    std::vector<std::uint32_t> neighbours_;
    std::vector<Real> entries_;
    std::vector<size_t> starts_, counts_;
    RecycledBlock memory_;
    std::vector<char> present_;
    size_t stride_ = 0;
    size_t capacity_ = 0;
};

}    // namespace polychotomy
