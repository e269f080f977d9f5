// Kernel rows of one binary problem, as the solver reads them.
//
// The solver asks for `row(i)`, the kernel of row i of the problem with all its rows, and holds
// two such pointers at a time. GatheredRows copies a row from the Gram matrix when it is first
// asked for and keeps it; a cache that computes rows could take its place.
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

    double diagonal(size_t row) const {
        const size_t place = row * gram.n + row;
        return factor * (gram.wide ? gram.wide[place] : gram.narrow[place]);
    }
};

class GatheredRows {
public:
    explicit GatheredRows(const ScaledGram& source) : source_(source) {}

    // Takes the rows of a problem; what is there already is kept if they are the same as before.
    void bind(const RowNumbers& numbers) {
        if (numbers == numbers_ && memory_.data()) return;
        numbers_ = numbers;
        stride_ = padded(numbers.size());
        // Not set to zero: pages that are never read are never touched.
        if (numbers.size() * stride_ > capacity_) {
            memory_ = RecycledBlock();
            capacity_ = numbers.size() * stride_;
            memory_ = RecycledBlock(capacity_);
        }
        present_.assign(numbers.size(), false);
    }

    const double* row(size_t i) {
        double* place = memory_.data() + i * stride_;
        if (!present_[i]) {
            if (source_.gram.wide) gather(source_.gram.wide, i, place);
            else gather(source_.gram.narrow, i, place);
            present_[i] = true;
        }
        return place;
    }

    // K_ii + K_jj - 2 K_ij below this is no rounding error of a positive number.
    double surely_negative() const { return source_.gram.narrow ? -1e-6 : -1e-12; }

private:
    template <class Entry>
    void gather(const Entry* gram, size_t i, double* place) const {
        const Entry* from = gram + numbers_[i] * source_.gram.n;
        // Copies, or they would be read again after every entry that is written.
        const std::uint32_t* numbers = numbers_.data();
        const double factor = source_.factor;
        const size_t n = numbers_.size();
        for (size_t k = 0; k < n; ++k) place[k] = factor * from[numbers[k]];
        for (size_t k = n; k < stride_; ++k) place[k] = 0;
    }

    ScaledGram source_;
    RowNumbers numbers_;
    RecycledBlock memory_;
    std::vector<char> present_;
    size_t stride_ = 0;
    size_t capacity_ = 0;
};

}    // namespace polychotomy
