// Everything that a modelled cluster remembers. Times are cycles since the first request.
#pragma once

#include <algorithm>
#include <deque>
#include <utility>

#include "room.h"

constexpr Int BUCKETS = 8;  // of PRs a packet
constexpr Int CHUNKS = 4;   // reads that fill an idx buffer
constexpr Int BEAT = 64;    // bytes

// What is known of a PR that came in a packet: whether others of that go its way behind it.
enum Edge : Int { UNKNOWN, INNER, LAST };

// A PR under way; its number is that of its client times the entries, plus its entry.
struct Pr {
    Int next, time, need, request;
    Int server;           // of its node, that reads its property
    Int slot, sets, ones; // in the LSQ: is it a set, and what is known of its block
    Int egress, cached;   // in a switch: the port that its packet leaves by, is it for the cache?
    Edge edge;
};

struct Packet {
    Int next;
    Int time, ends;  // when its first and its last beat can go on
    Int kind, dest, prs, bytes, first, last;
    Int serial, open;  // is it this one, and can PRs join it?
    Int maker, room;   // where it was made; the room that it gives back, or NONE
    Int uplink;        // it comes from another rack (a response), or goes to one (a read)

    Int beats() const { return (bytes + BEAT - 1) / BEAT; }
};

// A work request: its idxs are numbers `first` to below `end`. Its unit takes it at `begins`.
struct Request {
    Int next, time, first, end, address, begins, open, given;
    Int consumer;  // with rings: descriptors that had come when its entry was made
    Int ends;            // when its client can tell that it is done
};

using Mask = unsigned __int128;  // a bit for each who waits: up to 64 units, and rings

// An arbiter: who waits, a bit each, who is taken next, the cycle of the last packet's last beat.
struct Turns {
    Mask waiting = 0;
    Int chosen = 0, last = NONE;
};

// What a client counts, in the order in which `counts.py` names it.
struct ClientCounts {
    Int consumed, local, coalesced, filtered, prs, responses, commands;
    Int table_stall, filter_stall, transmit_stall, idx_stall;
};

struct Chunk {
    Int end, time;  // the idx behind it, and when its first idx can be looked at
};

constexpr Int EMPTY = -2;  // the place of an idx where there is none; NONE is one of the node's own

// An idx on its way through a client, by what it needs.
struct Idx {
    Int need = EMPTY, request = NONE;
};

// An idx that was looked up: it has the entry of a PR, or NONE as another one has it.
struct Looked {
    Int pr, request;
};

// A slot of the LSQ, and when its answer came.
struct Slot {
    Int pr, answered, bit;
};

// Slots that are used in turn.
struct Slots {
    std::vector<Slot> all;
    Int first = 0, count = 0, left = NONE;  // `left`: when one became free

    bool room(Int t) const { return count + (left == t) < Int(all.size()); }

    Int push(Int pr, Int answered) {
        Int place = (first + count++) % Int(all.size());
        all[place] = {pr, answered, 0};
        return place;
    }

    bool ends(Int t) const { return count && all[first].answered < t; }

    Slot pop(Int t) {
        Slot slot = all[first];
        first = (first + 1) % Int(all.size());
        --count;
        left = t;
        return slot;
    }
};

// Ones that a unit's own cache knows of a block of idxs.
struct Near {
    Int block = NONE, ones = 0;
};

struct Bank {
    Int turn = NONE;                 // whose request was the last one
    Int last = NONE, before = NONE;  // when it was carried out, and the one before it
    List answers;  // PRs
};

// PRs whose properties' addresses are found, and those that then wait for their way.
struct Addresses {
    Int stages[3] = {NONE, NONE, NONE}, inside = 0, popped = NONE;
    List found;

    bool move(Int t) const { return found.count + (popped == t) < 2; }
};

