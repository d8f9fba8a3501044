// The way of PRs into a SNIC's concatenator: a PR that finds no room waits where it is decided which
// packet it joins, and its beats and those behind it wait in the registers before.
#pragma once

#include "maker.h"

namespace inlet {

// Whether the arbiter in front can give a beat.
inline bool room(const Maker &maker, Int t) { return maker.inlet.chosen.room(t); }

// Take a beat: the first one of `pr`, or NONE for a later one.
inline void push(Maker &maker, Int pr) {
    maker.inlet.chosen.push(pr);
    ++maker.inlet.inside;
}

// Let the first beat of a PR into a packet, if there is room for all of it; later ones follow.
inline bool decide(State &s, Int m, Int t) {
    Maker &maker = s.makers[m];
    Int pr = maker.inlet.beat;
    if (pr == EMPTY) return true;
    if (pr != NONE) {
        if (!maker::can_join(maker)) return false;
        Int dest = maker.kind == READS ? s.owner[s.prs[pr].need] : s.node_of(pr);
        maker::join(s, m, pr, dest, 0, t);
    }
    --maker.inlet.inside;
    return true;
}

inline void step(State &s, Int m, Int t) {
    Inlet &inlet = s.makers[m].inlet;
    if (!inlet.inside) return;
    if (decide(s, m, t)) {
        inlet.beat = inlet.arrival;
        inlet.arrival = inlet.taken.count ? inlet.taken.pop(t) : EMPTY;
    }
    if (!inlet.chosen.count) return;
    if (inlet.taken.room(t))
        inlet.taken.push(inlet.chosen.pop(t));
    else
        ++s.traffic[m].stall;
}

}  // namespace inlet
