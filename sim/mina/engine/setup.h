// What a run is told and what it leaves: setup.py has the same fields.
#pragma once

#include <cstdint>

using Int = int64_t;

enum Placement { PLACE_FIRST, PLACE_DP, PLACE_AWARE };
enum Trees { TREES_FIRST, TREES_MIS, TREES_EXACT, TREES_SPREAD };
enum Sharing { SHARE_NEVER, SHARE_GREEDY, SHARE_R, SHARE_BEST, SHARE_RATE };

// Chooses trees for useful jobs: number of trees, the job of each, where its switches begin and
// which they are (one more begin than trees), and room for a 1 for each chosen tree.
using Solver = void (*)(Int trees, const Int* job, const Int* begin, const Int* switches, Int* chosen);

// An operation that has ended.
struct LoggedOp {
    Int job, op, ina;
    double start, end;
};

struct Setup {
    // fat tree
    Int layers, ports, capacity;  // ports: links conflict, not switches
    const Int *down, *up;
    // models: operations of model m are begin[m] to begin[m + 1]
    Int models;
    const Int* begin;
    const double *period, *start, *size;
    double bandwidth, ratio, latency;
    // jobs in the order of arrival
    Int jobs;
    const Int *model, *hosts, *steps;
    const double* arrival;
    // algorithms
    Int placement, trees, sharing, tree_lock, candidates, ties, max_shared, shared_steps;
    double alpha;
    Solver solver;
    // results, by job
    double *begun, *finished, *in_ina;
    Int *taken, *root, *migrations, *conflicts;  // taken: hosts of all jobs, in a row
    double* busy;  // seconds of INA, by switch
    Int log_room;
    LoggedOp* log;
    // results, once
    Int logged, events, simulated_groups, simulated_events;
    double placement_seconds, trees_seconds, seconds;
};
