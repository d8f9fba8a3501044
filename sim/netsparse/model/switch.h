// Switches with middle pipes: gates, pipes with their caches, and what leaves them.
#pragma once

#include "maker.h"
#include "property_cache.h"
#include "taker.h"

namespace middle {

constexpr Int READ_COST = 2;  // beats of a packet of one read
constexpr Int PORT = 4;       // cycles from a beat's coming to its leaving the gate
constexpr Int CROSS = 0;      // to the pipe
constexpr Int GATE = 2;       // from a packet's PR to the cache
constexpr Int MISS = 1;       // behind the cache
constexpr Int ANSWER = 2;     // to the way out of responses
constexpr Int PASSING = 2;    // responses that wait for it
constexpr Int PATIENCE = 127; // cycles without room for a response, until a group of hits ends

// Let the first packet of a port in, if there is room for what becomes of it.
inline void enter(State &s, Int tor, Int port, Int kind, Int t) {
    const Shape &k = s.k;
    Switch &by = s.switches[tor];
    LinkClass &from = s.links[by.in[port]].kinds[kind];
    Int number = from.incoming.first;
    Packet &packet = s.packets[number];
    if (packet.time + PORT > t) return;
    Int egress = by.route[packet.dest];
    Pipe &pipe = s.pipes[tor * k.pipes + (kind == READS ? egress : port) % k.pipes];
    PipeClass &to = pipe.kinds[kind];
    if (to.free > t || to.inside > k.pipe_beats - k.packet_beats) return;
    Int &room = (kind == READS ? by.read_room : pipe.response_room)[egress];
    if (room < (kind == READS ? k.read_from : k.response_from)) {
        ++by.waits[kind][port];
        return;
    }
    room -= kind == READS ? k.read_packet : k.response_packet;
    from.incoming.pop(s.packets);
    Int beats = packet.beats();
    from.level -= beats;
    to.inside += beats;
    to.free = t + beats;
    packet.ends = std::max(t + beats - 1, packet.ends + PORT) + CROSS;
    packet.room = egress;
    packet.uplink = (kind == READS ? egress : port) >= k.nodes_per_rack;
    to.entering.push(s.packets, number);
}

inline void step_gates(State &s, Int t) {
    for (Int tor = 0; tor < s.k.racks; ++tor)
        for (Int kind : {READS, RESPONSES})
            for (Int turn = 0; turn < s.k.ports; ++turn) {
                Int port = (t + turn) % s.k.ports;
                if (s.links[s.switches[tor].in[port]].kinds[kind].incoming.count)
                    enter(s, tor, port, kind, t);
            }
}

// A middle pipe at work: its two makers and takers have the same numbers.
struct Work {
    State &s;
    Pipe &pipe;
    Switch &tor;
    Int reads, responses;

    Taker &taker(Int kind) { return s.takers[kind == READS ? reads : responses]; }

    const Packet &packet(Int kind) { return s.packets[taker(kind).packet]; }

    // Take the next packet apart; what it cannot become is given back.
    void begin(Int kind, Int t) {
        if (taker(kind).left) return;
        Int number = taker::take_packet(s, kind == READS ? reads : responses,
                                        pipe.kinds[kind].entering, t);
        if (number == NONE) return;
        const Packet &one = s.packets[number];
        if (kind == READS)
            tor.read_room[one.room] += s.k.read_packet - READ_COST * one.prs;
        else
            pipe.response_room[one.room] += s.k.response_packet - s.k.response_cost * one.prs;
    }

    bool response_goes(Int t) {
        return taker::offers(taker(RESPONSES), t) && pipe.passing.count < PASSING;
    }

    bool looks_up() { return s.k.cache && packet(READS).uplink; }

    bool inserts() { return s.k.cache && packet(RESPONSES).uplink; }

    bool read_goes(Int t) {
        if (!taker::offers(taker(READS), t) || pipe.misses.count >= s.k.cache_room) return false;
        if (!looks_up()) return true;
        Int home = tor.route[s.node_of(taker(READS).pr)];
        bool open = pipe.response_room[home] >= s.k.item_from;
        pipe.lacks = open ? 0 : pipe.lacks + 1;
        if (pipe.lacks > PATIENCE) end(pipe.hit);
        return pipe.hits.count < s.k.cache_room && open;
    }

    bool joins() { return s.makers[reads].joins; }

    // Let a PR go its way behind the one before it of its packet.
    void follow(Int &before, Int pr) {
        if (before != NONE) s.prs[before].edge = INNER;
        s.prs[pr].edge = UNKNOWN;
        before = pr;
    }

