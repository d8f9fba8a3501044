// A large independent set of a graph: greedy by least degree, then exchanges of one for two.
#pragma once

#include "bits.h"

class IndependentSet {
    const std::vector<Bits>& edges;
    std::vector<char> in;
    std::vector<int> tight;  // neighbours in the set

    int size() const { return int(edges.size()); }

    void put(int v, bool present) {
        in[v] = present;
        edges[v].for_each([&](int w) { tight[w] += present ? 1 : -1; });
    }

    // Adds what has no neighbour in the set: the fewest free neighbours first, of equals the last.
    void fill() {
        while (true) {
            int chosen = -1, least = 0;
            Bits free(size());
            for (int v = 0; v < size(); ++v)
                if (!in[v] && !tight[v]) free.set(v);
            free.for_each([&](int v) {
                int degree = free.common(edges[v]);
                if (chosen < 0 || degree <= least) chosen = v, least = degree;
            });
            if (chosen < 0) return;
            put(chosen, true);
        }
    }

    // Takes one out and puts two in, where that can be.
    bool exchange() {
        for (int v = 0; v < size(); ++v) {
            if (!in[v]) continue;
            std::vector<int> bound;  // to v alone
            edges[v].for_each([&](int w) {
                if (tight[w] == 1) bound.push_back(w);
            });
            for (int a : bound)
                for (int b : bound)
                    if (a < b && !edges[a].has(b)) {
                        put(v, false), put(a, true), put(b, true);
                        fill();
                        return true;
                    }
        }
        return false;
    }

  public:
    explicit IndependentSet(const std::vector<Bits>& edges)
        : edges(edges), in(edges.size()), tight(edges.size()) {}

    std::vector<int> find() {
        fill();
        while (exchange()) {}
        std::vector<int> found;
        for (int v = 0; v < size(); ++v)
            if (in[v]) found.push_back(v);
        return found;
    }
};
