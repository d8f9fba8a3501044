// The free beats of an output queue of a middle pipe, as its switch sees them: late.
#pragma once

#include <utility>

#include "shape.h"

struct Room {
    static constexpr Int LATE = 3;   // cycles until a change is counted
    static constexpr Int ALONE = 4;  // after a packet, in which it is not yet counted
    static constexpr Int SPAN = 256; // cycles ahead in which changes are kept

    Int free = 0, before = 0;  // in cycle `now`, and in the one before it
    Int now = NONE, last = NONE, let_in = -SPAN;  // `last`: of the changes that are kept
    std::vector<std::int16_t> changes = std::vector<std::int16_t>(SPAN);

    // Go on to what is counted before cycle `t`.
    void see(Int t) {
        while (now < t - 1) {
            before = free;
            if (now >= last)
                now = t - 1;
            else
                free += std::exchange(changes[++now % SPAN], 0);
        }
    }

    // In cycle `t` it is known that beats are claimed, or free again, in cycle `when`.
    void change(Int t, Int when, Int beats) {
        see(t);
        Int at = std::min(when + LATE, t + SPAN - 2);
        last = std::max(last, at);
        changes[at % SPAN] += beats;
    }

    // Whether a packet may enter that claims `packet` beats, with `from` free ones: packets that
    // have just entered are not counted yet.
    bool opens(Int t, Int from, Int packet) {
        see(t);
        return before >= from + 2 * packet || (before >= from && let_in < t - ALONE);
    }

    void enter(Int t, Int packet) {
        let_in = t;
        change(t, t, -packet);
    }

    // Whether an item may claim beats, with `from` free ones.
    bool opens_to_item(Int t, Int from) {
        see(t);
        return free >= from;
    }
};
