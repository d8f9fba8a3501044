// What a SNIC's units share: the way of PRs out, and of reads and responses in.
#pragma once

#include "client.h"
#include "inlet.h"
#include "maker.h"
#include "taker.h"

namespace node {

constexpr Int READS_UNDER_PATH = 64;  // of a server
constexpr Int ANSWER = 1;            // from a property to its answer

// PRs that have come to where they wait for their turn.
template <typename Wait>
void arrive(State &s, List &list, Int t, Wait wait) {
    while (list.count && s.prs[list.first].time <= t) wait(list.pop(s.prs));
}

// Put a PR of the next client that has one into a packet.
inline void send(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    Client *clients = &s.clients[n * s.k.clients];
    arrive(s, node.solving, t, [&](Int pr) {
        s.clients[pr / s.k.entries].sending.push(s.prs, pr);
        turns::ask(node.sends, pr / s.k.entries - n * s.k.clients);
    });
    if (!node.sends.waiting) return;
    Int place = turns::take(node.sends, 1, inlet::room(s.makers[n], t), t);
    if (place == NONE) return;
    Client &client = clients[place];
    Int pr = client.sending.pop(s.prs);
    if (!client.sending.count) turns::leave(node.sends, place);
    --client.transmitting;
    --node.inside;
    inlet::push(s.makers[n], pr);
}

// Let the next beat of an answer go, which gives a beat of the server's buffer back.
inline void answer(State &s, Int n, Int m, Int t) {
    Node &node = s.nodes[n];
    Maker &maker = s.makers[m];
    Server *servers = &s.servers[n * s.k.servers];
    bool room = inlet::room(maker, t);
    arrive(s, node.reading, t, [&](Int pr) {
        servers[s.prs[pr].server].answers.push(s.prs, pr);
        turns::ask(node.answers, s.prs[pr].server);
    });
    if (node.answers.last >= t) {
        if (room) {
            inlet::push(maker, NONE);
            ++servers[node.answers.chosen].returning;
        } else {
            ++node.answers.last;
        }
    }
    if (!node.answers.waiting) return;
    Int place = turns::take(node.answers, s.k.property_beats, room, t);
    if (place == NONE) return;
    Server &server = servers[place];
    Int pr = server.answers.pop(s.prs);
    if (!server.answers.count) turns::leave(node.answers, place);
    ++server.returning;
    --server.heads;
    ++server.served;
    inlet::push(maker, pr);
}

// Let a server look for room for the property of its next read, and ask for it.
inline void serve(State &s, Node &node, Int place, Server &server, Int t) {
    const Int beats = s.k.property_beats;
    server.takes = server.waiting[1] == NONE;
    bool goes = server.judged != NONE && server.enough && server.heads < READS_UNDER_PATH &&
                server.asks.move(t);
    server.enough = server.room >= (goes ? 2 : 1) * beats;
    if (goes || server.asks.inside) addresses::move(s, server.asks, goes ? server.judged : NONE, t);
    if (server.asks.found.count) turns::ask(node.reads.turns, s.k.clients + place);
    if (goes) {
        s.prs[server.judged].server = place;
        server.room -= beats;
        ++server.heads;
    }
    if (server.returning) {
        --server.returning;
        ++server.room;
    }
    if (!goes && server.judged != NONE) return;
    server.judged = server.waiting[0];
    server.waiting[0] = server.waiting[1];
    server.waiting[1] = NONE;
}

// A server's ask is taken: it is known when the property comes.
inline void fetch(State &s, Int n, Int place, Int t) {
    Node &node = s.nodes[n];
    Server &server = s.servers[n * s.k.servers + place];
    Int pr = addresses::take(s, server.asks, t);
    s.prs[pr].time = host_memory::read(s, node, t, s.address_of(pr), s.k.property_bytes) + ANSWER;
    node.reading.push(s.prs, pr);
    if (!server.asks.found.count) turns::leave(node.reads.turns, s.k.clients + place);
}

// Let units and rings take turns at reading host memory.
inline void read_host(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    if (!node.reads.turns.waiting) return;
    Int unit = turns::take(node.reads.turns, 1, node.reads.free <= t, t);
    if (unit == work_queue::rings(s))
        work_queue::read(s, node, t);
    else if (unit >= s.k.clients)
        fetch(s, n, unit - s.k.clients, t);
    else if (unit != NONE)
        client::fetch(s, n, unit, t);
}

// Let units and rings take turns at writing to it.
inline void write_host(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    Turns &turns = node.writes.turns;
    if (!turns.waiting) return;
    Int beats = turns.chosen == work_queue::rings(s) ? 1 : s.k.property_beats;
    Int unit = turns::take(turns, beats, node.writes.free <= t, t);
    if (unit == work_queue::rings(s))
        work_queue::write(s, node, t);
    else if (unit != NONE)
        client::write(s, n, unit, t);
}

// Give the next read to the next server that takes one.
inline void take_read(State &s, Int n, LinkClass &link, Int t) {
    Node &node = s.nodes[n];
    Taker &taker = s.takers[n];
    if (!taker.left) taker::take_packet(s, n, link.incoming, t);
    if (!taker::offers(taker, t)) return;
    Server *servers = &s.servers[n * s.k.servers];
    Int place =
        turns::next(node.serve_turn, s.k.servers, [&](Int k) { return servers[k].takes; });
    if (place == NONE) return;
    node.serve_turn = place;
    Int *waiting = servers[place].waiting;
    waiting[waiting[0] != NONE] = taker.pr;
    s.give(link, taker::take_pr(s, n, 1, t), t);
}

// Give the next response to the client that waits for it.
inline void take_response(State &s, Int n, Int m, LinkClass &link, Int t) {
    Node &node = s.nodes[n];
    Taker &taker = s.takers[m];
    if (!taker.left) taker::take_packet(s, m, link.incoming, t);
    Int pr = node.responds;  // in a StreamSkid
    if (pr == NONE && taker::offers(taker, t)) {
        pr = taker.pr;
        s.give(link, taker::take_pr(s, m, s.k.property_beats, t), t);
    }
    if (pr == NONE) return;
    Client &client = s.clients[pr / s.k.entries];
    node.responds = client.takes ? NONE : pr;
    if (client.takes) client::receive(s, node, pr);
}

inline void step(State &s, Int t) {
    for (Int n = 0; n < s.k.nodes; ++n) {
        Node &node = s.nodes[n];
        Int responses = s.points() + n;
        Link &down = s.links[node.uplink + 1];
        work_queue::report(s, n, t);
        inlet::step(s, n, t);
        inlet::step(s, responses, t);
        send(s, n, t);
        answer(s, n, responses, t);
        read_host(s, n, t);
        write_host(s, n, t);
        idx_filter::step(s, n, t);
        for (Int k = 0; k < s.k.servers; ++k) {
            Server &server = s.servers[n * s.k.servers + k];
            if (!server.rests()) serve(s, node, k, server, t);
        }
        for (Int k = 0; k < s.k.clients && node.matching; ++k)
            client::match(s, node, k, s.clients[n * s.k.clients + k], t);
        take_read(s, n, down.kinds[READS], t);
        take_response(s, n, responses, down.kinds[RESPONSES], t);
    }
}

}  // namespace node
