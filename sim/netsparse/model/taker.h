// Deconcatenators: PRs come out of a packet one after another, once all of it is there.
#pragma once

#include "state.h"

namespace taker {

constexpr Int JUDGED = 8;         // cycles from a packet's last beat to its header's coming here
constexpr Int BEGIN = 3;          // from its second beat to the first PR, at least
constexpr Int GIVE = 2;           // from the last beat that a PR's first one needs to the PR
constexpr Int FIRST = 18 + BEAT;  // bytes of a PR that its first beat takes, at most

// Let the next beat come to the ring of the unpacker, `time` at the earliest: when it has a place.
inline void come(Taker &taker, Int time) {
    Int freed = taker.beats - taker.places;  // the beat whose place it takes
    taker.came = std::max(time, taker.came + 1);
    if (freed >= 0) taker.came = std::max(taker.came, taker.left_ring[freed % RING] + 1);
}

// When the first beat of the next PR leaves, if nothing but the beats that it needs holds it up.
inline Int whole(Taker &taker) {
    Int bytes = taker.bytes + std::min(taker.pr_bytes, FIRST);
    for (Int last = taker.start + (bytes + BEAT - 1) / BEAT; taker.beats < last; ++taker.beats)
        come(taker, 0);
    return taker.came + GIVE;
}

// Begin with the first packet of a list, if all of it is there; the packet, or NONE. Its beats come
// behind those of the last one; the header is not kept.
inline Int take_packet(State &s, Int m, List &list, Int t) {
    if (!list.count || s.packets[list.first].ends + JUDGED > t) return NONE;
    Taker &taker = s.takers[m];
    Int number = list.pop(s.packets);
    const Packet &packet = s.packets[number];
    taker.pr = packet.first;
    taker.left = packet.prs;
    taker.packet = number;
    taker.start = taker.beats;
    taker.bytes = 0;
    come(taker, packet.ends + JUDGED);
    come(taker, 0);
    ++taker.beats;
    taker.time = std::max(taker.time, taker.came + BEGIN);
    taker.time = std::max(taker.time, whole(taker));
    ++s.traffic[m].received_packets;
    s.traffic[m].received_bytes += packet.bytes;
    s.traffic[m].received_prs += packet.prs;
    return number;
}

inline bool offers(const Taker &taker, Int t) { return taker.left && taker.time <= t; }

// Take the next PR, of so many beats; the beats of the packet if it was its last one, else 0. While
// nobody takes it, beats of the packet come as long as the ring has places.
inline Int take_pr(State &s, Int m, Int beats, Int t) {
    Taker &taker = s.takers[m];
    Int of_packet = s.packets[taker.packet].beats();
    taker.pr = s.prs[taker.pr].next;
    --taker.left;
    for (Int beat = 0; beat < beats; ++beat) {
        bool ends = !taker.left && beat + 1 == beats;
        Int used = (taker.bytes + std::min(FIRST + BEAT * beat, taker.pr_bytes)) / BEAT;
        Int left = beat ? t + beat - 1 : taker.time - 1;
        for (Int end = taker.start + (ends ? of_packet - 1 : used); taker.gone < end; ++taker.gone)
            taker.left_ring[taker.gone % RING] = left;
    }
    taker.bytes += taker.pr_bytes;
    taker.time = t + beats;
    if (taker.left) {
        taker.time = std::max(taker.time, whole(taker));
        return 0;
    }
    taker.beats = taker.gone;
    s.spare.push(s.packets, taker.packet);
    return of_packet;
}

}  // namespace taker
