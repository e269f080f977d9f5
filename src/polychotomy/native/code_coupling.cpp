#include "code_coupling.hpp"

#include <vector>

#include "lane_functions.hpp"
#include "workspace.hpp"

namespace polychotomy {
namespace {

using std::size_t;

// The lists of a code, and their memory.
class Lists {
public:
    explicit Lists(const CodeCoupling& code)
        : columns_(code.n_columns), places_(code.n_classes + 1) {
        size_t n_entries = 0;
        for (size_t k = 0; k < code.n_classes * code.n_columns; ++k)
            n_entries += code.matrix[k] != 0 ? 1 : 0;
        classes_.reserve(n_entries);    // pointers into it are kept
        all_places_.reserve(n_entries);
        double total_weight = 0.0;
        for (size_t l = 0; l < code.n_columns; ++l) {
            CodeColumn& column = columns_[l];
            for (const int side : {0, 1}) {
                const size_t before = classes_.size();
                column.side[side] = classes_.data() + before;
                for (size_t m = 0; m < code.n_classes; ++m)
                    if (code.matrix[m * code.n_columns + l] == 1 - 2 * side)
                        classes_.push_back(static_cast<int>(m));
                column.size[side] = classes_.size() - before;
            }
            column.weight = code.column_weights ? code.column_weights[l] : 1.0;
            total_weight += column.weight;
        }
        for (size_t m = 0; m < code.n_classes; ++m) {
            places_[m] = all_places_.data() + all_places_.size();
            for (size_t l = 0; l < code.n_columns; ++l)
                if (const int sign = code.matrix[m * code.n_columns + l])
                    all_places_.push_back({static_cast<int>(l), sign > 0 ? 0 : 1});
        }
        places_[code.n_classes] = all_places_.data() + n_entries;
        lists_ = {columns_.data(),   places_.data(), code.n_classes,
                  code.n_columns,    total_weight,   n_entries < code.n_classes * code.n_columns,
                  code.pull,         code.tolerance, code.max_iterations};
    }

    const CodeLists& operator*() const { return lists_; }

private:
    std::vector<CodeColumn> columns_;
    std::vector<int> classes_;
    std::vector<CodePlace> all_places_;
    std::vector<const CodePlace*> places_;
    CodeLists lists_;
};

bool all_in_unit_interval(const double* r, size_t n) {
    for (size_t k = 0; k < n; ++k)
        if (!(r[k] >= 0.0 && r[k] <= 1.0)) return false;
    return true;
}

}    // namespace

bool couple_code(const CodeCoupling& code, const double* r, size_t n_rows, double* p,
                 size_t& n_unconverged) {
    if (!all_in_unit_interval(r, n_rows * code.n_columns)) return false;
    const Lists lists(code);
    const CodeKernels& kernels = lanes_in_use().code;
    Workspace workspace(kernels.workspace(code.n_classes, code.n_columns));
    n_unconverged = kernels.couple(*lists, r, n_rows, p, workspace.data());
    return true;
}

}    // namespace polychotomy
