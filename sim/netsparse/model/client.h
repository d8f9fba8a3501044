// Client units: from idxs to PRs, and from responses to host memory.
#pragma once

#include "addresses.h"
#include "idx_filter.h"
#include "pending_table.h"
#include "work_queue.h"

namespace client {

constexpr Int START = 5;     // cycles from a request that is taken to the first ask for its idxs
constexpr Int STARTS = 3;    // between two of these, at least
constexpr Int ASKS = 2;      // from an ask that is taken to the next one
constexpr Int GIVE = 1;      // from the last beat of a chunk to its first idx's being given
constexpr Int SET = 1;       // from a property in host memory to its set
constexpr Int FREE = 2;      // from an entry's being given back to another idx's getting it
constexpr Int ENDS = 2;      // from a request's end to its report

// Free the entries that nobody needs any more.
inline void free_entries(State &s, Client &client, List &list, Int t) {
    while (list.count && s.prs[list.first].time <= t)
        client.pending[list.pop(s.prs) % s.k.entries] = NONE;
}

// Give an entry back.
inline void release(State &s, Int pr, List &list, Int t) {
    s.prs[pr].time = t + FREE;
    --s.requests[s.prs[pr].request].open;
    list.push(s.prs, pr);
}

// Ask host memory for the next chunk of idxs.
inline void ask(State &s, Int n, Client &client, Int t) {
    const Shape &k = s.k;
    const Request &request = s.requests[client.asking];
    bool starts = client.fetched == request.first;
    if (t < client.request_time || t < request.begins + START) return;
    if (starts && t < client.start_time) return;
    if (starts) client.start_time = t + STARTS;
    client.request_address = request.address + k.idx_bytes * (client.fetched - request.first);
    Int span = k.chunk_bytes - client.request_address % k.chunk_bytes;
    Int end = std::min(request.end, client.fetched + span / k.idx_bytes);
    client.request_bytes = k.idx_bytes * (end - client.fetched);
    client.chunks[(client.chunk + client.chunk_count++) % CHUNKS] = {end, NEVER};
    client.fetched = end;
    client.request_time = NEVER;
    if (end == request.end) ++client.asking;
    turns::ask(s.nodes[n].reads.turns, &client - &s.clients[n * k.clients]);
}

// The ask is taken: it is known when the chunk comes.
inline void fetch(State &s, Int n, Int unit, Int t) {
    Client &client = s.clients[n * s.k.clients + unit];
    Node &node = s.nodes[n];
    Int come = host_memory::read(s, node, t, client.request_address, client.request_bytes);
    client.chunks[(client.chunk + client.chunk_count - 1) % CHUNKS].time = come + GIVE;
    client.request_time = t + ASKS;
    turns::leave(node.reads.turns, unit);
}

// Free the entry of the oldest result if its bit is set; else a PR goes on its way.
inline void heed_filter(State &s, Int n, Client &client, Int t) {
    const Slot &result = client.results.items[0];
    if (result.bit) {
        ++client.counts.filtered;
        release(s, result.pr, client.released, t);
        --s.nodes[n].inside;
    } else if (client.transmitting == s.k.transmit) {
        ++client.counts.transmit_stall;
        return;
    } else {
        ++client.counts.prs;
        s.prs[result.pr].time = t + s.k.solver;
        ++client.transmitting;
        s.nodes[n].solving.push(s.prs, result.pr);
    }
    client.results.pop(t);
}

// Let slots go whose answers have come: of a lookup to its result, of a set to its entry.
inline void end_slots(State &s, Client &client, Int t) {
    if (client.lookups.ends(t) && client.results.room(t))
        client.results.push(client.lookups.pop(t));
    if (client.ended != NONE) {
        release(s, client.ended, client.freeing, t);
    }
    client.ended = client.sets.ends(t) ? client.sets.pop(t).pr : NONE;
}

// Give a lookup or a set a slot, and ask the filter, if there is one.
inline void enter(State &s, Client &client, Slots &slots, Int pr, Int t) {
    s.prs[pr].slot = slots.push(pr, s.k.filter ? NEVER : t);
    s.prs[pr].sets = &slots == &client.sets;
    if (s.k.filter) client.output.push(pr);
}

// Let the next set, or else the next new idx, into the LSQ; idxs that others have entries of go.
inline void use_filter(State &s, Int n, Client &client, Int t) {
    bool passes = !s.k.filter || client.output.room(t);
    bool sets = client.writing.count && s.prs[client.writing.first].time <= t &&
                client.sets.room(t);
    if (sets && passes) {
        Int pr = client.writing.pop(s.prs);
        enter(s, client, client.sets, pr, t);
    }
    if (!client.looked.count) return;
    Looked next = client.looked.items[0];
    if (next.pr == NONE) {
        ++client.counts.coalesced;
        --s.requests[next.request].open;
        --s.nodes[n].inside;
        client.looked.pop(t);
    } else if (client.lookups.room(t) && passes && !(sets && s.k.filter)) {
        enter(s, client, client.lookups, client.looked.pop(t).pr, t);
    } else {
        ++client.counts.filter_stall;
    }
}

// Look an idx up in the Pending PR Table: it has an entry, or gets one as soon as one is free.
// One that has an entry, and could get none, takes two cycles.
inline void look_up(State &s, Client &client, Int t) {
    Idx &idx = client.looking;
    pending_table::Place place = pending_table::look_up(s, client, idx.need);
    if (!client.seen) client.found = place.found;
    client.seen = 1;
    bool hit = client.found != NONE;
    if (place.free == NONE && !hit) ++client.counts.table_stall;
    if ((place.free == NONE && !client.known) || !client.looked.room(t)) {
        client.known = hit;
        return;
    }
    if (hit) {
        client.looked.push({NONE, idx.request});
    } else {
        Int pr = (&client - s.clients.data()) * s.k.entries + place.free;
        client.pending[place.free] = idx.need;
        s.prs[pr].need = idx.need;
        s.prs[pr].request = idx.request;
        client.looked.push({pr, idx.request});
    }
    client.seen = client.known = 0;
    idx.need = EMPTY;
}

// Let idxs move on to the Pending PR Table; the node's own ones end before.
inline void move_on(State &s, Int n, Client &client, Int t) {
    if (client.looking.need != EMPTY) look_up(s, client, t);
    if (client.looking.need == EMPTY && client.asked.need != EMPTY) {
        std::swap(client.looking, client.asked);
        ++client.number;
    }
    bool held = client.kept.need != EMPTY;
    if (client.judged.need == NONE) {
        ++client.counts.local;
        --s.requests[client.judged.request].open;
        --s.nodes[n].inside;
        client.judged.need = EMPTY;
    } else if (!held) {
        std::swap(client.kept, client.judged);
    }
    if (client.asked.need == EMPTY) std::swap(client.asked, client.kept);
    if (client.judged.need == EMPTY) std::swap(client.judged, client.waiting);
}

// Take the next idx, if the one before it has moved on.
inline void consume(State &s, Int n, Client &client, Int t) {
    if (client.given.need == EMPTY) {
        ++client.counts.idx_stall;
    } else if (client.waiting.need == EMPTY) {
        ++client.counts.consumed;
        ++s.nodes[n].inside;
        Request &request = s.requests[client.current];
        ++request.open;
        client.waiting = {client.given.need, client.current};
        client.given.need = EMPTY;
        if (++client.taken == request.end) {
            request.given = 1;
            ++client.current;
            ++s.nodes[n].given;
        }
    }
    Chunk &chunk = client.chunks[client.chunk];
    if (client.given.need != EMPTY || !client.chunk_count || t < chunk.time) return;
    client.given.need = s.stream[client.position];
    if (++client.position < chunk.end) return;
    client.chunk = (client.chunk + 1) % CHUNKS;
    if (client.chunk_count-- == CHUNKS) client.request_time = std::max(client.request_time, t + ASKS);
}

// A response has come: its property is to be written.
inline void receive(State &s, Node &node, Int pr) {
    Client &client = s.clients[pr / s.k.entries];
    ++client.counts.responses;
    client.came[client.came[0] != NONE] = pr;
    ++node.matching;
}

// Let responses move on to their writes.
inline void match(State &s, Node &node, Int unit, Client &client, Int t) {
    Addresses &offers = client.offers;
    client.takes = client.came[1] == NONE;
    bool goes = client.matched != NONE && t >= client.free && offers.move(t);
    if (offers.inside || goes) addresses::move(s, offers, goes ? client.matched : NONE, t);
    if (offers.found.count) turns::ask(node.writes.turns, unit);
    if (goes) {
        client.matched = NONE;
        client.free = t + s.k.property_beats;
    }
    if (client.matched != NONE) return;
    client.matched = client.looked_up;
    client.looked_up = client.came[0];
    client.came[0] = client.came[1];
    client.came[1] = NONE;
}

// A property is taken: it is known when it is there.
inline void write(State &s, Int n, Int unit, Int t) {
    Client &client = s.clients[n * s.k.clients + unit];
    Node &node = s.nodes[n];
    Int pr = addresses::take(s, client.offers, t);
    Int written = host_memory::write(s, node, t, s.address_of(pr), s.k.property_bytes);
    --node.matching;
    s.prs[pr].time = written + SET;
    client.writing.push(s.prs, pr);
    if (!client.offers.found.count) turns::leave(node.writes.turns, unit);
}

// Let the host be told of the oldest request if it is done.
inline void end_oldest(State &s, Int n, Client &client, Int t) {
    Request &request = s.requests[client.oldest];
    if (!request.given || request.open) return;
    request.ends = std::min(request.ends, t + ENDS);
    if (t < request.ends || t < client.report_time) return;
    turns::ask(s.nodes[n].reports, &client - &s.clients[n * s.k.clients]);
}

// In each cycle what is ahead moves first, so that what is behind it finds room.
inline void step(State &s, Int t) {
    for (Int c = 0; c < Int(s.clients.size()); ++c) {
        Client &client = s.clients[c];
        if (client.oldest == client.behind) continue;
        Int n = c / s.k.clients;
        Node &node = s.nodes[n];
        end_oldest(s, n, client, t);
        free_entries(s, client, client.released, t);
        free_entries(s, client, client.freeing, t);
        if (client.results.count) heed_filter(s, n, client, t);
        end_slots(s, client, t);
        if (client.output.count && idx_filter::takes(client))
            idx_filter::ask(s, node, client, client.output.pop(t), t);
        idx_filter::hear(s, client, t);
        use_filter(s, n, client, t);
        move_on(s, n, client, t);
        if (client.current != client.unsent) consume(s, n, client, t);
        if (client.chunk_count < CHUNKS && client.asking != client.unsent) ask(s, n, client, t);
    }
}

}  // namespace client
