#include "gram.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "crew.hpp"
#include "lane_functions.hpp"

namespace polychotomy {
namespace {

constexpr size_t entries_a_task = 1 << 15;
constexpr size_t tile = 32;    // a tile and its mirror image stay in the cache

// What has been seen of a Gram matrix. One result for each column of a tile, so that the compiler
// can vectorise the loops.
struct Seen {
    double largest[tile] = {}, asymmetry[tile] = {};
    double wrong[tile] = {};    // NaN where an entry was not finite, else 0

    template <class Entry>
    void see(const Entry* here, const double* there, size_t width) {
        for (size_t k = 0; k < width; ++k) {
            const double own = here[k], size = std::fabs(own), mirrored = std::fabs(there[k]);
            const double difference = std::fabs(own - there[k]);
            const double larger = size > mirrored ? size : mirrored;
            largest[k] = larger > largest[k] ? larger : largest[k];
            asymmetry[k] = difference > asymmetry[k] ? difference : asymmetry[k];
            wrong[k] += (own - own) + (there[k] - there[k]);
        }
    }

    SvmGramFacts facts() const {
        SvmGramFacts found = {true, 0.0, 0.0};
        for (size_t k = 0; k < tile; ++k) {
            found.finite = found.finite && wrong[k] == 0.0;
            found.largest = std::max(found.largest, largest[k]);
            found.asymmetry = std::max(found.asymmetry, asymmetry[k]);
        }
        return found;
    }
};

// Goes through the rows from `top` on, up to the diagonal.
template <class Entry>
void see_rows(const Entry* gram, size_t n, size_t top, Seen& seen) {
    const size_t bottom = std::min(top + tile, n);
    double there[tile];
    for (size_t left = 0; left <= top; left += tile)
        for (size_t i = top; i < bottom; ++i) {
            const size_t width = std::min(tile, i + 1 - left);
            for (size_t k = 0; k < width; ++k) there[k] = gram[(left + k) * n + i];
            seen.see(gram + i * n + left, there, width);
        }
}

}    // namespace

bool gaussian_of_distances(const double* distances, double* kernel, size_t count, double gamma,
                           size_t n_threads, const std::function<bool()>& interrupted) {
    const auto fill = lanes_in_use().gaussian.of_distances;
    const auto work = [&](Tasks& tasks) {
        for (size_t task; tasks.next(task);) {
            const size_t start = task * entries_a_task;
            fill(distances + start, kernel + start, std::min(entries_a_task, count - start), gamma);
        }
    };
    return run_crew((count + entries_a_task - 1) / entries_a_task, n_threads, work, interrupted);
}

bool inspect_gram(const SvmGram& gram, SvmGramFacts& facts, size_t n_threads,
                  const std::function<bool()>& interrupted) {
    const size_t n_tasks = (gram.n + tile - 1) / tile;
    std::vector<SvmGramFacts> found(n_tasks);
    const auto work = [&](Tasks& tasks) {
        for (size_t task; tasks.next(task);) {
            Seen seen;
            if (gram.wide) see_rows(gram.wide, gram.n, task * tile, seen);
            else see_rows(gram.narrow, gram.n, task * tile, seen);
            found[task] = seen.facts();
        }
    };
    if (!run_crew(n_tasks, n_threads, work, interrupted)) return false;
    facts = {true, 0.0, 0.0};
    for (const SvmGramFacts& one : found) {
        facts.finite = facts.finite && one.finite;
        facts.largest = std::max(facts.largest, one.largest);
        facts.asymmetry = std::max(facts.asymmetry, one.asymmetry);
    }
    return true;
}

}    // namespace polychotomy
