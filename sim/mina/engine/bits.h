// Sets of small numbers.
#pragma once

#include <cstdint>
#include <vector>

struct Bits {
    std::vector<uint64_t> words;

    explicit Bits(int size = 0) : words((size + 63) / 64) {}

    void set(int i) { words[i / 64] |= uint64_t(1) << i % 64; }
    bool has(int i) const { return words[i / 64] >> i % 64 & 1; }

    bool meets(const Bits& other) const {
        for (size_t i = 0; i < words.size(); ++i)
            if (words[i] & other.words[i]) return true;
        return false;
    }
};
