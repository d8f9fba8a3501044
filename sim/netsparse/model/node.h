// What a SNIC's units share: the way of PRs out, and of reads and responses in.
#pragma once

#include "client.h"
#include "maker.h"
#include "taker.h"

namespace node {

constexpr Int READS_UNDER_WAY = 64;  // of a server
constexpr Int ASK = 6;               // cycles from a read to its ask
constexpr Int ANSWER = 2;            // from a property to its answer
constexpr Int DISPATCH = 1;          // from a packet's PR to the servers
constexpr Int WAITING = 2;           // reads that wait for a server, beside those in packets

// Put a PR of the next client that has one into a packet.
inline void send(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    for (Int turn = 1; turn <= s.k.clients; ++turn) {
        Int place = (node.send_turn + turn) % s.k.clients;
        Client &client = s.clients[n * s.k.clients + place];
        if (!client.sending.count || s.prs[client.sending.first].time > t) continue;
        if (!maker::can_join(s.makers[n])) {
            ++s.traffic[n].stall;
            return;
        }
        Int pr = client.sending.pop(s.prs);
        node.send_turn = place;
        --node.sends;
        --node.inside;
        maker::join(s, n, pr, s.owner[s.prs[pr].need], 0, t);
        return;
    }
}

// Put the next answer into a packet.
inline void answer(State &s, Int n, Int m, Int t) {
    Node &node = s.nodes[n];
    for (Int turn = 1; turn <= s.k.servers; ++turn) {
        Int place = (node.answer_turn + turn) % s.k.servers;
        Server &server = s.servers[n * s.k.servers + place];
        if (!server.answers.count || s.prs[server.answers.first].time > t) continue;
        if (!maker::can_join(s.makers[m])) {
            ++s.traffic[m].stall;
            return;
        }
        Int pr = server.answers.pop(s.prs);
        node.answer_turn = place;
        --node.answers;
        node.answer_time = t + s.k.property_beats;
        server.room += s.k.property_beats;
        --server.heads;
        ++server.served;
        maker::join(s, m, pr, s.node_of(pr), 0, t);
        return;
    }
}

// Let the next server that has room read a property.
inline void dispatch(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    if (s.prs[node.asking.first].time > t) return;
    for (Int turn = 1; turn <= s.k.servers; ++turn) {
        Int place = (node.serve_turn + turn) % s.k.servers;
        Server &server = s.servers[n * s.k.servers + place];
        if (server.room < s.k.property_beats || server.heads == READS_UNDER_WAY) continue;
        Int pr = node.asking.pop(s.prs);
        node.serve_turn = place;
        server.room -= s.k.property_beats;
        ++server.heads;
        s.prs[pr].server = place;
        s.prs[pr].time = t + ASK;
        node.seeking.push(s.prs, pr);
        return;
    }
}

// Ask host memory for properties whose addresses are known.
inline void seek(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    while (node.seeking.count && s.prs[node.seeking.first].time <= t) {
        Int pr = node.seeking.pop(s.prs), place = s.prs[pr].server;
        s.servers[n * s.k.servers + place].asks.push(s.prs, pr);
        turns::ask(node.reads.turns, s.k.clients + place);
    }
}

// A server's ask is taken: it is known when the property comes.
inline void fetch(State &s, Int n, Int place, Int t) {
    Node &node = s.nodes[n];
    Server &server = s.servers[n * s.k.servers + place];
    Int pr = server.asks.pop(s.prs);
    Int come = host_memory::read(s, node, t, s.address_of(pr), s.k.property_bytes);
    s.prs[pr].time = come + ANSWER;
    server.answers.push(s.prs, pr);
    ++node.answers;
    if (!server.asks.count) turns::leave(node.reads.turns, s.k.clients + place);
}

// Let units and rings take turns at host memory.
inline void reach_host(State &s, Int n, Int t) {
    Node &node = s.nodes[n];
    if (node.seeking.count) seek(s, n, t);
    if (node.arriving.count) client::offer(s, n, t);
    if (node.reads.turns.waiting) {
        Int unit = turns::take(node.reads.turns, node.reads.free <= t);
        if (unit == work_queue::rings(s))
            work_queue::read(s, node, t);
        else if (unit >= s.k.clients)
            fetch(s, n, unit - s.k.clients, t);
        else if (unit != NONE)
            client::fetch(s, n, unit, t);
    }
    if (node.writes.turns.waiting) {
        Int unit = turns::take(node.writes.turns, node.writes.free <= t);
        if (unit == work_queue::rings(s))
            work_queue::write(s, node, t);
        else if (unit != NONE)
            client::write(s, n, unit, t);
    }
}

// Give the next read to the servers.
inline void take_read(State &s, Int n, LinkClass &link, Int t) {
    Taker &taker = s.takers[n];
    if (!taker.left) taker::take_packet(s, n, link.incoming, t);
    if (!taker::offers(taker, t)) return;
    if (s.nodes[n].asking.count == WAITING) return taker::hold(taker);
    Int pr = taker.pr;
    link.level -= taker::take_pr(s, n, 1);
    s.prs[pr].time = t + DISPATCH;
    s.nodes[n].asking.push(s.prs, pr);
}

// Give the next response to the client that waits for it.
inline void take_response(State &s, Int n, Int m, LinkClass &link, Int t) {
    Taker &taker = s.takers[m];
    if (!taker.left) taker::take_packet(s, m, link.incoming, t);
    if (!taker::offers(taker, t)) return;
    Int pr = taker.pr;
    const Client &client = s.clients[pr / s.k.entries];
    if (client.buffered + s.k.property_beats > s.k.buffer_beats) return taker::hold(taker);
    link.level -= taker::take_pr(s, m, s.k.property_beats);
    client::receive(s, s.nodes[n], pr, t);
}

inline void step(State &s, Int t) {
    for (Int n = 0; n < s.k.nodes; ++n) {
        Node &node = s.nodes[n];
        Int responses = s.points() + n;
        Link &down = s.links[node.uplink + 1];
        if (node.sends) send(s, n, t);
        if (node.answers && t >= node.answer_time) answer(s, n, responses, t);
        if (node.asking.count) dispatch(s, n, t);
        take_read(s, n, down.kinds[READS], t);
        take_response(s, n, responses, down.kinds[RESPONSES], t);
        work_queue::report(s, n, t);
        reach_host(s, n, t);
    }
}

}  // namespace node
