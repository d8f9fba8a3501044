// Hosts: each submits requests and looks at completions, one after another.
#pragma once

#include "state.h"

namespace host {

// Submit a client's next request, if it has one.
inline bool submit(State &s, Int n, Client &client, Int t) {
    if (client.unsent == client.behind) return false;
    s.requests[client.unsent++].begins = t + s.k.submit + s.k.submit_after;
    ++s.nodes[n].submitted;
    return true;
}

// Fill the queues of all clients, a request each in turn.
inline void submit_first(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    while (node.round < s.k.commands) {
        Client &client = s.clients[n * s.k.clients + node.unit];
        if (++node.unit == s.k.clients) {
            node.unit = 0;
            ++node.round;
        }
        if (submit(s, n, client, t)) {
            node.host_time = t + s.k.submit;
            return;
        }
    }
}

// Read a completion, and submit the next request of its client.
inline void complete(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    Int request = node.completed.pop(s.requests);
    --node.left;
    node.host_time = t + s.k.complete;
    Int c = n * s.k.clients;
    while (s.clients[c].behind <= request) ++c;
    if (submit(s, n, s.clients[c], t + s.k.complete)) node.host_time += s.k.submit;
}

// The number of hosts that have not ended.
inline Int step(State &s, Int t) {
    Int busy = 0;
    for (Int n = 0; n < s.k.nodes; ++n) {
        Node &node = s.nodes[n];
        if (node.done) continue;
        ++busy;
        if (t < node.host_time) continue;
        if (node.round < s.k.commands)
            submit_first(s, n, t);
        else if (node.completed.count && s.requests[node.completed.first].time <= t)
            complete(s, n, t);
        else if (!node.left)
            node.done = t;
    }
    return busy;
}

}  // namespace host
