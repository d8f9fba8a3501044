// Deconcatenators: PRs come out of a packet one after another, once all of it is there.
#pragma once

#include "state.h"

namespace taker {

constexpr Int JUDGED = 8;         // cycles from a packet's last beat to its header's coming here
constexpr Int BEGIN = 3;          // from its second beat to the first PR, at least
constexpr Int GIVE = 2;           // from the last beat that a PR's first one needs to the PR
constexpr Int AHEAD = 8;          // beats that come while PRs wait
constexpr Int FIRST = 18 + BEAT;  // bytes of a PR that its first beat takes, at most

// Beats behind the header that the first beat of the next PR needs.
inline Int needed(const Taker &taker) {
    Int bytes = taker.bytes + std::min(taker.pr_bytes, FIRST);
    return (bytes + BEAT - 1) / BEAT;
}

// Begin with the first packet of a list, if all of it is there; the packet, or NONE. Its beats come
// behind those of the last one.
inline Int take_packet(State &s, Int m, List &list, Int t) {
    if (!list.count || s.packets[list.first].ends + JUDGED > t) return NONE;
    Taker &taker = s.takers[m];
    Int number = list.pop(s.packets);
    const Packet &packet = s.packets[number];
    taker.pr = packet.first;
    taker.left = packet.prs;
    taker.packet = number;
    taker.start = std::max(packet.ends + JUDGED, taker.start + taker.beats);
    taker.beats = packet.beats();
    taker.bytes = 0;
    Int come = taker.start + std::max(1 + BEGIN, needed(taker) + GIVE);
    taker.time = std::max(taker.time, come);
    ++s.traffic[m].received_packets;
    s.traffic[m].received_bytes += packet.bytes;
    s.traffic[m].received_prs += packet.prs;
    return number;
}

inline bool offers(const Taker &taker, Int t) { return taker.left && taker.time <= t; }

// Take the next PR, of so many beats; the beats of the packet if it was its last one, else 0. While
// nobody takes it, beats of the packet come up to `AHEAD` of it.
inline Int take_pr(State &s, Int m, Int beats, Int t) {
    Taker &taker = s.takers[m];
    taker.pr = s.prs[taker.pr].next;
    taker.start = std::max(taker.start, t - taker.bytes / BEAT - AHEAD);
    taker.bytes += taker.pr_bytes;
    taker.time = t + beats;
    if (taker.left > 1) taker.time = std::max(taker.time, taker.start + needed(taker) + GIVE);
    if (--taker.left) return 0;
    Int of_packet = s.packets[taker.packet].beats();
    s.spare.push(s.packets, taker.packet);
    return of_packet;
}

}  // namespace taker
