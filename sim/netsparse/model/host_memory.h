// A node's way to host memory: requests inside lines of 128 bytes, answered in order. What a
// request costs is known when it is asked for, as nothing overtakes on the way.
#pragma once

#include "state.h"

namespace host_memory {

constexpr Int LINE = 128;
constexpr Int ASK = 5;     // cycles from a unit's ask to `arvalid`
constexpr Int ANSWER = 3;  // from a beat of R to the unit
constexpr Int WRITE = 7;   // from a property's first beat to `wvalid`
constexpr Int DONE = 2;    // from B to the unit

// Where the request ends that begins at `at`, of an access from `first` to `end`.
inline Int piece_end(const State &s, Int at, Int first, Int end) {
    Int found = std::min(end, (at / LINE + 1) * LINE);
    return s.k.aligned ? found : std::min(found, first + ((at - first) / LINE + 1) * LINE);
}

inline Int beats_between(Int at, Int to) { return (to - 1) / BEAT - at / BEAT + 1; }

// The cycle in which the last beat of `size` bytes from address `first` on has come.
inline Int read(State &s, Node &node, Int time, Int first, Int size) {
    Bus &bus = node.reads;
    for (Int at = first, to; at < first + size; at = to) {
        to = piece_end(s, at, first, first + size);
        Int beats = beats_between(at, to);
        Int &due = bus.due[bus.place];
        bus.issue = std::max({time + ASK, bus.issue + 1, due + 1}) + s.stalled(s.k.ar_stall, 1);
        bus.data = std::max(bus.issue + s.k.read_latency - 1, bus.data) + beats +
                   s.stalled(s.k.r_stall, beats);
        due = bus.data;
        bus.place = (bus.place + 1) % s.k.host_requests;
        ++bus.requests;
    }
    ++bus.properties;
    return bus.data + ANSWER;
}

// The cycle in which a unit knows that its `size` bytes are there.
inline Int write(State &s, Node &node, Int time, Int first, Int size) {
    Bus &bus = node.writes;
    Int done = time;
    for (Int at = first, to; at < first + size; at = to) {
        to = piece_end(s, at, first, first + size);
        Int beats = beats_between(at, to);
        Int &due = bus.due[bus.place];
        bus.issue = std::max({time + WRITE, bus.issue + 1, due + 1}) + s.stalled(s.k.aw_stall, 1);
        bus.data = std::max(bus.issue, bus.data) + beats + s.stalled(s.k.w_stall, beats);
        done = bus.data + s.k.write_latency + s.stalled(s.k.b_stall, 1);
        due = done;
        bus.place = (bus.place + 1) % s.k.host_requests;
        ++bus.requests;
    }
    ++bus.properties;
    return done + DONE;
}

}  // namespace host_memory