struct Client {
    Int unsent, asking, oldest, current, behind;  // requests, in order; `behind` the last one
    Int fetched, position, taken;                 // idxs that were asked for, given, consumed
    Int request_time = 0, start_time = 0;             // when it may ask next, and for another request
    Int request_address = 0, request_bytes = 0;           // what it asks for
    Int report_time = 0;                          // when it may tell of another request's end
    Chunk chunks[CHUNKS] = {};
    Int chunk = 0, chunk_count = 0;
    Idx given, waiting, judged, kept, asked, looking;  // idxs, one behind another
    Int found = NONE, known = 0, seen = 0;             // what is known of the last one of these
    Register<Looked> looked;
    Int ended = NONE;                // a set that came to its end a cycle ago
    Register<Slot> results;
    Slots lookups, sets;
    Register<Int> output;           // PRs that are looked up or set in the filter
    List near_answers, far;         // PRs
    Int went = NONE;                // when the last one went to a bank
    Int answer = NONE, answer_time = NONE, answer_bank = NONE, best_bank = NONE;  // of banks
    Near fill;                      // what the unit's own cache is about to learn
    Int fill_time = 0;
    std::vector<std::int32_t> pending;  // what each entry of the Pending PR Table is for, or NONE
    Int number = 0;                     // of lookups
    std::vector<Near> near;
    List sending;              // PRs
    Int transmitting = 0;      // PRs on their way to be sent, or that wait for that
    Int came[2] = {NONE, NONE}, takes = 1;      // responses; whether another may come
    Int looked_up = NONE, matched = NONE, free = 0;  // others; when the next one can go on
    Addresses offers;          // of properties to be written
    List writing;              // those that are being written
    List freeing, released;    // entries that are soon free: their bits were set, or they had none
    ClientCounts counts = {};
};

struct Server {
    Int room = 0, returning = 0, enough = 1, heads = 0, served = 0;
    Int waiting[2] = {NONE, NONE}, takes = 1;  // reads; whether another may come
    Int judged = NONE;
    Addresses asks;
    List answers;        // PRs

    bool rests() const {
        return waiting[0] == NONE && judged == NONE && !asks.inside && !returning && enough;
    }
};

// An in-order bus to host memory, and the way to it.
struct Bus {
    Turns turns;                             // of units, and of the rings behind them
    Int free = 0;                            // when the next property can be taken
    Int passed[2] = {-1, -1};                // when the last two left the arbiter,
    Int split[2] = {-1, -1};                 // when their splitting into requests began
    Int step = -1, ready = -1, issue = -1;   // the last request: split, at the port, on the bus
    Int data = 0, given = 0, place = 0;      // the last beat: on the bus, at its unit; of `due`
    std::vector<Int> due;                    // when each request under way is answered
    Int requests = 0, properties = 0;
};

// A descriptor that a SNIC asked for: when it came, and when it went to its unit.
struct Descriptor {
    Int come = -1, given = -2;
};

// What a host does with the completion ring: nothing, it reads entries, or it has found no more.
enum Look : Int { RESTS, READS_ENTRIES, ENDS };

