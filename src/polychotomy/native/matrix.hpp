// Square matrices with the layout of matrix_kernels.hpp, and their Cholesky factorisation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "crew.hpp"
#include "matrix_kernels.hpp"
#include "recycled.hpp"

namespace polychotomy {

inline std::size_t padded_order(std::size_t n) {
    return (n + matrix_block - 1) / matrix_block * matrix_block;
}

// A square matrix whose memory is kept for the next one.
class SquareMatrix {
public:
    // New memory is set to 0, unless `stop` is set: the system may take long to provide memory.
    void resize(std::size_t order, const StopFlag& stop) {
        order_ = order;
        // An odd number of 32-byte steps between rows, so that they do not compete for cache lines.
        stride_ = order % 8 == 4 ? order : order + 4;
        const std::size_t needed = order_ * stride_ + 8;
        if (size_ < needed) {
            memory_ = RecycledBlock();
            memory_ = RecycledBlock(needed);
            size_ = needed;
            constexpr std::size_t piece = std::size_t{1} << 20;
            for (std::size_t k = 0; k < needed && !stop.load(std::memory_order_relaxed); k += piece)
                std::fill_n(memory_.data() + k, std::min(piece, needed - k), 0.0);
        }
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
        data_ = memory_.data() + (64 - address % 64) % 64 / sizeof(double);
    }

    double* row(std::size_t i) { return data_ + i * stride_; }
    const double* row(std::size_t i) const { return data_ + i * stride_; }
    const double* data() const { return data_; }
    std::size_t order() const { return order_; }
    std::size_t stride() const { return stride_; }

private:
    RecycledBlock memory_;
    std::size_t size_ = 0;
    double* data_ = nullptr;
    std::size_t order_ = 0;
    std::size_t stride_ = 4;
};

// Replaces the lower triangle of a symmetric matrix by its Cholesky factor. False if the matrix
// is not positive definite (or not finite), or if `stop` was set.
bool factorise(SquareMatrix& matrix, const MatrixKernels& kernels, const StopFlag& stop);

}    // namespace polychotomy
