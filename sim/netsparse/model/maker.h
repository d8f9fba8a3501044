// Concatenators: PRs for one destination wait together until their packet leaves.
#pragma once

#include "state.h"

namespace maker {

constexpr Int HEADER_BYTES = 64;
constexpr Int LINE = 128;
constexpr Int ENTER = 3;      // cycles from a PR's last beat to its being in its queue
constexpr Int FROM_UNIT = 4;  // from a PR's leaving a SNIC's unit to being in its queue
constexpr Int LEAVE = 10;     // from a packet's mark to its header
constexpr Int HEADER = 7;     // from its mark until a SNIC's flush engine can take it
constexpr Int QUEUE = 3;      // through an output queue of a switch
constexpr Int EXPIRE = 1;     // from DelayCycles behind its first beat to a packet's expiring
constexpr Int SETTLING = 14;  // in which no unit has an idx, before reads are flushed

inline Int lines_of(Int bytes) { return (bytes - HEADER_BYTES + LINE - 1) / LINE; }

inline bool can_join(const Maker &maker) {
    return maker.lines >= maker.pr_lines && maker.packets < maker.max_packets;
}

inline void count(Traffic &counts, const Packet &packet) {
    Int bucket = 0;
    while (bucket + 1 < BUCKETS && packet.prs >> (bucket + 1)) ++bucket;
    ++counts.buckets[bucket];
    ++counts.sent_packets;
    counts.sent_bytes += packet.bytes;
    counts.sent_prs += packet.prs;
}

// Let a packet of a pipe go to the output queue of a port. Responses of several pipes take turns at
// its link, those of one go through the same arbiter.
inline void send(State &s, LinkClass &link, const Maker &maker, Int number) {
    if (link.queues.empty()) {
        s.packets[number].time += maker.kind == RESPONSES;
        link.outgoing.push(s.packets, number);
        return;
    }
    Int pipe = maker.pipe % s.k.pipes;
    link.queues[pipe].push(s.packets, number);
    link.queued |= std::uint64_t(1) << pipe;
}

// Let a packet leave: it is marked now, or as soon as its last PR is whole.
inline void mark(State &s, Int m, Int number, Int t) {
    Maker &maker = s.makers[m];
    Packet &packet = s.packets[number];
    packet.open = 0;
    maker.open[packet.dest] = NONE;
    --maker.opened;
    Int whole = std::max(t, packet.ends);
    count(s.traffic[m], packet);
    if (maker.pipe == NONE) {
        packet.time = whole + HEADER;
        maker.outlet.marked.push(s.packets, number);
        ++maker.outlet.packets;
        return;
    }
    packet.time = std::max(whole + ENTER + LEAVE, maker.engine);
    maker.engine = packet.time + packet.beats();
    const Switch &tor = s.switches[maker.tor];
    packet.time += QUEUE;
    maker.lines += lines_of(packet.bytes);
    --maker.packets;
    send(s, s.links[tor.out[packet.room]].kinds[maker.kind], maker, number);
}

// Open a packet; `room` is what it will give back. PRs join it until the cycle before it expires.
inline Int begin(State &s, Int m, Int dest, Int room, Int t) {
    Maker &maker = s.makers[m];
    Int number = s.spare.pop(s.packets);
    Packet &packet = s.packets[number];
    Int serial = packet.serial + 1;
    packet = {};
    packet.kind = maker.kind;
    packet.dest = dest;
    packet.bytes = HEADER_BYTES;
    packet.serial = serial;
    packet.open = 1;
    packet.maker = m;
    packet.room = room;
    maker.open[dest] = number;
    ++maker.opened;
    ++maker.packets;
    Int place = (maker.first + maker.waiting++) % Int(maker.queue.size());
    maker.queue[place] = {number, serial, t + std::max(maker.delay + EXPIRE, maker.soonest) - 1};
    return number;
}

// Mark the open packet for `dest` if it leaves by another port than `room`, which takes a cycle.
inline bool displaces(State &s, Int m, Int dest, Int room, Int t) {
    Int number = s.makers[m].open[dest];
    if (number == NONE || s.packets[number].room == room) return false;
    mark(s, m, number, t);
    return true;
}

// Put a PR whose first beat comes now, the last of its group or not, into the open packet for
// `dest`; by how many beats that grows.
inline Int join(State &s, Int m, Int pr, Int dest, Int room, Int t, bool last = true) {
    Maker &maker = s.makers[m];
    Int number = maker.open[dest];
    if (number == NONE) number = begin(s, m, dest, room, t);
    Packet &packet = s.packets[number];
    Int beats = packet.prs ? packet.beats() : 0;
    (packet.prs++ ? s.prs[packet.last].next : packet.first) = pr;
    packet.last = pr;
    packet.ends = t + (maker.kind == RESPONSES ? s.k.property_beats : 1) - 1;
    s.prs[pr].next = NONE;
    maker.lines += lines_of(packet.bytes);
    packet.bytes += maker.pr_bytes;
    maker.lines -= lines_of(packet.bytes);
    beats = packet.beats() - beats;
    if ((!maker.joins && last) || packet.bytes + maker.pr_bytes > s.k.mtu) mark(s, m, number, t);
    return beats;
}

// Whether no unit of a node has had an idx for a while, when what now enters a queue left its unit.
inline bool is_quiet(Node &node, Int t) {
    if (node.inside || node.given != node.submitted) node.quiet = t;
    node.quiet_before = node.quiet_before << 1 | (t >= node.quiet + SETTLING);
    return node.quiet_before >> FROM_UNIT & 1;
}

// Mark packets whose time has come, and those that nothing will be added to.
inline void step(State &s, Int t) {
    for (Int m = 0; m < Int(s.makers.size()); ++m) {
        Maker &maker = s.makers[m];
        bool quiet = m < s.k.nodes && is_quiet(s.nodes[m], t);
        if (!maker.waiting) continue;
        const Expiration first = maker.queue[maker.first];
        const Packet &packet = s.packets[first.packet];
        bool open = packet.open && packet.serial == first.serial;
        bool shortage = maker.opened >= maker.max_open || maker.lines < maker.spare_lines;
        if (open && first.due > t && !shortage && !quiet) continue;
        maker.first = (maker.first + 1) % Int(maker.queue.size());
        --maker.waiting;
        if (open) mark(s, m, first.packet, t + 1);
    }
}

}  // namespace maker
