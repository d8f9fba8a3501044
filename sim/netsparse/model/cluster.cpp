// A modelled cluster, as a library for `library.py`: made of sizes and arrays, run, asked for counts.
#include "host.h"
#include "network.h"
#include "node.h"
#include "outlet.h"
#include "switch.h"

namespace {

// The sizes of a concatenator: `shape.py` gives a row of these for each.
struct MakerRow {
    Int lines, spare_lines, pr_lines, max_packets, max_open, delay, joins, pr_bytes, expirations, soonest,
        late_lines, places;
};

// A port of a switch, and the links that leave it and come to it.
struct PortRow {
    Int owner, out, in;
};

struct Arrays {
    const Int *shape;
    const std::int32_t *stream, *owner;
    const Int *idx, *need_base;
    const Int *requests;  // rows of first, end and address
    const Int *behind;    // by client: the request behind its last one
    const Int *route, *hit_route, *response_route;  // by switch and node; by port and node
    const PortRow *ports;
    const MakerRow *makers;
    const Int *link_room, *uplink;  // by link; by node
    Int port_count;
};

void add_clients(State &s, const Arrays &from) {
    const Shape &k = s.k;
    Int clients = k.nodes * k.clients;
    Int count = clients ? from.behind[clients - 1] : 0;
    for (Int r = 0; r < count; ++r) {
        const Int *row = from.requests + 3 * r;
        s.requests.push_back({NONE, 0, row[0], row[1], row[2], NEVER, 0, 0, 0, NEVER});
    }
    s.prs.resize(clients * k.entries);
    s.clients.resize(clients);
    for (Int c = 0, first = 0; c < clients; first = from.behind[c++]) {
        Client &client = s.clients[c];
        client.unsent = client.asking = client.oldest = client.current = first;
        client.behind = from.behind[c];
        client.fetched = first < count ? s.requests[first].first : 0;
        client.position = client.taken = client.fetched;
        client.lookups.all.resize(k.lookup_slots);
        client.sets.all.resize(k.set_slots);
        client.pending.assign(k.entries, NONE);
        client.near.resize(k.unit_rows);
    }
}

void add_nodes(State &s, const Arrays &from) {
    const Shape &k = s.k;
    s.servers.resize(k.nodes * k.servers);
    for (Server &server : s.servers) server.room = k.buffer_beats;
    s.nodes.resize(k.nodes);
    for (Int n = 0; n < k.nodes; ++n) {
        Node &node = s.nodes[n];
        for (Int c = n * k.clients; c < (n + 1) * k.clients; ++c)
            node.left += s.clients[c].behind - s.clients[c].unsent;
        node.reads.turns.chosen = node.writes.turns.chosen = k.clients + k.servers;
        node.reports.chosen = k.clients + k.servers;
        node.sends.chosen = k.clients + k.servers - 1;
        node.answers.chosen = k.servers - 1;
        node.descriptors.resize(k.descriptors);
        node.reads.due.assign(k.host_requests, -1);
        node.writes.due.assign(k.host_requests, -1);
        node.banks.resize(k.banks);
        node.line_ready.assign(k.filter_lines, NEVER);
        node.set_lines.resize(k.filter_sets);
        node.uplink = from.uplink[n];
    }
}

void add_points(State &s, const Arrays &from) {
    const Shape &k = s.k;
    Int points = s.points(), packets = 0;
    s.makers.resize(2 * points);
    s.takers.resize(2 * points);
    s.traffic.resize(2 * points);
    for (Int m = 0; m < 2 * points; ++m) {
        const MakerRow &row = from.makers[m];
        Maker &maker = s.makers[m];
        Int point = m % points;
        maker.lines = row.lines;
        maker.spare_lines = row.spare_lines;
        maker.pr_lines = row.pr_lines;
        maker.max_packets = row.max_packets;
        maker.max_open = row.max_open;
        maker.delay = row.delay;
        maker.soonest = row.soonest;
        maker.late_lines = row.late_lines;
        maker.joins = row.joins;
        maker.pr_bytes = s.takers[m].pr_bytes = row.pr_bytes;
        s.takers[m].places = row.places;
        maker.kind = m >= points;
        maker.open.assign(k.nodes, NONE);
        maker.queue.resize(row.expirations);
        if (point < k.nodes) {
            maker.link = s.nodes[point].uplink;
        } else {
            maker.pipe = point - k.nodes;
            maker.tor = maker.pipe / k.pipes;
        }
        packets += row.max_packets;
    }
    // A packet is waiting at a maker, or it is on its way, where every PR may have its own.
    s.packets.resize(packets + s.prs.size() + 1);
    for (Int packet = 0; packet < Int(s.packets.size()); ++packet) s.spare.push(s.packets, packet);
}

void add_network(State &s, const Arrays &from) {
    const Shape &k = s.k;
    s.links.resize(k.links);
    for (Int link = 0; link < k.links; ++link) s.links[link].room = from.link_room[link];
    s.switches.resize(k.switches);
    for (Int number = 0; number < k.switches; ++number) {
        Switch &one = s.switches[number];
        one.route.assign(from.route + number * k.nodes, from.route + (number + 1) * k.nodes);
        const Int *hits = from.hit_route + number * k.nodes;
        one.hit_route.assign(hits, hits + k.nodes);
    }
    const Int *routes = from.response_route;
    for (const PortRow *row = from.ports; row != from.ports + from.port_count; ++row) {
        Switch &one = s.switches[row->owner];
        one.response_route.insert(one.response_route.end(), routes, routes + k.nodes);
        routes += k.nodes;
        one.out.push_back(row->out);
        one.in.push_back(row->in);
        one.read_room.emplace_back().free = k.output_beats;
        for (auto &waits : one.waits) waits.push_back(0);
        if (row->owner >= k.racks || k.pipes < 2) continue;
        LinkClass &responses = s.links[row->out].kinds[RESPONSES];
        responses.queues.resize(k.pipes);
        responses.feed.chosen = k.pipes - 1;
    }
    s.pipes.resize(k.racks * k.pipes);
    for (Pipe &pipe : s.pipes) {
        pipe.kinds[RESPONSES].turns.chosen = (&pipe - s.pipes.data()) % k.pipes;
        pipe.response_room.resize(k.ports);
        for (Room &room : pipe.response_room) room.free = k.output_beats;
        pipe.lines.resize(k.segments * k.sets * k.ways);
    }
}

}  // namespace

