// A node's way to host memory: requests inside lines of 128 bytes, answered in order. What a
// request costs is known when it is asked for, as nothing overtakes on the way.
#pragma once

#include "state.h"

namespace host_memory {

constexpr Int LINE = 128;
constexpr Int SPLIT = 2;   // cycles from the arbiter to the splitter's first request, at least
constexpr Int ANSWER = 3;  // from a beat of R to the unit
constexpr Int LANES = 2;   // from R to the next request, if the lanes of all others wait
constexpr Int DATA = 3;    // from a request at the port to `wvalid`
constexpr Int DONE = 2;    // from B to the unit

// Where the request ends that begins at `at`, of an access from `first` to `end`.
inline Int piece_end(const State &s, Int at, Int first, Int end) {
    Int found = std::min(end, (at / LINE + 1) * LINE);
    return s.k.aligned ? found : std::min(found, first + ((at - first) / LINE + 1) * LINE);
}

inline Int beats_between(Int at, Int to) { return (to - 1) / BEAT - at / BEAT + 1; }

// The arbiter takes a property of so many beats: it goes through two registers, each of which holds
// two, to where it is split into requests.
inline void take(Bus &bus, Int time, Int beats) {
    Int passed = std::max({time + 1, bus.passed[1] + 1, bus.split[0] + 1});
    Int split = std::max(passed + 1, bus.step);
    bus.free = std::max(time + beats, (beats > 1 ? passed + beats - 2 : bus.passed[1]) + 1);
    bus.passed[0] = bus.passed[1];
    bus.passed[1] = passed + beats - 1;
    bus.split[0] = bus.split[1];
    bus.split[1] = split;
    bus.step = std::max(bus.step, split);
    ++bus.properties;
}

// The next request of the property that was taken last; `due` is when there is room for it.
inline void issue(Bus &bus, Int due, Int stalled) {
    bus.step = std::max(bus.step + 1, bus.ready);
    bus.ready = std::max({bus.step + 1, bus.issue, due});
    bus.issue = bus.ready + 1 + stalled;
    ++bus.requests;
}

// The lanes of a request wait for its beats in a queue one shorter than requests may be under way.
// They leave it with the beat before their last one, which may be the former request's.
// The arbiter takes a read: the cycle in which the last beat of `size` bytes from address `first`
// on has come. A beat of the bus that completes two of the unit's holds up those behind it.
inline Int read(State &s, Node &node, Int time, Int first, Int size) {
    Bus &bus = node.reads;
    take(bus, time, 1);
    Int given = 0;
    for (Int at = first, to; at < first + size; at = to) {
        to = piece_end(s, at, first, first + size);
        Int beats = beats_between(at, to);
        Int former = bus.data;
        issue(bus, bus.due[(bus.place + 1) % s.k.host_requests], s.stalled(s.k.ar_stall, 1));
        bus.data = std::max(bus.issue + s.k.read_latency - 1, bus.data) + beats +
                   s.stalled(s.k.r_stall, beats);
        for (Int beat = 1; beat <= beats; ++beat) {
            Int got = std::min((at / BEAT + beat) * BEAT, to) - first, whole = got / BEAT;
            if (got == size) whole = beats_between(0, size);
            for (; given < whole; ++given)
                bus.given = std::max(bus.data - beats + beat + ANSWER, bus.given + 1);
        }
        bus.due[bus.place] = (beats > 1 ? bus.data - 1 : former) + LANES;
        bus.place = (bus.place + 1) % s.k.host_requests;
    }
    return bus.given;
}

// The arbiter takes a property to be written: the cycle in which a unit knows that its `size` bytes
// are there.
inline Int write(State &s, Node &node, Int time, Int first, Int size) {
    Bus &bus = node.writes;
    take(bus, time, (size + BEAT - 1) / BEAT);
    Int done = time;
    for (Int at = first, to; at < first + size; at = to) {
        to = piece_end(s, at, first, first + size);
        Int beats = beats_between(at, to);
        Int &due = bus.due[bus.place];
        issue(bus, due, s.stalled(s.k.aw_stall, 1));
        bus.data = std::max({bus.ready + DATA, bus.issue + 2, bus.data}) + beats +
                   s.stalled(s.k.w_stall, beats);
        done = bus.data - 1 + s.k.write_latency + s.stalled(s.k.b_stall, 1);
        due = done + 1;
        bus.place = (bus.place + 1) % s.k.host_requests;
    }
    return done + DONE;
}

}  // namespace host_memory
