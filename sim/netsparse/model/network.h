// Links, and switches that only forward.
#pragma once

#include "maker.h"

namespace network {

constexpr Int LINK = 3;     // cycles that a link takes beside its latency
constexpr Int SEEN = 2;     // from a packet's first beat at a link's end to its being counted
constexpr Int FORWARD = 3;  // that a switch without middle pipes takes
constexpr Int PACKETS = 2;  // that wait in such a switch for a link

// Free what a packet took where it was made; only the first link behind it does.
inline void give_back(State &s, const Packet &packet) {
    if (packet.room == NONE) return;
    Maker &maker = s.makers[packet.maker];
    if (maker.pipe == NONE) {
        maker.lines += maker::lines_of(packet.bytes);
        --maker.packets;
    } else {
        auto &room = maker.kind == READS ? s.switches[maker.tor].read_room
                                         : s.pipes[maker.pipe].response_room;
        room[packet.room] += packet.beats();
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
    packet.time = std::max(t + way, of.out) + s.stalled(s.k.out_stall, 1);
    packet.ends = std::max(t + lasts - 1 + way, packet.time + beats - 1) +
                  s.stalled(s.k.out_stall, beats - 1);
    of.out = packet.ends + 1;
    s.first_packet = std::min(s.first_packet, packet.time + SEEN);
    of.level += beats;
    ++of.packets;
    of.bytes += packet.bytes;
    give_back(s, packet);
    of.incoming.push(s.packets, number);
}

// All links: a packet begins where the last one has ended.
inline void step_links(State &s, Int t) {
    for (Link &link : s.links) {
        if (t < link.free) continue;
        for (Int kind : {link.turn, 1 - link.turn}) {
            const LinkClass &of = link.kinds[kind];
            if (of.outgoing.count && s.packets[of.outgoing.first].time <= t && of.level <= link.room) {
                start(s, link, kind, t);
                break;
            }
        }
    }
}

// Pass the first packet of a port on, if its link has room.
inline void forward(State &s, const Switch &by, LinkClass &from, Int kind, Int t) {
    Int number = from.incoming.first;
    Packet &packet = s.packets[number];
    LinkClass &to = s.links[by.out[by.route[packet.dest]]].kinds[kind];
    if (packet.time > t || to.outgoing.count == PACKETS) return;
    from.incoming.pop(s.packets);
    from.level -= packet.beats();
    packet.room = NONE;
    packet.time = t + FORWARD;
    to.outgoing.push(s.packets, number);
}

// All switches without middle pipes.
inline void step_forwarders(State &s, Int t) {
    for (Int number = s.k.pipes ? s.k.racks : 0; number < s.k.switches; ++number) {
        const Switch &by = s.switches[number];
        Int ports = by.in.size();
        for (Int kind : {READS, RESPONSES})
            for (Int turn = 0; turn < ports; ++turn) {
                LinkClass &from = s.links[by.in[(t + turn) % ports]].kinds[kind];
                if (from.incoming.count) forward(s, by, from, kind, t);
            }
    }
}

}  // namespace network
