// Switches with middle pipes: gates, pipes with their caches, and what leaves them.
#pragma once

#include "maker.h"
#include "property_cache.h"
#include "taker.h"
#include "turns.h"

namespace middle {

constexpr Int READ_COST = 2;  // beats of a packet of one read
constexpr Int PORT = 3;       // cycles from a beat's coming to its standing at the gate
constexpr Int CROSS = 1;      // to the pipe
constexpr Int VERDICT = 8;    // from a packet's last beat to when its unneeded room is free
constexpr Int CREDIT = 7;     // from a PR's last beat to when what it does not need is free
constexpr Int PATIENCE = 127; // cycles without room for a response, until a group of hits ends

// The pipe whose gate the first packet of a port stands at, or NONE.
inline Pipe *pipe_at(State &s, Int tor, Int port, Int kind, Int t) {
    const Shape &k = s.k;
    Switch &by = s.switches[tor];
    const LinkClass &from = s.links[by.in[port]].kinds[kind];
    if (!from.incoming.count || from.passing >= t) return nullptr;
    const Packet &packet = s.packets[from.incoming.first];
    if (packet.time + PORT > t) return nullptr;
    Int egress = by.egress(kind, port, packet.dest);
    Pipe &pipe = s.pipes[tor * k.pipes + (kind == READS ? egress : port) % k.pipes];
    bool opens = kind == READS
                     ? by.read_room[egress].opens(t, k.read_from, k.read_packet)
                     : pipe.response_room[egress].opens(t, k.response_from, k.response_packet);
    if (opens) return &pipe;
    ++by.waits[kind][port];
    return nullptr;
}

// Let the first packet of a port into its pipe, with room for what becomes of it.
inline void enter(State &s, Int tor, Pipe &pipe, Int port, Int kind, Int t) {
    const Shape &k = s.k;
    Switch &by = s.switches[tor];
    LinkClass &from = s.links[by.in[port]].kinds[kind];
    PipeClass &to = pipe.kinds[kind];
    Int number = from.incoming.pop(s.packets);
    Packet &packet = s.packets[number];
    Int egress = by.egress(kind, port, packet.dest), beats = packet.beats();
    s.give(from, beats, t);
    to.inside += beats;
    from.passing = to.turns.last = std::max(t + beats - 1, packet.ends + PORT);
    packet.ends = from.passing + CROSS;
    Room &room = (kind == READS ? by.read_room : pipe.response_room)[egress];
    Int claim = kind == READS ? k.read_packet : k.response_packet;
    room.enter(t, claim);
    claim -= packet.prs * (kind == READS ? READ_COST : k.response_cost);
    room.change(t, packet.ends + VERDICT, claim);
    packet.room = egress;
    packet.uplink = (kind == READS ? egress : port) >= k.nodes_per_rack;
    to.entering.push(s.packets, number);
}

// Packets of all ports enter their pipes in turn; a packet stays whole.
inline void step_gates(State &s, Int t) {
    const Shape &k = s.k;
    for (Int tor = 0; tor < k.racks; ++tor)
        for (Int kind : {READS, RESPONSES}) {
            Int waiting = 0;
            for (Int port = 0; port < k.ports; ++port) {
                Pipe *pipe = pipe_at(s, tor, port, kind, t);
                if (!pipe) continue;
                turns::ask(pipe->kinds[kind].turns, port);
                ++waiting;
            }
            for (Int number = 0; number < k.pipes && waiting; ++number) {
                Pipe &pipe = s.pipes[tor * k.pipes + number];
                PipeClass &to = pipe.kinds[kind];
                bool ready = to.inside <= k.pipe_beats - k.packet_beats;
                Int port = to.turns.waiting ? turns::take(to.turns, 2, ready, t) : NONE;
                to.turns.waiting = 0;
                if (port != NONE) enter(s, tor, pipe, port, kind, t);
            }
        }
}

// A middle pipe at work: its two makers and takers have the same numbers. Both classes come by a
// skid, in which one PR waits; what is ahead moves first.
struct Work {
    State &s;
    Pipe &pipe;
    Switch &tor;
    Int reads, responses;

