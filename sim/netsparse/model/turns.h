// Arbiters that give turns: a choice is made a cycle ahead, so who comes when all are idle, and was
// not the last, is taken a cycle later.
#pragma once

#include "state.h"

namespace turns {

inline void ask(Turns &turns, Int one) { turns.waiting |= std::uint64_t(1) << one; }

inline void leave(Turns &turns, Int one) { turns.waiting &= ~(std::uint64_t(1) << one); }

// Who is taken in this cycle, if what is behind is `ready`, or NONE.
inline Int take(Turns &turns, bool ready) {
    Int one = turns.chosen;
    bool comes = turns.waiting >> one & 1;
    if (comes && !ready) return NONE;
    std::uint64_t others = turns.waiting & ~(std::uint64_t(1) << one);
    std::uint64_t above = others & (~std::uint64_t(0) << one);
    if (others) turns.chosen = __builtin_ctzll(above ? above : others);
    return comes ? one : NONE;
}

}  // namespace turns
