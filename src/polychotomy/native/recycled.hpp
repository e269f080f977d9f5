// Memory for large arrays, which are created and freed with every kernel of a search.
//
// The allocator returns blocks of this size to the system as soon as they are free. To fetch their
// pages again took as long as all other work in a search of 500 rows. So some blocks are kept here.
// (To set the thresholds of malloc instead would change them for the whole process.)
#pragma once

#include <cstddef>

namespace polychotomy {

// Blocks are multiples of this many doubles: 64 KiB.
constexpr std::size_t recycled_step = std::size_t{1} << 13;

// A block of doubles, not initialised, that is kept for reuse when it goes out of scope.
class RecycledBlock {
public:
    RecycledBlock() = default;
    explicit RecycledBlock(std::size_t count);
    RecycledBlock(RecycledBlock&& other) noexcept;
    RecycledBlock& operator=(RecycledBlock&& other) noexcept;
    ~RecycledBlock();

    double* data() const { return data_; }

private:
    double* data_ = nullptr;
    std::size_t count_ = 0;    // of the block, which may be larger than requested
};

// Returns the kept memory to the system, except for 32 MiB.
void release_recycled();

}    // namespace polychotomy