    // What went this way last is the last of its group.
    void end(Int &before) {
        if (before == NONE) return;
        s.prs[before].edge = LAST;
        if (&before == &pipe.hit) ++pipe.groups;
        before = NONE;
    }

    // Let a read and a response go on; only one of them has the cache in a cycle.
    void access(Int t) {
        bool response = response_goes(t), read = read_goes(t);
        if (response && read && inserts() && looks_up()) {
            pipe.turn = 1 - pipe.turn;
            (pipe.turn ? read : response) = false;
        }
        if (response)
            pass_response(t);
        else if (taker::offers(taker(RESPONSES), t))
            taker::hold(taker(RESPONSES));
        if (read)
            pass_read(t);
        else if (taker::offers(taker(READS), t))
            taker::hold(taker(READS));
    }

    void pass_response(Int t) {
        Int pr = taker(RESPONSES).pr;
        if (inserts()) property_cache::insert(s.k, pipe, s.idx_of(pr));
        s.prs[pr].edge = joins() || taker(RESPONSES).left == 1 ? LAST : INNER;
        pipe.kinds[RESPONSES].inside -= taker::take_pr(s, responses, s.k.property_beats);
        s.prs[pr].time = t + s.k.property_beats - 1;
        pipe.passing.push(s.prs, pr);
    }

    void pass_read(Int t) {
        Int pr = taker(READS).pr, egress = packet(READS).room;
        bool hit = looks_up() && property_cache::look_up(s.k, pipe, s.idx_of(pr));
        bool last = joins() || taker(READS).left == 1;
        pipe.kinds[READS].inside -= taker::take_pr(s, reads, 1);
        s.prs[pr].time = t + GATE + s.k.cache_latency;
        if (hit) {
            tor.read_room[egress] += READ_COST;
            pipe.response_room[tor.route[s.node_of(pr)]] -= s.k.response_cost;
        }
        (hit ? pipe.hits : pipe.misses).push(s.prs, pr);
        follow(hit ? pipe.hit : pipe.missed, pr);
        if (!last) return;
        end(pipe.hit);
        end(pipe.missed);
    }

    // Put the next read into a packet.
    void leave_read(Int t) {
        if (!pipe.misses.count || s.prs[pipe.misses.first].time + MISS > t ||
            s.prs[pipe.misses.first].edge == UNKNOWN || !maker::can_join(s.makers[reads]))
            return;
        Int pr = pipe.misses.pop(s.prs);
        Int dest = s.owner[s.prs[pr].need], port = tor.route[dest];
        bool last = s.prs[pr].edge == LAST;
        tor.read_room[port] += READ_COST - maker::join(s, reads, pr, dest, port, t, last);
    }

    // Whether the next hit may go: all of its group are there, or as many as fit.
    bool hits_go() {
        return s.prs[pipe.hits.first].edge != UNKNOWN &&
               (pipe.held || pipe.groups || pipe.hits.count >= s.k.cache_room);
    }

    // Put the next hit, or the next response that passes, into a packet, in turn by groups.
    void leave_response(Int t) {
        if (t < pipe.answer_time || !maker::can_join(s.makers[responses])) return;
        for (Int way : {pipe.answer_turn, 1 - pipe.answer_turn}) {
            List &list = way ? pipe.hits : pipe.passing;
            if (pipe.held && way != pipe.answer_turn) continue;
            if (!list.count || s.prs[list.first].time + ANSWER > t) continue;
            if (way && !hits_go()) continue;
            Int pr = list.pop(s.prs), dest = s.node_of(pr), port = tor.route[dest];
            bool last = s.prs[pr].edge == LAST;
            if (way) pipe.groups -= last;
            pipe.held = !last && !(way && (!list.count || s.prs[list.first].edge == UNKNOWN));
            pipe.answer_turn = pipe.held ? way : 1 - way;
            pipe.answer_time = t + s.k.property_beats;
            pipe.response_room[port] +=
                s.k.response_cost - maker::join(s, responses, pr, dest, port, t, last);
            return;
        }
    }
};

inline void step_pipes(State &s, Int t) {
    for (Int number = 0; number < Int(s.pipes.size()); ++number) {
        Int m = s.k.nodes + number;
        Work work{s, s.pipes[number], s.switches[number / s.k.pipes], m, s.points() + m};
        work.begin(READS, t);
        work.begin(RESPONSES, t);
        if (s.takers[work.reads].left || s.takers[work.responses].left) work.access(t);
        work.leave_read(t);
        work.leave_response(t);
    }
}

}  // namespace middle
