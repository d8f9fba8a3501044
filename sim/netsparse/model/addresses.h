// Where properties lie in host memory: what is inside hdl/netsparse/rig/property_address.py stands
// still while two PRs wait behind it.
#pragma once

#include "state.h"

namespace addresses {

// Let PRs move, and the next one in, unless it is NONE; whether they do.
inline bool move(State &s, Addresses &one, Int next, Int t) {
    if (!one.move(t)) return false;
    auto &[first, second, third] = one.stages;
    if (third != NONE) one.found.push(s.prs, third);
    third = second;
    second = first;
    first = next;
    one.inside += next != NONE;
    return true;
}

// Take the first one that waits.
inline Int take(State &s, Addresses &one, Int t) {
    one.popped = t;
    --one.inside;
    return one.found.pop(s.prs);
}

}  // namespace addresses
