// Lanes of doubles, and functions of them, for the files that are compiled once per instruction set.
//
// Included inside of a namespace of the including file, which defines POLYCHOTOMY_LANE_COUNT and has
// included <cstring>; hence no include guard. Not every file uses all of it.

#if (defined(__GNUC__) || defined(__clang__)) && !defined(POLYCHOTOMY_PLAIN_LANES)

constexpr size_t W = POLYCHOTOMY_LANE_COUNT;
typedef double Lane __attribute__((vector_size(8 * POLYCHOTOMY_LANE_COUNT)));
typedef long long Mask __attribute__((vector_size(8 * POLYCHOTOMY_LANE_COUNT)));

inline Lane all(double x) {
    Lane lane;
    for (size_t w = 0; w < W; ++w) lane[w] = x;
    return lane;
}
inline Mask all_bits(long long x) {
    Mask mask;
    for (size_t w = 0; w < W; ++w) mask[w] = x;
    return mask;
}
inline double total(Lane x) {
    double sum = x[0];
    for (size_t w = 1; w < W; ++w) sum += x[w];
    return sum;
}

#else

constexpr size_t W = 1;
typedef double Lane;
typedef long long Mask;
inline Lane all(double x) { return x; }
inline Mask all_bits(long long x) { return x; }
inline double total(Lane x) { return x; }

#endif

inline Lane load(const double* from) {
    Lane lane;
    std::memcpy(&lane, from, sizeof lane);
    return lane;
}
inline void store(double* to, Lane lane) { std::memcpy(to, &lane, sizeof lane); }
inline Mask bits_of(Lane x) {
    Mask mask;
    std::memcpy(&mask, &x, sizeof mask);
    return mask;
}
inline Lane from_bits(Mask x) {
    Lane lane;
    std::memcpy(&lane, &x, sizeof lane);
    return lane;
}

// Below this exp counts as 0, so that products of two such numbers are no subnormal ones.
constexpr double smallest_exponent = -350.0;

// exp for x <= 0: 2^n times a Taylor polynomial on [-log(2)/2, log(2)/2]; the first term left
// out is 4e-18.
inline Lane exponential(Lane x) {
    const Lane inside = x > all(smallest_exponent) ? x : all(smallest_exponent);
    const Lane shifter = all(0x1.8p52);
    const Lane shifted = inside * 0x1.71547652b82fep0 + shifter;    // x / log(2), rounded
    const Lane n = shifted - shifter;
    const Lane rest = (inside - n * 0x1.62e42fefa38p-1) - n * 0x1.ef35793c7673p-45;
    const double inverse_factorials[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0,
                                         1.0 / 3628800.0,    1.0 / 362880.0,    1.0 / 40320.0,
                                         1.0 / 5040.0,       1.0 / 720.0,       1.0 / 120.0,
                                         1.0 / 24.0,         1.0 / 6.0,         0.5,
                                         1.0,                1.0};
    Lane sum = all(inverse_factorials[0]);
    for (int k = 1; k < 14; ++k) sum = sum * rest + inverse_factorials[k];
    // The low bits of `shifted` are n: put them into the exponent.
    const Lane result = from_bits(bits_of(sum) + (bits_of(shifted) << 52));
    return x > all(smallest_exponent) ? result : all(0.0);
}

// log for x >= 1: x = 2^n m with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh((m - 1) / (m + 1));
// the first term left out is 1e-18.
inline Lane logarithm(Lane x) {
    const Mask root_half = all_bits(0x3fe6a09e667f3bcdLL);
    const Mask n = (bits_of(x) - root_half) >> 52;
    const Lane m = from_bits(bits_of(x) - (n << 52));
    const Lane exponent = from_bits(n | all_bits(0x4330000000000000LL)) - 0x1p52;
    const Lane t = (m - 1.0) / (m + 1.0);
    const Lane square = t * t;
    Lane sum = all(1.0 / 23.0);
    for (int k = 21; k > 0; k -= 2) sum = sum * square + 1.0 / k;
    return exponent * 0x1.62e42fefa39efp-1 + 2.0 * t * sum;
}
