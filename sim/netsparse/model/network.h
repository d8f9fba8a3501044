// Links, and switches that only forward.
#pragma once

#include "turns.h"
#include "maker.h"

namespace network {

constexpr Int LINK = 3;     // cycles that a link takes beside its latency
constexpr Int SEEN = 1;     // from a packet's first beat at a link's end to its being counted
constexpr Int PORT = 2;     // through a port of a switch
constexpr Int CROSS = 1;    // from there to the next link, in a switch without middle pipes

// Free what a packet took where it was made; only the first link behind it does.
inline void hand_back(State &s, const Packet &packet, Int t) {
    if (packet.room == NONE) return;
    Maker &maker = s.makers[packet.maker];
    if (maker.pipe == NONE) {
        maker.outlet.passing = packet.beats();
    } else {
        auto &room = maker.kind == READS ? s.switches[maker.tor].read_room
                                         : s.pipes[maker.pipe].response_room;
        for (Int beat = 0; beat < packet.beats(); ++beat)
            room[packet.room].change(t, t + beat - (maker.kind == RESPONSES), 1);
    }
}

// Let a packet go over a link.
inline void start(State &s, Link &link, Int kind, Int t) {
    LinkClass &of = link.kinds[kind];
    Int number = of.outgoing.pop(s.packets);
    Packet &packet = s.packets[number];
    Int beats = packet.beats(), way = LINK + s.k.link_latency;
    Int lasts = beats + s.stalled(s.k.in_stall, beats);
    link.free = t + lasts;
    link.turn = 1 - kind;
    of.feed.last = t + lasts - 2;  // when its last beat has left the switch
    if (of.from != NONE) s.links[of.from].kinds[kind].passing = of.feed.last;
    packet.time = std::max(t + way, of.out) + s.stalled(s.k.out_stall, 1);
    packet.ends = std::max(t + lasts - 1 + way, packet.time + beats - 1) +
                  s.stalled(s.k.out_stall, beats - 1);
    of.out = packet.ends + 1;
    s.first_packet = std::min(s.first_packet, packet.time + SEEN);
    of.credits.taken += beats;
    ++of.packets;
    of.bytes += packet.bytes;
    hand_back(s, packet, t);
    of.incoming.push(s.packets, number);
}

// All links: a packet begins where the last one has ended.
inline void step_links(State &s, Int t) {
    for (Link &link : s.links) {
        if (t < link.free) continue;
        for (Int kind : {link.turn, 1 - link.turn}) {
            LinkClass &of = link.kinds[kind];
            if (of.outgoing.count && s.packets[of.outgoing.first].time <= t &&
                of.credits.level(t) <= link.room) {
                start(s, link, kind, t);
                break;
            }
        }
    }
}

// The link that the first packet of a port goes on to, if it is there and none is still passing.
inline Int next_link(const State &s, const Switch &by, Int port, Int kind, Int t) {
    const LinkClass &from = s.links[by.in[port]].kinds[kind];
    if (!from.incoming.count || from.passing >= t) return NONE;
    const Packet &packet = s.packets[from.incoming.first];
    if (packet.time + PORT > t) return NONE;
    return by.out[by.egress(kind, port, packet.dest)];
}

// Pass packets of one class on to the links of a switch, in turn.
inline void forward(State &s, Switch &by, Int kind, Int t) {
    Int ports = by.in.size(), waiting = 0;
    for (Int port = 0; port < ports; ++port) {
        Int link = next_link(s, by, port, kind, t);
        if (link == NONE) continue;
        turns::ask(s.links[link].kinds[kind].feed, port);
        ++waiting;
    }
    for (Int out = 0; out < ports && waiting; ++out) {
        LinkClass &to = s.links[by.out[out]].kinds[kind];
        if (!to.feed.waiting) continue;
        Int port = turns::take(to.feed, 2, true, t);
        to.feed.waiting = 0;
        if (port == NONE) continue;
        LinkClass &from = s.links[by.in[port]].kinds[kind];
        Int number = from.incoming.pop(s.packets);
        Packet &packet = s.packets[number];
        s.give(from, packet.beats(), t);
        from.passing = NEVER;  // until the link has begun with it
        to.from = by.in[port];
        packet.room = NONE;
        packet.time = t + CROSS;
        to.feed.last = NEVER;
        to.outgoing.push(s.packets, number);
    }
}

// Let responses of the pipes of each rack's switch take turns at its links.
inline void step_arbiters(State &s, Int t) {
    for (Int number = 0; number < s.k.racks; ++number)
        for (Int out : s.switches[number].out) {
            LinkClass &to = s.links[out].kinds[RESPONSES];
            to.feed.waiting = 0;
            for (std::uint64_t rest = to.queued; rest; rest &= rest - 1) {
                Int pipe = __builtin_ctzll(rest);
                if (s.packets[to.queues[pipe].first].time <= t) turns::ask(to.feed, pipe);
            }
            if (!to.feed.waiting) continue;
            Int pipe = turns::take(to.feed, 2, true, t);
            if (pipe == NONE) continue;
            List &queue = to.queues[pipe];
            Int packet = queue.pop(s.packets);
            if (!queue.count) to.queued &= ~(std::uint64_t(1) << pipe);
            s.packets[packet].time = t + CROSS;
            to.feed.last = NEVER;  // until the link has begun with it
            to.outgoing.push(s.packets, packet);
        }
}

// All switches without middle pipes.
inline void step_forwarders(State &s, Int t) {
    for (Int number = s.k.pipes ? s.k.racks : 0; number < s.k.switches; ++number)
        for (Int kind : {READS, RESPONSES}) forward(s, s.switches[number], kind, t);
}

}  // namespace network
