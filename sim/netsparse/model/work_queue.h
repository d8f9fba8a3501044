// A SNIC's queue of work requests and completions, and the rings that it reads and writes.
#pragma once

#include "host_memory.h"
#include "turns.h"

namespace work_queue {

constexpr Int REPORT = 3;   // cycles between the ends of two requests of a unit, at least
constexpr Int SHOWN = 2;    // from a unit's report to the queue's end
constexpr Int LOOKS = 2;    // between two looks at how many descriptors there are
constexpr Int ASK = 2;      // from the doorbell's number to an ask for a descriptor, at least
constexpr Int ASKS = 3;     // between two asks, at least
constexpr Int JUDGED = 2;   // from a descriptor to the queue
constexpr Int GIVE = 1;     // from there to the unit
constexpr Int GIVES = 2;    // between two requests that leave the queue, and until one has left
constexpr Int WAKES = 2;    // before a unit takes a request: then the flush, later in the RTL, ends
constexpr Int ENTRIES = 2;  // between two entries, at least
constexpr Int ENTRY = 16;   // bytes

// Rings are behind all units.
inline Int rings(const State &s) { return s.k.clients + s.k.servers; }

// Let the next unit whose oldest request has ended tell so.
inline void report(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    if (!node.reports.waiting) return;
    Int unit = turns::take(node.reports, 1, true, t);
    if (unit == NONE) return;
    Client &client = s.clients[n * s.k.clients + unit];
    turns::leave(node.reports, unit);
    client.report_time = t + REPORT;
    ++client.counts.commands;
    s.requests[client.oldest].time = t + SHOWN;
    node.completed.push(s.requests, client.oldest++);
}

// Count requests that units take: while there is one without its idxs no packet is flushed.
inline void give(State &s, Node &node, Int t) {
    while (node.coming.count && s.requests[node.coming.first].begins - WAKES <= t) {
        node.coming.pop(s.requests);
        ++node.submitted;
    }
}

// Ask for the next descriptor, if there is one and room for it: in every second cycle the SNIC
// looks.
inline void ask(State &s, Node &node, Int t) {
    if (t < node.request_time || (t - node.request_time) % LOOKS) return;
    if (!node.written.count || s.requests[node.written.first].time + ASK > t) return;
    if (node.descriptors[node.asked % s.k.descriptors].given + GIVES > t) return;
    turns::ask(node.reads.turns, rings(s));
    node.request_time = NEVER;
}

// The ask is taken: the descriptor comes, and waits for those before it to go to their units.
inline void read(State &s, Node &node, Int t) {
    Int number = node.written.pop(s.requests), last = node.asked + s.k.descriptors - 1;
    Int come = host_memory::read(s, node, t, 0, BEAT);
    Int given = std::max(come + JUDGED, node.descriptors[last % s.k.descriptors].given + GIVES);
    node.descriptors[node.asked++ % s.k.descriptors] = {come, given};
    s.requests[number].begins = given + GIVE;
    node.coming.push(s.requests, number);
    turns::leave(node.reads.turns, rings(s));
    node.request_time = t + ASKS;
}

// The number of descriptors that had come before cycle `t`.
inline Int come_before(const Node &node, Int t) {
    return node.asked - std::count_if(node.descriptors.begin(), node.descriptors.end(),
                                      [&](const Descriptor &one) { return one.come >= t; });
}

// Make the next entry of the completion ring, if there is a place that the host has read.
inline void make_entry(State &s, Node &node, Int t) {
    if (node.entry != NONE) return turns::ask(node.writes.turns, rings(s));
    if (t < node.entry_time || !node.completed.count) return;
    Int read = t > node.reported_time ? node.told : node.reported_before;
    if (s.requests[node.completed.first].time > t || node.entries_built - read >= s.k.rings) return;
    node.entry = node.completed.pop(s.requests);
    node.entry_time = t + ENTRIES;
    ++node.entries_built;
    s.requests[node.entry].consumer = come_before(node, t);
}

// The entry is taken: the host can read it from when it is on W.
inline void write(State &s, Node &node, Int t) {
    host_memory::write(s, node, t, 0, ENTRY);
    s.requests[node.entry].time = node.writes.data - 1;
    node.entries.push(s.requests, node.entry);
    node.entry = NONE;
    node.entry_time = std::max(node.entry_time, t + 1);
    turns::leave(node.writes.turns, rings(s));
}

inline void step_rings(State &s, Node &node, Int t) {
    ask(s, node, t);
    make_entry(s, node, t);
}

}  // namespace work_queue
