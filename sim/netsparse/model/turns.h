// Arbiters that give turns: a choice is made a cycle ahead, so who comes when all are idle, and was
// not the last, is taken a cycle later.
#pragma once

#include "state.h"

namespace turns {

inline void ask(Turns &turns, Int one) { turns.waiting |= std::uint64_t(1) << one; }

inline void leave(Turns &turns, Int one) { turns.waiting &= ~(std::uint64_t(1) << one); }

// Who is taken in this cycle with a packet of `beats`, if what is behind is `ready`, or NONE. The
// choice moves on when a packet ends, or when nothing is under way.
inline Int take(Turns &turns, Int beats, bool ready, Int t) {
    Int one = turns.chosen, taken = NONE;
    if (turns.last < t && turns.waiting >> one & 1) {
        if (!ready) return NONE;
        taken = one;
        turns.last = t + beats - 1;
    }
    std::uint64_t others = turns.waiting & ~(std::uint64_t(1) << one);
    if (turns.last > t || !others) return taken;
    std::uint64_t above = others & (~std::uint64_t(0) << one);
    turns.chosen = __builtin_ctzll(above ? above : others);
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
