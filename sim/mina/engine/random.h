// The generator of the authors' program: Lehmer's, with multiplier 48271.
#pragma once

#include <cstdint>

class Lehmer {
    static constexpr uint64_t modulus = 2147483647;
    uint64_t state;

  public:
    explicit Lehmer(uint64_t seed) : state(seed % modulus ? seed % modulus : 1) {}

    uint64_t draw() { return (state = state * 48271 % modulus) - 1; }

    // A number below n: the low bits of a draw, drawn again if they would not be uniform.
    uint64_t below(uint64_t n) {
        if (n < 2) return 0;
        int bits = 64 - __builtin_clzll(n - 1);
        uint64_t most = (modulus - 1) >> bits << bits;
        while (true) {
            uint64_t drawn = draw(), low = drawn & ((uint64_t(1) << bits) - 1);
            if (drawn < most && low < n) return low;
        }
    }
};
