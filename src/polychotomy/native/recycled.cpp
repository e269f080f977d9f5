#include "recycled.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace polychotomy {
namespace {

using std::size_t;

constexpr size_t most_kept = size_t{1} << 25;      // 256 MiB in total
constexpr size_t always_kept = size_t{1} << 22;    // 32 MiB, also after a search

// Larger blocks use huge pages where the system has them, because fewer of them have to be fetched.
constexpr size_t huge_page = size_t{1} << 21;    // in bytes
constexpr size_t least_huge = 2 * huge_page;

struct Block {
    double* data;
    size_t count;
};

std::align_val_t alignment_of(size_t count) {
    return std::align_val_t{count * sizeof(double) >= least_huge ? huge_page : 64};
}

Block allocate(size_t count) {
    const size_t bytes = count * sizeof(double);
    void* data = ::operator new(bytes, alignment_of(count));
#ifdef __linux__
    // Only advice: if the system does not follow it, pages are small.
    if (bytes >= least_huge) madvise(data, bytes / huge_page * huge_page, MADV_HUGEPAGE);
#endif
    return {static_cast<double*>(data), count};
}

void free_block(Block block) noexcept { ::operator delete(block.data, alignment_of(block.count)); }

class Shelf {
public:
    // A block that is large enough and not much larger, if there is one.
    bool take(size_t count, Block& block) {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        // Another thread holds the lock, or held it when this process was forked.
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

    // Keeps a block, in place of the oldest ones if there is not enough room.
    void give(Block block) noexcept {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (!lock || block.count > most_kept) {
            free_block(block);
            return;
        }
        drop_until(most_kept - block.count);
        try {
            blocks_.push_back(block);
            kept_ += block.count;
        } catch (const std::bad_alloc&) {
            free_block(block);
        }
    }

    void release() {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (lock) drop_until(always_kept);
    }

private:
    void drop_until(size_t most) noexcept {
        while (kept_ > most) {
            kept_ -= blocks_.front().count;
            free_block(blocks_.front());
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
    count = std::max<size_t>((count + recycled_step - 1) / recycled_step, 1) * recycled_step;
    Block block = {nullptr, count};
    if (!shelf().take(count, block)) block = allocate(count);
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
