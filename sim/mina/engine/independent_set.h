// A large independent set of a graph: greedy by least degree, then local search.
#pragma once

#include "bits.h"
#include "random.h"

class IndependentSet {
    const std::vector<Bits>& edges;
    std::vector<char> in;
    std::vector<int> tight;  // neighbours in the set
    int count = 0;

    int size() const { return int(edges.size()); }

    void put(int v, bool present) {
        in[v] = present;
        count += present ? 1 : -1;
        for_each(edges[v], [&](int w) { tight[w] += present ? 1 : -1; });
    }

    template <class Function>
    static void for_each(const Bits& set, Function function) {
        for (size_t i = 0; i < set.words.size(); ++i)
            for (uint64_t left = set.words[i]; left; left &= left - 1)
                function(int(64 * i) + __builtin_ctzll(left));
    }

    void force(int v) {
        for_each(edges[v], [&](int w) {
            if (in[w]) put(w, false);
        });
        put(v, true);
    }

    // Adds what has no neighbour in the set, those with the fewest free neighbours first.
    void fill() {
        while (true) {
            int chosen = -1, least = 0;
            Bits free(size());
            for (int v = 0; v < size(); ++v)
                if (!in[v] && !tight[v]) free.set(v);
            for_each(free, [&](int v) {
                int degree = 0;
                for (size_t i = 0; i < free.words.size(); ++i)
                    degree += __builtin_popcountll(free.words[i] & edges[v].words[i]);
                if (chosen < 0 || degree < least) chosen = v, least = degree;
            });
            if (chosen < 0) return;
            put(chosen, true);
        }
    }

    // Takes one out and puts two in, where that can be.
    bool swap() {
        for (int v = 0; v < size(); ++v) {
            if (!in[v]) continue;
            std::vector<int> ones;
            for_each(edges[v], [&](int w) {
                if (tight[w] == 1) ones.push_back(w);
            });
            for (int a : ones)
                for (int b : ones)
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

    // `kept` is independent; `tries` times something is forced in, and undone if it does not help.
    std::vector<int> find(const std::vector<int>& kept, int tries, Lehmer& random) {
        for (int v : kept) put(v, true);
        fill();
        while (swap()) {}
        for (int i = 0; i < tries && size(); ++i) {
            int v = int(random.below(size()));
            if (in[v]) continue;
            IndependentSet before = *this;
            force(v);
            fill();
            while (swap()) {}
            if (count <= before.count) in = before.in, tight = before.tight, count = before.count;
        }
        std::vector<int> found;
        for (int v = 0; v < size(); ++v)
            if (in[v]) found.push_back(v);
        return found;
    }
};
