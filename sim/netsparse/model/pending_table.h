// The Pending PR Table: an idx may be in one row of each way, as hdl/netsparse/rig/entry_rows.py
// says, and takes the lowest way whose row is free.
#pragma once

#include "state.h"

namespace pending_table {

constexpr Int DIGIT = 4, FIELD = 1 << DIGIT;  // elements of GF(16)
constexpr Int REDUCTION = 0b10011;

constexpr Int product(Int factor, Int digit) {
    Int made = 0;
    for (Int bit = 0; bit < DIGIT; ++bit)
        if (digit >> bit & 1) made ^= factor << bit;
    for (Int bit = 2 * DIGIT - 1; bit >= DIGIT; --bit)
        if (made >> bit & 1) made ^= REDUCTION << (bit - DIGIT);
    return made;
}

// The two digits of an idx that tell its rows, the first one in the low bits.
inline std::uint8_t hash(Int idx) {
    Int first = 0, second = 0;
    for (Int power = 1; idx; idx >>= DIGIT, power = product(2, power)) {
        first ^= idx % FIELD;
        second ^= product(power, idx % FIELD);
    }
    return std::uint8_t(first | second << DIGIT);
}

// The rows of each hash in each way.
struct Rows {
    std::uint8_t of[FIELD * FIELD][FIELD];
    Rows() {
        for (Int h = 0; h < FIELD * FIELD; ++h)
            for (Int way = 0; way < FIELD; ++way)
                of[h][way] = std::uint8_t(h % FIELD ^ product(way, h / FIELD));
    }
};

// What is known of an idx: the entry that has it, or the one that is free for it; or NONE.
struct Place {
    Int found = NONE, free = NONE;
};

inline Place look_up(const State &s, const Client &client, Int need) {
    static const Rows rows;
    Int ways = std::min(s.k.entries, FIELD), count = s.k.entries / ways;
    Int hashed = s.k.coalesce ? s.hash[need] : (client.number - 1) % (FIELD * FIELD);
    Place place;
    for (Int way = 0; way < ways; ++way) {
        Int entry = way * count + rows.of[hashed][way] % count;
        if (client.pending[entry] == need && s.k.coalesce) place.found = entry;
        if (client.pending[entry] == NONE && place.free == NONE) place.free = entry;
    }
    return place;
}

}  // namespace pending_table
