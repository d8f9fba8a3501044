// Arbiters that give turns: a choice is made a cycle ahead, so who comes when all are idle, and was
// not the last, is taken a cycle later.
#pragma once

#include "state.h"

namespace turns {

inline void ask(Turns &turns, Int one) { turns.waiting |= Mask(1) << one; }

inline void leave(Turns &turns, Int one) { turns.waiting &= ~(Mask(1) << one); }

// The number of the lowest bit that is set, of a mask that has one.
inline Int lowest(Mask mask) {
    std::uint64_t low = mask;
    return low ? __builtin_ctzll(low) : 64 + __builtin_ctzll(std::uint64_t(mask >> 64));
}

// Who is taken in this cycle with a packet of `beats`, if what is behind is `ready`, or NONE. The
// choice moves on when a packet ends, or when nothing is under way.
inline Int take(Turns &turns, Int beats, bool ready, Int t) {
    Int one = turns.chosen, taken = NONE;
    if (turns.last < t && turns.waiting >> one & 1) {
        if (!ready) return NONE;
        taken = one;
        turns.last = t + beats - 1;
    }
    Mask others = turns.waiting & ~(Mask(1) << one);
    if (turns.last > t || !others) return taken;
    Mask above = others & (~Mask(0) << one);
    turns.chosen = lowest(above ? above : others);
    return taken;
}

// The next one of `count` behind `last` who waits, or NONE: an arbiter that chooses at once.
template <typename Waits>
Int next(Int last, Int count, Waits waits) {
    for (Int turn = 1; turn <= count; ++turn) {
        Int place = (last + turn) % count;
        if (waits(place)) return place;
    }
    return NONE;
}

}  // namespace turns
