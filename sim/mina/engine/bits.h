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

    int common(const Bits& other) const {
        int count = 0;
        for (size_t i = 0; i < words.size(); ++i) count += __builtin_popcountll(words[i] & other.words[i]);
        return count;
    }

    template <class Function>
    void for_each(Function function) const {
        for (size_t i = 0; i < words.size(); ++i)
            for (uint64_t left = words[i]; left; left &= left - 1)
                function(int(64 * i) + __builtin_ctzll(left));
    }
};
