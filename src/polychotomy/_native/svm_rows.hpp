// Kernel rows of one binary problem, as the solver reads them, in single or in double precision.
//
// The solver asks for `row(i)`, the kernel of row i of the problem with all its rows, and holds
// two such pointers at a time. GatheredRows copies a row from the Gram matrix when it is first
// asked for and keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

    double entry(size_t row, size_t column) const {
        const size_t place = row * gram.n + column;
        return factor * (gram.wide ? gram.wide[place] : gram.narrow[place]);
    }
};

template <class Real>
class GatheredRows {
public:
    explicit GatheredRows(const ScaledGram& source) : source_(source) {}

    // Takes the rows of a problem; if they are the same as before, what is there already is kept, and
    // true returned.
    bool bind(const RowNumbers& numbers) {
        if (numbers == numbers_ && memory_.data()) return true;
        numbers_ = numbers;
        stride_ = padded(numbers.size());
        // Not set to zero: pages that are never read are never touched.
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

    // An entry as the Gram matrix has it.
    double entry(size_t i, size_t j) const { return source_.entry(numbers_[i], numbers_[j]); }

    // sums += amount * row i, with the entries that the Gram matrix has.
    void add_exactly(double* sums, size_t i, double amount) const {
        for_each_entry(i, [&](size_t k, double entry) { sums[k] += amount * entry; });
    }

    // K_ii + K_jj - 2 K_ij below this is no rounding error of a positive number.
    double surely_negative() const { return source_.gram.narrow ? -1e-6 : -1e-12; }

private:
    template <class Use>
    void for_each_entry(size_t i, const Use& use) const {
        if (source_.gram.wide) for_each_entry(source_.gram.wide, i, use);
        else for_each_entry(source_.gram.narrow, i, use);
    }

    template <class Entry, class Use>
    void for_each_entry(const Entry* gram, size_t i, const Use& use) const {
        const Entry* from = gram + numbers_[i] * source_.gram.n;
        // Copies, or they would be read again after every entry that is written.
        const std::uint32_t* numbers = numbers_.data();
        const double factor = source_.factor;
        const size_t n = numbers_.size();
        for (size_t k = 0; k < n; ++k) use(k, factor * from[numbers[k]]);
    }

    ScaledGram source_;
    RowNumbers numbers_;
    RecycledBlock memory_;
    std::vector<char> present_;
    size_t stride_ = 0;
    size_t capacity_ = 0;
};

}    // namespace polychotomy
