// Hosts: each submits requests and looks at completions, by registers one after another, by rings
// as many as there are.
#pragma once

#include "host_memory.h"

namespace host {

constexpr Int WORDS = 36;      // cycles in which a host writes a request's registers
constexpr Int REFUSED = 5;     // in which it reads whether the request was refused
constexpr Int COMPLETE = 24;   // in which it reads a completion by registers
constexpr Int DESCRIPTOR = 1;  // in which it writes a descriptor
constexpr Int TOLD = 3;        // from the beginning of a doorbell's write to the SNIC's knowing
constexpr Int DOORBELL = 4;    // in which a host writes a doorbell
constexpr Int ENTRY = 2;       // in which it reads an entry of the completion ring
constexpr Int LOOK = 8;        // between two looks that find none
constexpr Int ASK = 3;         // from the SNIC's knowing of a descriptor to its ask
constexpr Int ASKS = 3;        // between two asks
constexpr Int LOOKS = 2;       // between two of the SNIC's looks at how many it was told of
constexpr Int BEGIN = 1;       // from a descriptor to a request, as one that a register submits

// Submit a client's next request, if it has one.
inline bool submit(State &s, Int n, Client &client, Int t) {
    if (client.unsent == client.behind) return false;
    s.requests[client.unsent++].begins = t + WORDS;
    ++s.nodes[n].submitted;
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

// Fill the queues of all clients, a request each in turn.
inline void submit_first(State &s, Int n, Int t) {
    while (s.nodes[n].round < s.k.commands)
        if (submit(s, n, s.clients[next_first(s, n)], t)) {
            s.nodes[n].host_time = t + WORDS + REFUSED;
            return;
        }
}

// Read a completion; the client whose request it was.
inline Int take_completion(State &s, Int n) {
    Node &node = s.nodes[n];
    Int request = node.completed.pop(s.requests), c = n * s.k.clients;
    --node.left;
    while (s.clients[c].behind <= request) ++c;
    return c;
}

// What a host with registers does next.
inline void use_registers(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    if (node.round < s.k.commands) return submit_first(s, n, t);
    if (node.completed.count && s.requests[node.completed.first].time <= t) {
        node.host_time = t + COMPLETE;
        Client &client = s.clients[take_completion(s, n)];
        if (submit(s, n, client, node.host_time)) node.host_time += WORDS + REFUSED;
    } else if (!node.left) {
        node.done = t;
    }
}

// Have a client's next request written to the ring, if it has one.
inline void make_due(State &s, Int n, Int c) {
    Client &client = s.clients[c];
    if (client.unsent < client.behind) s.nodes[n].due.push(s.requests, client.unsent++);
}

// Write descriptors of all requests that are due, and ring the doorbell.
inline void ring_doorbell(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    Int rung = t + DESCRIPTOR * node.due.count;
    while (node.due.count) {
        Int request = node.due.pop(s.requests);
        s.requests[request].time = rung + TOLD + ASK;
        node.told.push(s.requests, request);
    }
    node.host_time = rung + DOORBELL;
}

// What a host with rings does next: it reads entries until there is none, then it writes all
// requests that these have made room for.
inline void use_rings(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    if (node.round < s.k.commands) {
        while (node.round < s.k.commands) make_due(s, n, next_first(s, n));
        if (node.due.count) return ring_doorbell(s, n, t);
    }
    if (!node.left && !node.found) {
        node.done = t;
        return;
    }
    node.host_time = t + ENTRY;
    if (node.completed.count && s.requests[node.completed.first].time <= t) {
        node.found = 1;
        make_due(s, n, take_completion(s, n));
        return;
    }
    if (node.due.count)
        ring_doorbell(s, n, node.host_time);
    else if (!node.found)
        node.host_time += LOOK;
    node.found = 0;
}

// Read descriptors, from the ring's beginning on, while there is room for them; requests that have
// come begin.
inline void fetch_descriptor(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    if (node.coming.count && s.requests[node.coming.first].begins <= t) {
        node.coming.pop(s.requests);
        ++node.submitted;
    }
    if (!node.told.count || node.coming.count == s.k.descriptors || t < node.ask_time) return;
    if (s.requests[node.told.first].time > t || (t - node.ask_time) % LOOKS) return;
    Int request = node.told.pop(s.requests);
    s.requests[request].begins = host_memory::read(s, node, t, 0, BEAT) + BEGIN;
    node.coming.push(s.requests, request);
    node.ask_time = t + ASKS;
}

// The number of hosts that have not ended.
inline Int step(State &s, Int t) {
    Int busy = 0;
    for (Int n = 0; n < s.k.nodes; ++n) {
        Node &node = s.nodes[n];
        if (node.done) continue;
        ++busy;
        if (node.told.count || node.coming.count) fetch_descriptor(s, n, t);
        if (t < node.host_time) continue;
        if (s.k.rings)
            use_rings(s, n, t);
        else
            use_registers(s, n, t);
    }
    return busy;
}

}  // namespace host