extern "C" {

Int model_shape_fields() { return sizeof(Shape) / sizeof(Int); }

State *model_new(const Arrays *from) {
    State *s = new State;
    std::copy_n(from->shape, model_shape_fields(), reinterpret_cast<Int *>(&s->k));
    s->stream = from->stream;
    s->owner = from->owner;
    s->idx = from->idx;
    s->need_base = from->need_base;
    Int needs = from->need_base[s->k.nodes];
    s->bit.resize(needs);
    s->hash.resize(needs);
    std::transform(s->idx, s->idx + needs, s->hash.begin(), pending_table::hash);
    s->random ^= 0x9E3779B97F4A7C15ull * (s->k.seed + 1);
    add_clients(*s, *from);
    add_nodes(*s, *from);
    add_points(*s, *from);
    add_network(*s, *from);
    return s;
}

void model_delete(State *s) { delete s; }

// Go on to cycle `end`, or to where all hosts have ended; that cycle.
Int model_advance(State *s, Int end) {
    for (Int &t = s->cycle; t < end; ++t) {
        if (!host::step(*s, t)) break;
        client::step(*s, t);
        node::step(*s, t);
        if (s->k.pipes) {
            middle::step_gates(*s, t);
            middle::step_pipes(*s, t);
        }
        maker::step(*s, t);  // a PR that comes as a packet expires joins it
        outlet::step_all(*s, t);
        network::step_links(*s, t);
        network::step_forwarders(*s, t);
        if (s->k.pipes > 1) network::step_arbiters(*s, t);
    }
    return s->cycle;
}

Int model_first_packet(const State *s) { return s->first_packet; }

Int model_consumed(const State *s) {
    Int sum = 0;
    for (const Client &client : s->clients) sum += client.counts.consumed;
    return sum;
}

void model_client(const State *s, Int client, ClientCounts *to) { *to = s->clients[client].counts; }

Int model_served(const State *s, Int server) { return s->servers[server].served; }

void model_traffic(const State *s, Int point, Traffic *to) { *to = s->traffic[point]; }

// When the host has ended, its doorbells, its looks in vain, and the requests and properties of its
// memory's two buses.
void model_node(const State *s, Int n, Int *to) {
    const Node &node = s->nodes[n];
    *to++ = node.done;
    *to++ = node.doorbells;
    *to++ = node.looked;
    for (const Bus *bus : {&node.reads, &node.writes}) {
        *to++ = bus->requests;
        *to++ = bus->properties;
    }
}

// Packets and bytes of both classes.
void model_link(const State *s, Int link, Int *to) {
    for (const LinkClass &kind : s->links[link].kinds) {
        *to++ = kind.packets;
        *to++ = kind.bytes;
    }
}

void model_cache(const State *s, Int pipe, CacheCounts *to) { *to = s->pipes[pipe].counts; }

Int model_waits(const State *s, Int number, Int kind, Int port) {
    return s->switches[number].waits[kind][port];
}
}
