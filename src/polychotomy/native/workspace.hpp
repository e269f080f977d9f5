// Memory of doubles that is aligned for the widest lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace polychotomy {

class Workspace {
public:
    explicit Workspace(std::size_t n) : memory_(n + 8) {}
    double* data() {
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
        return memory_.data() + (64 - address % 64) % 64 / sizeof(double);
    }

private:
    std::vector<double> memory_;
};

}    // namespace polychotomy
