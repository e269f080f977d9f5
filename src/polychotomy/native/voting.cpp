#include "voting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace polychotomy {
namespace {

// A sum of huge answers may have overflowed.
double squash(double sum) {
    if (std::isfinite(sum)) return sum / (3.0 * (std::fabs(sum) + 1.0));
    return std::isnan(sum) ? 0.0 : std::copysign(1.0 / 3.0, sum);
}

}    // namespace

void max_wins(const double* pairs, std::size_t n_rows, const double* prior, std::size_t n_classes,
              double* scores) {
    std::vector<double> votes(n_classes), sums(n_classes);
    const auto better = [&](std::size_t i, std::size_t j) {
        if (votes[i] != votes[j]) return votes[i] > votes[j];
        if (sums[i] != sums[j]) return sums[i] > sums[j];
        return prior[i] > prior[j];
    };
    for (std::size_t n = 0; n < n_rows; ++n, scores += n_classes) {
        std::fill(votes.begin(), votes.end(), 0.0);
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::size_t i = 0; i < n_classes; ++i)
            for (std::size_t j = i + 1; j < n_classes; ++j, ++pairs) {
                votes[i] += *pairs > 0.0;
                votes[j] += *pairs < 0.0;
                sums[i] += *pairs;
                sums[j] -= *pairs;
            }
        std::size_t winner = 0;
        for (std::size_t k = 0; k < n_classes; ++k) {
            scores[k] = votes[k] + squash(sums[k]);
            if (better(k, winner)) winner = k;
        }
        double highest = -std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < n_classes; ++k)
            if (k != winner) highest = std::max(highest, scores[k]);
        scores[winner] = std::max(
            scores[winner], std::nextafter(highest, std::numeric_limits<double>::infinity()));
    }
}

}    // namespace polychotomy
