#include "recycled.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace polychotomy {
namespace {

using std::size_t;

constexpr size_t step = size_t{1} << 13;          // blocks are multiples of this: 64 KiB
constexpr size_t most_kept = size_t{1} << 25;     // altogether: 256 MiB
constexpr size_t kept_for_good = size_t{1} << 22;    // 32 MiB

struct Block {
    double* data;
    size_t count;
};

class Shelf {
public:
    // A block that is large enough and not much larger, if there is one.
    bool take(size_t count, Block& block) {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        // Another thread is at it, or was when this process was forked off.
        if (!lock) return false;
        for (size_t k = blocks_.size(); k-- > 0;) {
            if (blocks_[k].count < count || blocks_[k].count > 2 * count) continue;
            block = blocks_[k];
            blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(k));
            kept_ -= block.count;
            return true;
        }
        return false;
    }

    // Keeps a block, in the place of those that have been there longest.
    void give(Block block) noexcept {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (!lock || block.count > most_kept) {
            delete[] block.data;
            return;
        }
        drop_until(most_kept - block.count);
        try {
            blocks_.push_back(block);
            kept_ += block.count;
        } catch (const std::bad_alloc&) {
            delete[] block.data;
        }
    }

    void release() {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (lock) drop_until(kept_for_good);
    }

private:
    void drop_until(size_t most) noexcept {
        while (kept_ > most) {
            kept_ -= blocks_.front().count;
            delete[] blocks_.front().data;
            blocks_.erase(blocks_.begin());
        }
    }

    std::mutex mutex_;
    std::vector<Block> blocks_;
    size_t kept_ = 0;
};

// Never destroyed: arrays may outlive everything else when the process ends.
Shelf& shelf() {
    static Shelf* const one = new Shelf;
    return *one;
}

}    // namespace

RecycledBlock::RecycledBlock(size_t count) {
    count = std::max<size_t>((count + step - 1) / step, 1) * step;
    Block block = {nullptr, count};
    if (!shelf().take(count, block)) block.data = new double[count];
    data_ = block.data;
    count_ = block.count;
}

RecycledBlock::RecycledBlock(RecycledBlock&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}

RecycledBlock& RecycledBlock::operator=(RecycledBlock&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
}

RecycledBlock::~RecycledBlock() {
    if (data_) shelf().give({data_, count_});
}

void release_recycled() { shelf().release(); }

}    // namespace polychotomy
