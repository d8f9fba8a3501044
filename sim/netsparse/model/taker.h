// Deconcatenators: PRs come out of a packet one after another, once all of it is there.
#pragma once

#include "state.h"

namespace taker {

constexpr Int TAKE = 12;  // cycles from a packet's last beat to its first PR

// Begin with the first packet of a list, if all of it is there; the packet, or NONE.
inline Int take_packet(State &s, Int m, List &list, Int t) {
    if (!list.count || s.packets[list.first].ends + TAKE > t) return NONE;
    Taker &taker = s.takers[m];
    Int number = list.pop(s.packets);
    const Packet &packet = s.packets[number];
    taker.pr = packet.first;
    taker.left = packet.prs;
    taker.packet = number;
    taker.start = taker.time = t;
    taker.beats = 0;
    taker.bytes = BEAT;
    ++s.traffic[m].received_packets;
    s.traffic[m].received_bytes += packet.bytes;
    s.traffic[m].received_prs += packet.prs;
    return number;
}

inline bool offers(const Taker &taker, Int t) { return taker.left && taker.time <= t; }

// Take the next PR, of so many beats; the beats of the packet if it was its last one, else 0.
inline Int take_pr(State &s, Int m, Int beats) {
    Taker &taker = s.takers[m];
    taker.pr = s.prs[taker.pr].next;
    taker.beats += beats;
    taker.bytes += taker.pr_bytes;
    taker.time = taker.start + std::max(taker.beats, taker.bytes / BEAT);
    if (--taker.left) return 0;
    Int of_packet = s.packets[taker.packet].beats();
    s.spare.push(s.packets, taker.packet);
    return of_packet;
}

// Let a cycle go by in which nobody takes the PR.
inline void hold(Taker &taker) {
    ++taker.start;
    ++taker.time;
}

}  // namespace taker
