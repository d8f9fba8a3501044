// Ports of the component under test, and random numbers, for what drives and watches them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "vpi_user.h"

using Word = uint32_t;

// Returns the time, in the simulator's steps.
inline int64_t steps() {
    s_vpi_time time;
    time.type = vpiSimTime;
    vpi_get_time(nullptr, &time);
    return (static_cast<int64_t>(time.high) << 32) | time.low;
}

// Reads what a port showed before the edge, and sets what it shows after it. One without a path
// shows 1, whatever it is set to.
class Port {
   public:
    Port() = default;

    explicit Port(const char* path) {
        if (!*path) return;
        handle = vpi_handle_by_name(const_cast<char*>(path), nullptr);
        if (!handle) throw std::invalid_argument(std::string("no port ") + path);
        width = vpi_get(vpiSize, handle);
        words = (width + 31) / 32;
    }

    Word bit() const {
        if (!handle) return 1;
        s_vpi_value value;
        value.format = vpiIntVal;
        vpi_get_value(handle, &value);
        return static_cast<Word>(value.value.integer);
    }

    void read(Word* found) const {
        if (words == 1) {
            *found = bit() & last_word();
            return;
        }
        s_vpi_value value;
        value.format = vpiVectorVal;
        vpi_get_value(handle, &value);
        for (int k = 0; k < words; ++k) found[k] = static_cast<Word>(value.value.vector[k].aval);
    }

    bool any() const {
        if (words < 2) return bit();
        std::vector<Word> bits(words);
        read(bits.data());
        return bits != std::vector<Word>(words);
    }

    void write(const Word* bits, int delay = vpiInertialDelay) const {
        if (!handle) return;
        s_vpi_value value;
        std::vector<s_vpi_vecval> vector;
        if (words == 1) {
            value.format = vpiIntVal;
            value.value.integer = static_cast<PLI_INT32>(*bits);
        } else {
            for (int k = 0; k < words; ++k)
                vector.push_back({static_cast<decltype(s_vpi_vecval::aval)>(bits[k]), 0});
            value.format = vpiVectorVal;
            value.value.vector = vector.data();
        }
        vpi_put_value(handle, &value, nullptr, delay);
    }

    void set(Word bit) const {
        if (handle) write(&bit);
    }

    // Takes a 1 back before the design sees it at the edge that comes at this time.
    void postpone() const {
        const Word zero = 0;
        write(&zero, vpiNoDelay);
        set(1);
    }

    int bits() const { return width; }

    Word last_word() const { return width % 32 ? (1u << width % 32) - 1 : ~0u; }

    int words = 0;

   private:
    vpiHandle handle = nullptr;
    int width = 0;
};

// Draws random numbers (xorshift64*): each stream has its own, so none depends on another.
class Random {
   public:
    explicit Random(uint64_t seed) : state(seed | 1) {}

    Word draw() {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return static_cast<Word>(state * 0x2545F4914F6CDD1DULL >> 32);
    }

   private:
    uint64_t state;
};
