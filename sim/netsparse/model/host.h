// Hosts: each submits requests and looks at completions, by registers one after another, by rings
// as many as there are.
#pragma once

#include "work_queue.h"

namespace host {

constexpr Int WRITE = 3;      // in which a host writes a register, one transfer behind another
constexpr Int VALID = 4;      // in which it reads one, as whether there is a completion
constexpr Int TURN = 6;       // longer, if it has written just before: TURN_NS of `host_device.py`
constexpr Int FIELDS = 9;     // registers of a request, with the one that submits it
constexpr Int SUBMIT = FIELDS * WRITE + TURN + VALID;  // it writes a request, reads if it was taken
constexpr Int TAKEN = FIELDS * WRITE + 1;  // from the first of them to the unit's taking it
constexpr Int SEEN = 1;       // from an interrupt to when a host that goes to sleep sees it
constexpr Int COMPLETE = 4 * VALID + WRITE;  // in which it reads a completion by registers
constexpr Int SHOWN = 0;      // from a completion to when a read that begins finds it
constexpr Int DESCRIPTOR = 1; // in which it writes a descriptor
constexpr Int TOLD = 2;       // from the beginning of a doorbell's write to the SNIC's knowing
constexpr Int DOORBELL = 3;   // in which a host writes a doorbell
constexpr Int ENTRY = 2;      // in which it looks at an entry of the completion ring, or reads it
constexpr Int LOOK = 8;       // between two looks that find none

// Submit a client's next request, if it has one.
inline bool submit(State &s, Int n, Client &client, Int t) {
    if (client.unsent == client.behind) return false;
    s.requests[client.unsent].begins = t + TAKEN;
    s.nodes[n].coming.push(s.requests, client.unsent++);
    return true;
}

// The next client whose turn it is to get a first request: as many as its queue holds.
inline Int next_first(State &s, Int n) {
    Node &node = s.nodes[n];
    Int client = n * s.k.clients + node.unit;
    if (++node.unit == s.k.clients) {
        node.unit = 0;
        ++node.round;
    }
    return client;
}

// Submit the next request that fills the queues of all clients, in turn; whether there was one.
inline bool submit_first(State &s, Int n, Int t) {
    while (s.nodes[n].round < s.k.commands)
        if (submit(s, n, s.clients[next_first(s, n)], t)) {
            s.nodes[n].host_time = t + SUBMIT;
            return true;
        }
    return false;
}

// Read a completion; the client whose request it was.
inline Int take_completion(State &s, Int n, List &from) {
    Node &node = s.nodes[n];
    Int request = from.pop(s.requests), c = n * s.k.clients;
    --node.left;
    while (s.clients[c].behind <= request) ++c;
    return c;
}

// What a host with registers does next: it looks for a completion, and sleeps if there is none.
inline void use_registers(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    if (submit_first(s, n, t)) return;
    Int shown = !node.sleeps ? SHOWN - node.turn : node.host_time < t ? 0 : SEEN;
    if (node.completed.count && s.requests[node.completed.first].time + shown <= t) {
        node.host_time = t + node.turn + COMPLETE;
        Client &client = s.clients[take_completion(s, n, node.completed)];
        node.turn = submit(s, n, client, node.host_time) ? 0 : TURN;
        if (!node.turn) node.host_time += SUBMIT;
        node.sleeps = false;
    } else if (!node.left) {
        node.done = t;
    } else if (!node.sleeps) {
        node.host_time = t + node.turn + VALID;
        node.turn = 0;
        node.sleeps = true;
        ++node.looked;
    }
}

// Have a client's next request written to the ring, if it has one.
inline void make_due(State &s, Int n, Int c) {
    Client &client = s.clients[c];
    if (client.unsent < client.behind) s.nodes[n].due.push(s.requests, client.unsent++);
}

// Tell the SNIC how many descriptors were written, and entries read.
inline void ring_doorbell(Node &node, Int t) {
    node.reported_before = node.told;
    node.told = node.entries_read;
    node.reported_time = t + TOLD;
    node.host_time = t + DOORBELL;
    ++node.doorbells;
}

// Write descriptors of requests that are due, as many as the ring has places for, then ring the
// doorbell; whether there were any.
inline bool write_descriptors(State &s, Node &node, Int t) {
    Int count = std::min(node.due.count, s.k.rings - (node.produced - node.consumed));
    if (!count) return false;
    node.produced += count;
    ring_doorbell(node, t + DESCRIPTOR * count);
    while (count--) {
        Int request = node.due.pop(s.requests);
        s.requests[request].time = node.reported_time;
        node.written.push(s.requests, request);
    }
    return true;
}

// The host has found no more entries: it tells so if those that it read are many, writes the
// requests that they have made room for, and looks again, a while later if there were none.
inline void end_look(State &s, Node &node, Int t) {
    if (node.entries_read - node.told > s.k.rings / 2) return ring_doorbell(node, t);
    node.looks = RESTS;
    if (!node.found) node.host_time = t + LOOK;
    if (node.found) write_descriptors(s, node, t);
    node.found = 0;
}

// Read the next entry of the ring, if it is there.
inline void read_entry(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    node.looks = READS_ENTRIES;
    node.host_time = t + ENTRY;
    if (!node.entries.count || s.requests[node.entries.first].time > t) {
        node.looks = ENDS;
        return;
    }
    node.host_time += ENTRY;
    const Request &request = s.requests[node.entries.first];
    node.consumed = request.consumer;
    ++node.entries_read;
    ++node.found;
    make_due(s, n, take_completion(s, n, node.entries));
}

// What a host with rings does next: it reads entries until there is none.
inline void use_rings(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    if (node.round < s.k.commands) {
        while (node.round < s.k.commands) make_due(s, n, next_first(s, n));
        if (write_descriptors(s, node, t)) return;
    }
    if (node.looks == ENDS) end_look(s, node, t);
    if (node.host_time > t) return;
    if (node.looks == READS_ENTRIES || node.left)
        read_entry(s, n, t);
    else if (node.told != node.entries_read)
        ring_doorbell(node, t);
    else
        node.done = t;
}

// The number of hosts that have not ended.
inline Int step(State &s, Int t) {
    Int busy = 0;
    for (Int n = 0; n < s.k.nodes; ++n) {
        Node &node = s.nodes[n];
        if (node.done != NONE) continue;
        ++busy;
        work_queue::give(s, node, t);
        if (s.k.rings) work_queue::step_rings(s, node, t);
        if (t < node.host_time) continue;
        if (s.k.rings)
            use_rings(s, n, t);
        else
            use_registers(s, n, t);
    }
    return busy;
}

}  // namespace host
