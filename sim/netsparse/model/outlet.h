// The way of packets out of a SNIC's concatenator: the flush engine reads them line by line, its
// stages stand still while nothing moves behind them, and beats wait at the link.
#pragma once

#include "state.h"

namespace outlet {

constexpr Int PLACES = 4;  // for beats at the link

// Read the next beat of the packet, whose lines are free as they have been read, or begin another.
inline Int read(State &s, Maker &maker, Int t) {
    Outlet &outlet = maker.outlet;
    if (outlet.left) {
        bool ends = !--outlet.left;
        outlet.half = !outlet.half;
        if (!outlet.half || ends) ++(maker.late_lines ? outlet.lines : maker.lines);
        return ends ? LAST_BEAT : NONE;
    }
    if (!outlet.marked.count || s.packets[outlet.marked.first].time > t) return EMPTY;
    Int number = outlet.marked.pop(s.packets);
    outlet.left = s.packets[number].beats() - 1;
    outlet.half = false;
    return number;
}

// Let a beat go to the link, which then knows of the packet.
inline void leave(State &s, Maker &maker, Int t) {
    Outlet &outlet = maker.outlet;
    if (!outlet.read.count || outlet.waiting + (outlet.left_link == t) >= PLACES) return;
    Int beat = outlet.read.pop(t);
    ++outlet.waiting;
    if (beat == LAST_BEAT) --maker.packets;
    if (beat < 0) return;
    s.packets[beat].time = t;
    s.links[maker.link].kinds[maker.kind].outgoing.push(s.packets, beat);
}

inline void step(State &s, Maker &maker, Int t) {
    Outlet &outlet = maker.outlet;
    maker.lines += std::exchange(outlet.lines, 0);
    if (outlet.passing) {  // over the link
        --outlet.waiting;
        outlet.left_link = t;
        outlet.packets -= !--outlet.passing;
    }
    leave(s, maker, t);
    if (!outlet.read.room(t)) return;
    if (outlet.stages[1] != EMPTY) outlet.read.push(outlet.stages[1]);
    outlet.stages[1] = outlet.stages[0];
    outlet.stages[0] = read(s, maker, t);
}

// All SNICs' ones in which packets are.
inline void step_all(State &s, Int t) {
    for (Int kind : {READS, RESPONSES})
        for (Int n = 0; n < s.k.nodes; ++n) {
            Maker &maker = s.makers[kind * s.points() + n];
            if (maker.outlet.packets) step(s, maker, t);
        }
}

}  // namespace outlet
