// Client units: from idxs to PRs, and from responses to host memory.
#pragma once

#include "idx_filter.h"
#include "pending_table.h"
#include "work_queue.h"

namespace client {

constexpr Int START = 5;      // cycles from a request that is taken to the first ask for its idxs
constexpr Int STARTS = 3;     // between two of these, at least
constexpr Int ASKS = 2;       // from an ask that is taken to the next one
constexpr Int GIVE = 7;       // from the last beat of a chunk to its first idx's lookup
constexpr Int NO_FILTER = 2;  // from a lookup to its answer, without a filter
constexpr Int MATCH = 7;      // from a response to its write
constexpr Int SET = 2;        // from a property in host memory to its set
constexpr Int FREE = 2;       // from a set bit to a free entry

inline void free_entry(State &s, Client &client, Int pr) {
    client.pending[pr % s.k.entries] = NONE;
    --s.requests[s.prs[pr].request].open;
}

// Free the entries that nobody needs any more.
inline void free_entries(State &s, Client &client, List &list, Int t) {
    while (list.count && s.prs[list.first].time <= t) free_entry(s, client, list.pop(s.prs));
}

// Ask host memory for the next chunk of idxs.
inline void ask(State &s, Int n, Client &client, Int t) {
    const Shape &k = s.k;
    const Request &request = s.requests[client.asking];
    bool starts = client.asked == request.first;
    if (t < client.ask_time || t < request.begins + START) return;
    if (starts && t < client.start_time) return;
    if (starts) client.start_time = t + STARTS;
    client.ask_address = request.address + k.idx_bytes * (client.asked - request.first);
    Int span = k.chunk_bytes - client.ask_address % k.chunk_bytes;
    Int end = std::min(request.end, client.asked + span / k.idx_bytes);
    client.ask_bytes = k.idx_bytes * (end - client.asked);
    client.chunks[(client.chunk + client.chunk_count++) % CHUNKS] = {end, NEVER};
    client.asked = end;
    client.ask_time = NEVER;
    if (end == request.end) ++client.asking;
    turns::ask(s.nodes[n].reads.turns, &client - &s.clients[n * k.clients]);
}

// The ask is taken: it is known when the chunk comes.
inline void fetch(State &s, Int n, Int unit, Int t) {
    Client &client = s.clients[n * s.k.clients + unit];
    Node &node = s.nodes[n];
    Int come = host_memory::read(s, node, t, client.ask_address, client.ask_bytes);
    client.chunks[(client.chunk + client.chunk_count - 1) % CHUNKS].time = come + GIVE;
    client.ask_time = t + ASKS;
    turns::leave(node.reads.turns, unit);
}

// Take an entry and ask the filter.
inline void enter(State &s, Int n, Client &client, Int need, Int entry, Int t) {
    Int pr = (&client - s.clients.data()) * s.k.entries + entry;
    Pr &one = s.prs[pr];
    client.pending[entry] = need;
    ++client.number;
    one.need = need;
    one.request = client.current;
    ++s.requests[client.current].open;
    idx_filter::Answer answer = {t + NO_FILTER, t};
    if (s.k.filter) answer = idx_filter::look_up(s, n, client, need, t);
    Int place = (client.lookup + client.lookup_count++) % s.k.lookup_slots;
    client.lookups[place] = {pr, answer.time, answer.seen};
    ++s.nodes[n].inside;
}

// Look at the next idx: is it remote, under way, or to be asked for?
inline void consume(State &s, Int n, Client &client, Int t, bool blocked) {
    Chunk &chunk = client.chunks[client.chunk];
    ClientCounts &counts = client.counts;
    if (t < chunk.time) {
        ++counts.idx_stall;
        return;
    }
    Int need = s.stream[client.position];
    pending_table::Place place;
    if (need != NONE) place = pending_table::look_up(s, client, need);
    if (need == NONE) {
        ++counts.local;
    } else if (place.found != NONE) {
        ++counts.coalesced;
    } else if (place.free == NONE) {
        ++counts.table_stall;
        return;
    } else if (client.lookup_count == s.k.lookup_slots || blocked) {
        ++counts.filter_stall;
        return;
    } else {
        enter(s, n, client, need, place.free, t);
    }
    ++counts.consumed;
    if (++client.position == chunk.end) {
        client.chunk = (client.chunk + 1) % CHUNKS;
        --client.chunk_count;
    }
    if (client.position == s.requests[client.current].end) {
        s.requests[client.current++].given = 1;
        ++s.nodes[n].given;
    }
}

// Free the entry of the oldest lookup if its bit is set; else a PR goes on its way.
inline void heed_filter(State &s, Int n, Client &client, Int t) {
    const Lookup &lookup = client.lookups[client.lookup];
    Node &node = s.nodes[n];
    if (t < lookup.time) return;
    if (s.k.filter && s.bit[s.prs[lookup.pr].need] <= lookup.seen) {
        ++client.counts.filtered;
        s.prs[lookup.pr].time = t + FREE;
        client.released.push(s.prs, lookup.pr);
        --node.inside;
    } else if (client.sending.count == s.k.transmit) {
        ++client.counts.transmit_stall;
        return;
    } else {
        ++client.counts.prs;
        s.prs[lookup.pr].time = t + s.k.solver;
        client.sending.push(s.prs, lookup.pr);
        ++node.sends;
    }
    client.lookup = (client.lookup + 1) % s.k.lookup_slots;
    --client.lookup_count;
}

// A response has come: its property is to be written.
inline void receive(State &s, Node &node, Int pr, Int t) {
    Client &client = s.clients[pr / s.k.entries];
    ++client.counts.responses;
    client.buffered += s.k.property_beats;
    s.prs[pr].time = t + MATCH;
    node.arriving.push(s.prs, pr);
}

// Offer properties to the way to host memory.
inline void offer(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    while (node.arriving.count && s.prs[node.arriving.first].time <= t) {
        Int pr = node.arriving.pop(s.prs), c = pr / s.k.entries;
        s.clients[c].offered.push(s.prs, pr);
        turns::ask(node.writes.turns, c - n * s.k.clients);
    }
}

// A property is taken: it is known when it is there.
inline void write(State &s, Int n, Int unit, Int t) {
    Client &client = s.clients[n * s.k.clients + unit];
    Node &node = s.nodes[n];
    Int pr = client.offered.pop(s.prs);
    Int written = host_memory::write(s, node, t, s.address_of(pr), s.k.property_bytes);
    client.buffered -= s.k.property_beats;
    s.prs[pr].time = written + SET;
    client.writing.push(s.prs, pr);
    if (!client.offered.count) turns::leave(node.writes.turns, unit);
}

// Set the bit of the property that was written first, if the LSQ has a slot for it.
inline bool set_next(State &s, Int n, Client &client, Int t) {
    if (!client.writing.count || t < s.prs[client.writing.first].time ||
        t < client.set_free[client.set])
        return false;
    Int pr = client.writing.pop(s.prs);
    Int done = t + NO_FILTER;
    if (s.k.filter) done = idx_filter::set_bit(s, n, client, s.prs[pr].need, t);
    client.set_done = std::max(done, client.set_done + 1);
    client.set_free[client.set] = client.set_done;
    client.set = (client.set + 1) % s.k.set_slots;
    s.prs[pr].time = client.set_done + FREE;
    client.freeing.push(s.prs, pr);
    return true;
}

// Let the host be told of the oldest request if it is done.
inline void end_oldest(State &s, Int n, Client &client, Int t) {
    const Request &request = s.requests[client.oldest];
    if (!request.given || request.open || t < client.report_time) return;
    turns::ask(s.nodes[n].reports, &client - &s.clients[n * s.k.clients]);
}

inline void step(State &s, Int t) {
    for (Int c = 0; c < Int(s.clients.size()); ++c) {
        Client &client = s.clients[c];
        if (client.oldest == client.behind) continue;
        Int n = c / s.k.clients;
        free_entries(s, client, client.released, t);
        free_entries(s, client, client.freeing, t);
        bool sets = set_next(s, n, client, t);
        if (client.lookup_count) heed_filter(s, n, client, t);
        if (client.chunk_count)
            consume(s, n, client, t, sets && s.k.filter);
        else if (client.current != client.unsent)
            ++client.counts.idx_stall;
        if (client.chunk_count < CHUNKS && client.asking != client.unsent)
            ask(s, n, client, t);
        end_oldest(s, n, client, t);
    }
}

}  // namespace client
