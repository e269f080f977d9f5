// Memory for large arrays that come and go with every kernel of a search.
//
// The allocator gives blocks of this size back to the system as soon as they are free; to get them
// again, page by page, can take as long as all the work that is done on them. A few are kept here.
#pragma once

#include <cstddef>

namespace polychotomy {

// Blocks are multiples of this many doubles: 64 KiB.
constexpr std::size_t recycled_step = std::size_t{1} << 13;

// A block of doubles, not initialised, that is given back when it goes out of scope.
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
    std::size_t count_ = 0;    // of the block, which may be larger than was asked for
};

// Gives back to the system what is kept, but for 32 MiB.
void release_recycled();

}    // namespace polychotomy
