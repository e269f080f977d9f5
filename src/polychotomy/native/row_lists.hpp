// Subsets of rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace polychotomy {

struct RowSubset {
    const std::int64_t* rows;
    std::size_t count;
};

// Lists of rows, one after the other; ends[k] is where list k ends.
struct RowLists {
    const std::int64_t* rows;
    const std::int64_t* ends;

    RowSubset at(std::size_t k) const {
        const std::int64_t first = k == 0 ? 0 : ends[k - 1];
        return {rows + first, static_cast<std::size_t>(ends[k] - first)};
    }
};

}    // namespace polychotomy