struct Node {
    Int host_time = 0, round = 0, unit = 0, left = 0;  // its host
    Int done = NONE;                                   // when that has ended
    Int submitted = 0, given = 0, inside = 0, quiet = 0;         // requests; PRs that may come
    std::uint64_t quiet_before = 0;          // whether it was quiet in the last cycles, a bit each
    Turns sends, answers;                                        // of clients, of servers
    Int serve_turn = NONE;
    Bus reads, writes;
    std::vector<Bank> banks;                 // of the idx filter
    std::vector<Int> line_ready, set_lines;
    Int far = 0, near = 0;                   // requests for banks; answers of banks
    Int responds = NONE;                     // a response that waits for its unit
    List solving;                            // PRs on their way to be sent,
    List reading;                            // to be answered
    Int matching = 0;                        // responses until their writes
    Turns reports;                           // of units whose oldest request has ended
    List completed;                          // requests whose end waits for the host, or its ring
    List coming;                             // requests that units have yet to take
    // With registers, of the host: whether it sleeps until an interrupt, cycles that its next read
    // takes longer, and the reads that found no completion.
    bool sleeps = false;
    Int turn = 0, looked = 0;
    // With rings, of the host: requests to be written, those written that the SNIC has not asked
    // for, those that ended as the ring says; descriptors written, places free again, entries read,
    // those that it has found at once; entries that it told of last and before, and since when.
    List due, written, entries;
    Int produced = 0, consumed = 0, entries_read = 0, found = 0;
    Look looks = RESTS;
    Int told = 0, reported_before = 0, reported_time = 0, doorbells = 0;
    // Of the SNIC: the last descriptors that it asked for, how many these are by now, when it may
    // ask again; the entry that is to be written, when it may make another one, and how many it
    // has made. It looks in every second cycle from when the host's write that opens its ring is
    // answered, which is an even number of cycles ahead of cycle 0 (`gather_in_simulator.py`).
    std::vector<Descriptor> descriptors;
    Int request_time = 0, asked = 0;
    Int entry = NONE, entry_time = 0, entries_built = 0;
    Int uplink;                              // its link; the next one leads back
};

// What makers send and takers receive, in the order in which `counts.py` names it.
struct Traffic {
    Int sent_packets, sent_bytes, sent_prs, buckets[BUCKETS], stall;
    Int received_packets, received_bytes, received_prs;
};

struct Expiration {
    Int packet, serial, due;
};

// Beats of PRs on their way into a SNIC's concatenator, in the order of its registers: a PR where it
// is its first beat, NONE where it is a later one.
struct Inlet {
    Register<Int> chosen, taken;
    Int arrival = EMPTY, beat = EMPTY;
    Int inside = 0;
};

constexpr Int LAST_BEAT = -3;  // of a packet

// Beats of packets on their way out of it: a packet where it is its header, NONE where it is another.
struct Outlet {
    List marked;                    // packets
    Int left = 0;                   // beats to be read of the one that has begun
    bool half = false;              // one half of a line has been read
    Int lines = 0;                  // that have just been read
    Int stages[2] = {EMPTY, EMPTY};
    Register<Int> read;
    Int waiting = 0, left_link = NONE;  // beats at the link; when the last one left there
    Int passing = 0;                // beats to go of the packet that is on the link
    Int packets = 0;                // inside
};

// Where packets are made of PRs of one class: in a SNIC, or in a middle pipe.
struct Maker {
    Int lines, spare_lines, pr_lines;  // free; with fewer the oldest packet leaves; for a PR
    Int packets = 0, max_packets, opened = 0, max_open;
    Int delay, soonest, joins, pr_bytes, engine = 0;  // `soonest`: from the first beat to expiring
    Int kind, tor = NONE, pipe = NONE, link = NONE;
    std::vector<Int> open;  // packet, by destination
    std::vector<Expiration> queue;
    Int first = 0, waiting = 0;  // of the expiration queue
    Int late_lines;              // are lines free a cycle later?
    Inlet inlet;
    Outlet outlet;
};

constexpr Int RING = 8;  // beats that an unpacker holds, at most

// Where packets are taken apart, of one class.
struct Taker {
    Int left = 0, pr, packet;              // of the packet that is taken apart
    Int start = 0, bytes = 0, time = 0;    // its first beat behind the header; when a PR can leave
    Int beats = 0, gone = 0, came = NONE;  // beats that have come to the ring and left it; the last
    Int left_ring[RING] = {};              // when each left
    Int pr_bytes, places;                  // of the ring
};

struct Credit {
    Int time, beats;
};

// The places of a link's far end, of which its near end learns a latency later that they are free.
struct Credits {
    Int taken = 0;
    std::deque<Credit> coming;

    // Take places back until cycle `t`; how many are taken.
    Int level(Int t) {
        for (; coming.size() && coming.front().time <= t; coming.pop_front())
            taken -= coming.front().beats;
        return taken;
    }
};

