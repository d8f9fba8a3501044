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

// Let all beats come that a beat of the next PR needs; the bytes up to its end.
inline Int reach(Taker &taker, Int beat) {
    Int bytes = taker.bytes + std::min(taker.pr_bytes, FIRST + BEAT * beat);
    for (Int end = taker.start + (bytes + BEAT - 1) / BEAT; taker.beats < end; ++taker.beats)
        come(taker, 0);
    return bytes;
}

// When the first beat of the next PR can be taken, if no PR is before it.
inline Int whole(Taker &taker) {
    reach(taker, 0);
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
    Int left = taker.time - 1;  // when a beat has left the ring
    for (Int beat = 0; beat < beats; ++beat) {
        Int bytes = reach(taker, beat);
        if (beat) left = std::max({left + 1, t + beat - 1, taker.came + GIVE - 1});
        bool ends = !taker.left && beat + 1 == beats;
        Int end = taker.start + (ends ? of_packet - 1 : bytes / BEAT);
        for (; taker.gone < end; ++taker.gone) taker.left_ring[taker.gone % RING] = left;
    }
    taker.bytes += taker.pr_bytes;
    taker.time = std::max(t + beats, left + 2);
    if (taker.left) {
        taker.time = std::max(taker.time, whole(taker));
        return 0;
    }
    s.spare.push(s.packets, taker.packet);
    return of_packet;
}

}  // namespace taker
