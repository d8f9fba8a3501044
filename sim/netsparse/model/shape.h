// What does not change while a model runs: `shape.py` fills it in this order.
#pragma once

#include "lists.h"

enum Kind { READS, RESPONSES };

struct Shape {
    // The cluster.
    Int nodes, racks, nodes_per_rack, switches, links;
    Int ports, pipes;  // of a ToR
    // A node's units.
    Int clients, servers, entries, lookup_slots, set_slots, chunk_bytes, idx_bytes, commands;
    Int transmit;      // PRs between the filter and the way out
    Int solver;        // cycles of the destination solver
    Int buffer_beats;  // of a property buffer
    Int filter, coalesce;
    // Properties and host memory.
    Int property_bytes, property_beats, property_address, aligned;
    Int read_latency, write_latency, dram_latency, host_requests;
    // The idx filter's caches.
    Int banks, unit_rows, filter_lines, filter_sets, filter_ways;
    // Packets and links.
    Int mtu, packet_beats, link_latency;
    // Middle pipes; room is in beats of an output queue.
    Int pipe_beats;  // that wait in front of a pipe, of each class
    Int output_beats, read_packet, read_from, response_packet, response_from, response_cost, item_from;
    Int cache, sets, segments, together, ways, cache_latency, cache_room;
    // A host: places of its rings, 0 if it has none; descriptors that a SNIC reads at a time.
    Int rings, descriptors;
    // Chances in 256 that a beat waits: at a link's beginning and end, on AR, R, AW, W, B.
    Int in_stall, out_stall, ar_stall, r_stall, aw_stall, w_stall, b_stall;
    Int seed;
};
