// The idx filter: lookups and sets of bits, with the caches in front of SNIC memory.
#pragma once

#include "state.h"

namespace idx_filter {

constexpr Int NEAR = 7;       // cycles from a lookup to its answer, from the unit's own cache
constexpr Int TO_BANK = 7;    // to a bank
constexpr Int FROM_BANK = 7;  // from a bank to the answer
constexpr Int FILL = 11;      // beside the memory's latency, for a line that must be fetched
constexpr Int BLANK = 10;     // for one that is zeros, as its set has lost none
constexpr Int BLOCK = 16;     // idxs that an answer tells a unit of
constexpr Int LINE = 512;     // idxs of a line

// The cycle in which the bank of `need` carries a request out.
inline Int visit(State &s, Node &node, Int need, Int t) {
    Int line = s.idx[need] / LINE;
    Int &free = node.bank_free[line % s.k.banks], &ready = node.line_ready[line];
    Int seen = std::max(t + TO_BANK, free);
    if (ready == NEVER) {
        bool blank = ++node.set_lines[line % s.k.filter_sets] <= s.k.filter_ways;
        ready = seen + (blank ? BLANK : FILL + s.k.dram_latency);
    }
    seen = std::max(seen, ready);
    free = seen + 1;
    return seen;
}

// Whether a bit of a block is set; a node's needs lie in the order of their idxs.
inline bool has_ones(const State &s, Int n, Int need, Int block, Int seen) {
    for (Int at = need; at >= s.need_base[n] && s.idx[at] / BLOCK == block; --at)
        if (s.bit[at] <= seen) return true;
    for (Int at = need + 1; at < s.need_base[n + 1] && s.idx[at] / BLOCK == block; ++at)
        if (s.bit[at] <= seen) return true;
    return false;
}

// Let a unit's own cache hold the block of `need`, if a bit of it is set.
inline void learn(State &s, Int n, Client &client, Int need, Int seen) {
    Int block = s.idx[need] / BLOCK;
    Near &near = client.near[block % s.k.unit_rows];
    if (near.block == block) {
        if (near.time <= seen) near.seen = seen;
    } else if (has_ones(s, n, need, block, seen)) {
        near = {block, seen, seen + FROM_BANK};
    }
}

struct Answer {
    Int time, seen;
};

// When a lookup is answered, and in which cycle the bit was looked at.
inline Answer look_up(State &s, Int n, Client &client, Int need, Int t) {
    Int block = s.idx[need] / BLOCK;
    const Near &near = client.near[block % s.k.unit_rows];
    if (near.block == block && near.time <= t && s.bit[need] <= near.seen) return {t + NEAR, t};
    Int seen = visit(s, s.nodes[n], need, t);
    learn(s, n, client, need, seen);
    return {seen + FROM_BANK, seen};
}

// Set the bit of `need`; the cycle in which every unit sees it.
inline Int set_bit(State &s, Int n, Client &client, Int need, Int t) {
    Int seen = visit(s, s.nodes[n], need, t);
    s.bit[need] = std::min(s.bit[need], seen);  // another unit may have set it before
    learn(s, n, client, need, seen);
    return seen + FROM_BANK;
}

}  // namespace idx_filter
