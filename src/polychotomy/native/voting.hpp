// Max-wins voting among one-vs-one answers.
#pragma once

#include <cstddef>

namespace polychotomy {

// Signed answers of the pairs (0, 1), (0, 2), ..., row by row. A class has a vote for every pair it
// wins; ties go to the larger sum of answers, then to the larger prior, then to the first class.
// Scores are the votes plus the sum squashed into (-1/3, 1/3); the winner is raised one rounding
// unit above the others if it is not above them already.
void max_wins(const double* pairs, std::size_t n_rows, const double* prior, std::size_t n_classes,
              double* scores);

}    // namespace polychotomy