struct LinkClass {
    List outgoing, incoming;  // packets
    Credits credits;          // of beats on it and behind it
    Int out = 0;              // when its end is free
    Int passing = NONE;       // when its last packet's last beat has gone into the switch
    Int from = NONE;          // of a spine: the link that the last packet came by
    Turns feed;               // ports of the switch that it comes from, or its pipes
    std::vector<List> queues;    // of these pipes, if there are several: packets
    std::uint64_t queued = 0;    // queues that have packets, a bit each
    Int packets = 0, bytes = 0;
};

struct Link {
    Int free = 0, turn = 0, room = 0;
    LinkClass kinds[2];
};

struct CacheCounts {
    Int hit, miss, inserted, replaced, present;
};

struct Line {
    Int idx = NONE, used = 0;
};

struct PipeClass {
    List entering;  // packets
    Int inside = 0; // beats
    Int comes = NONE; // a PR
    Turns turns;    // of ports
};

struct Pipe {
    Int stamp = 0, gate = NONE;                // a read that is about to be looked up
    Int gathering = NONE, gather_time = 0;     // a property that comes,
    Int gathered = NONE, turn = 0;             // one to be kept; do reads go first?
    Int missed = NONE, hit = NONE;             // the last ones of the packet that is looked up
    Int way = 1, path_last = NONE, held = 0;    // who has the way out: hits? has a group to end?
    Int lacks = 0;                             // cycles
    PipeClass kinds[2];
    List misses, hits;                         // PRs
    Register<Int> leaving;                     // PRs
    std::vector<Room> response_room;
    std::vector<Line> lines;
    CacheCounts counts = {};
};

struct Switch {
    std::vector<Int> route, hit_route, out, in;  // ports by node, links by port
    std::vector<Int> response_route;  // port by input port and node
    std::vector<Room> read_room;      // by port
    std::vector<Int> waits[2];        // cycles in which a packet waits for room, by port

    // The port to `dest` of a packet that comes by `port`.
    Int egress(Int kind, Int port, Int dest) const {
        return kind == READS ? route[dest] : response_route[port * route.size() + dest];
    }
};

struct State {
    Shape k;
    const std::int32_t *stream = nullptr, *owner = nullptr;
    const Int *idx = nullptr, *need_base = nullptr;
    std::vector<std::uint8_t> hash;  // of the idx, by need
    std::vector<std::uint8_t> bit;   // of the filter, by need
    std::vector<Pr> prs;
    std::vector<Packet> packets;
    List spare;
    std::vector<Request> requests;
    std::vector<Client> clients;
    std::vector<Server> servers;
    std::vector<Node> nodes;
    std::vector<Maker> makers;  // reads of all points, then responses; points: SNICs, then pipes
    std::vector<Taker> takers;
    std::vector<Traffic> traffic;
    std::vector<Link> links;
    std::vector<Pipe> pipes;
    std::vector<Switch> switches;
    std::uint64_t random = 1;
    Int cycle = 0;
    Int first_packet = NEVER;  // when the first one has come off a link

    Int points() const { return k.nodes + k.racks * k.pipes; }
    Int node_of(Int pr) const { return pr / (k.entries * k.clients); }
    Int idx_of(Int pr) const { return idx[prs[pr].need]; }
    Int address_of(Int pr) const { return k.property_address + idx_of(pr) * k.property_bytes; }

    // Beats have left the far end of a link in cycle `t`.
    void give(LinkClass &link, Int beats, Int t) {
        if (beats) link.credits.coming.push_back({t + k.link_latency, beats});
    }

    // Cycles that `beats` wait, if each of them waits another one by a chance in 256.
    Int stalled(Int chance, Int beats) {
        Int waits = 0;
        if (!chance) return 0;
        for (Int beat = 0; beat < beats; ++beat)
            while (Int(draw() & 255) < chance) ++waits;
        return waits;
    }

    std::uint64_t draw() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return random >> 24;
    }
};