    Int number(Int kind) { return kind == READS ? reads : responses; }

    // Let the next PR of a class into its skid, if none waits there.
    void come(Int kind, Int t) {
        Taker &taker = s.takers[number(kind)];
        if (!taker.left) taker::take_packet(s, number(kind), pipe.kinds[kind].entering, t);
        if (pipe.kinds[kind].comes != NONE || !taker::offers(taker, t)) return;
        const Packet &packet = s.packets[taker.packet];
        Pr &pr = s.prs[pipe.kinds[kind].comes = taker.pr];
        pr.egress = packet.room;
        pr.cached = s.k.cache && packet.uplink;
        pr.edge = joins() || taker.left == 1 ? LAST : INNER;
        Int beats = kind == READS ? 1 : s.k.property_beats;
        pipe.kinds[kind].inside -= taker::take_pr(s, number(kind), beats, t);
    }

    bool joins() { return s.makers[reads].joins; }

    // The room at the port by which responses go to a PR's node.
    Room &response_room(Int pr) { return pipe.response_room[tor.hit_route[s.node_of(pr)]]; }

    // Keep the property that has been gathered, unless a read goes first that has waited for one.
    bool insert() {
        bool goes = pipe.gathered != NONE && !pipe.turn;
        if (!goes) return false;
        property_cache::insert(s.k, pipe, s.idx_of(pipe.gathered));
        pipe.gathered = NONE;
        return true;
    }

    // Whether the read at the gate has room for what may become of it.
    bool has_room(Int t) {
        Int pr = pipe.gate;
        if (pipe.misses.count >= s.k.cache_room) return false;
        if (!s.prs[pr].cached) return true;
        bool open = response_room(pr).opens_to_item(t, s.k.item_from);
        pipe.lacks = open ? 0 : pipe.lacks + 1;
        return pipe.hits.count < s.k.cache_room && open;
    }

    // Let the read at the gate look its property up, if no property is kept in this cycle.
    void look_up(Int t) {
        bool inserts = insert(), waits = false;
        if (pipe.gate != NONE && has_room(t)) {
            waits = s.prs[pipe.gate].cached && inserts;
            if (!waits) pass_read(t);
        }
        if (pipe.lacks > PATIENCE) end(pipe.hit, t);
        pipe.turn = waits && !pipe.turn;
        if (pipe.gate == NONE) std::swap(pipe.gate, pipe.kinds[READS].comes);
    }

    // Let a PR go its way behind the one before it of its packet, of which now more is known.
    void follow(Int &before, Int pr) {
        if (before != NONE) {
            s.prs[before].edge = INNER;
            s.prs[before].time = s.prs[pr].time;
        }
        s.prs[pr].edge = UNKNOWN;
        before = pr;
    }

    // What went this way last is the last of its group, as is known from `time` on.
    void end(Int &before, Int time) {
        if (before == NONE) return;
        s.prs[before].edge = LAST;
        s.prs[before].time = std::max(s.prs[before].time, time);
        before = NONE;
    }

    void pass_read(Int t) {
        Int pr = pipe.gate;
        bool last = s.prs[pr].edge == LAST;
        bool hit = s.prs[pr].cached && property_cache::look_up(s.k, pipe, s.idx_of(pr));
        Int time = s.prs[pr].time = t + s.k.cache_latency;
        if (s.prs[pr].cached) response_room(pr).change(t, t, -s.k.response_cost);
        if (hit) {
            tor.read_room[s.prs[pr].egress].change(t, time, READ_COST);
            s.prs[pr].egress = tor.hit_route[s.node_of(pr)];
        } else if (s.prs[pr].cached)
            response_room(pr).change(t, time, s.k.response_cost);
        Int &before = hit ? pipe.hit : pipe.missed;
        bool follows = before != NONE;
        (hit ? pipe.hits : pipe.misses).push(s.prs, pr);
        follow(before, pr);
        pipe.gate = NONE;
        if (!last) return;
        end(pipe.hit, time + (hit && follows));
        end(pipe.missed, time + (!hit && follows));
    }

