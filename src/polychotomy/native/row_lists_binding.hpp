// Subsets of rows that come from Python, with a look at every number.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "row_lists.hpp"

namespace polychotomy {

using RowArray = nanobind::ndarray<const std::int64_t, nanobind::ndim<1>, nanobind::c_contig,
                                   nanobind::device::cpu>;

inline RowLists checked_lists(const RowArray& rows, const RowArray& ends, std::size_t n_rows) {
    const auto require = [](bool condition, const char* message) {
        if (!condition) throw nanobind::value_error(message);
    };
    std::int64_t before = 0;
    for (std::size_t k = 0; k < ends.shape(0); ++k) {
        require(before <= ends.data()[k], "The ends of the subsets must not decrease.");
        before = ends.data()[k];
    }
    require(before == static_cast<std::int64_t>(rows.shape(0)),
            "The last subset must end with the last row.");
    for (std::size_t k = 0; k < rows.shape(0); ++k)
        require(rows.data()[k] >= 0 && rows.data()[k] < static_cast<std::int64_t>(n_rows),
                "A subset has a row that does not exist.");
    return {rows.data(), ends.data()};
}

}    // namespace polychotomy
