// The functions that library.py calls.
#include "simulator.h"

extern "C" {

Int mina_setup_bytes() { return sizeof(Setup); }

void mina_run(Setup* setup) { Simulator(*setup).run(); }

// Time, time without INA and time with INA alone of one group; what is asked is its members.
void mina_group(const Setup* setup, Int members, const Int* model, const Int* hosts, double* totals) {
    std::vector<Timing> timings;
    for (Int i = 0; i < members; ++i) timings.push_back(timing_of(*setup, model[i], hosts[i] == 1));
    std::vector<Member> all;
    for (Int i = 0; i < members; ++i) all.push_back({&timings[i], int(hosts[i])});
    Int events = 0;
    Totals found = simulate_group(all, setup->shared_steps, setup->sharing, events);
    totals[0] = found.time, totals[1] = found.none, totals[2] = found.all;
}

// A step of each model without INA and with INA alone, for one host and for more.
void mina_steps(const Setup* setup, double* none, double* all) {
    for (Int m = 0; m < setup->models; ++m)
        for (Int many = 0; many < 2; ++many) {
            Timing timing = timing_of(*setup, m, !many);
            none[2 * m + many] = timing.none, all[2 * m + many] = timing.all;
        }
}

// Hosts for one job; how many were found.
Int mina_place(const Setup* setup, const char* free, const double* penalty, Int wanted, Int* hosts) {
    FatTree net(*setup);
    std::vector<int> down(setup->down, setup->down + setup->layers);
    std::vector<char> open(free, free + net.hosts);
    auto of_leaf = [&](int leaf) { return penalty[leaf]; };
    std::vector<int> found = setup->placement == PLACE_FIRST
        ? place_first(open, int(wanted))
        : FragmentPlacement(down, open, setup->alpha, of_leaf, int(wanted)).place();
    std::copy(found.begin(), found.end(), hosts);
    return Int(found.size());
}

// A large independent set of a graph whose edges are pairs of vertices; its size.
Int mina_independent(Int vertices, Int edges, const Int* ends, Int* chosen) {
    int count = int(vertices);
    std::vector<Bits> graph(count, Bits(count));
    for (Int i = 0; i < 2 * edges; ++i) graph[ends[i]].set(int(ends[i ^ 1]));
    std::vector<int> found = IndependentSet(graph).find();
    std::copy(found.begin(), found.end(), chosen);
    return Int(found.size());
}

}