    // Put the next read into a packet, as soon as it is known whether it is the last of a group.
    void leave_read(Int t) {
        if (!pipe.misses.count || s.prs[pipe.misses.first].time >= t ||
            s.prs[pipe.misses.first].edge == UNKNOWN || !maker::can_join(s.makers[reads]))
            return;
        Int pr = pipe.misses.pop(s.prs);
        Int dest = s.owner[s.prs[pr].need], port = tor.route[dest];
        bool last = s.prs[pr].edge == LAST;
        Int grows = maker::join(s, reads, pr, dest, port, t, last);
        tor.read_room[port].change(t, t + CREDIT, READ_COST - grows);
    }

    // Whether hits may go: all of a group are there, or as many as fit.
    bool hits_go(Int t) {
        if (pipe.held) return true;
        for (Int pr = pipe.hits.first, k = 0; k < pipe.hits.count; pr = s.prs[pr].next, ++k) {
            if (s.prs[pr].edge == UNKNOWN || s.prs[pr].time >= t) return k + 1 >= s.k.cache_room;
            if (s.prs[pr].edge == LAST) return true;
        }
        return false;
    }

    // Whether a response passes, and its property can be gathered; or a hit.
    bool waits(Int way, Int t) {
        return way ? hits_go(t) : pipe.kinds[RESPONSES].comes != NONE && pipe.gathered == NONE;
    }

    // Let a hit or a response that passes on to where it is put into a packet, in turn by groups.
    void pass_response(Int t) {
        Int way = pipe.way;
        bool comes = pipe.path_last < t && waits(way, t);
        if (comes && !pipe.leaving.room(t)) return;
        if (comes) {
            Int pr = way ? pipe.hits.pop(s.prs) : std::exchange(pipe.kinds[RESPONSES].comes, NONE);
            pipe.path_last = t + s.k.property_beats - 1;
            pipe.held = s.prs[pr].edge != LAST;
            if (way && pipe.held)
                pipe.held = pipe.hits.count && s.prs[pipe.hits.first].edge != UNKNOWN;
            if (!way && s.prs[pr].cached) {
                pipe.gathering = pr;
                pipe.gather_time = pipe.path_last + 1;
            }
            pipe.leaving.push(pr);
        }
        if (pipe.held || pipe.path_last > t) return;
        if (waits(1 - way, t)) pipe.way = 1 - way;
    }

    // Put the next response into a packet.
    void leave_response(Int t) {
        if (!pipe.leaving.count || !maker::can_join(s.makers[responses])) return;
        Int pr = pipe.leaving.items[0], dest = s.node_of(pr), port = s.prs[pr].egress;
        if (maker::displaces(s, responses, dest, port, t)) return;
        pipe.leaving.pop(t);
        bool last = s.prs[pr].edge == LAST;
        Int grows = maker::join(s, responses, pr, dest, port, t, last);
        Int whole = t + s.k.property_beats - 1;
        pipe.response_room[port].change(t, whole + CREDIT, s.k.response_cost - grows);
    }

    void step(Int t) {
        leave_read(t);
        leave_response(t);
        if (pipe.gathering != NONE && pipe.gather_time <= t)
            pipe.gathered = std::exchange(pipe.gathering, NONE);
        come(READS, t);
        come(RESPONSES, t);
        look_up(t);
        pass_response(t);
    }
};

inline void step_pipes(State &s, Int t) {
    for (Int number = 0; number < Int(s.pipes.size()); ++number) {
        Int m = s.k.nodes + number;
        Work{s, s.pipes[number], s.switches[number / s.k.pipes], m, s.points() + m}.step(t);
    }
}

}  // namespace middle
