// Which hosts a job gets.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "fat_tree.h"

// The first hosts that are free; none if there are too few.
inline std::vector<int> place_first(const std::vector<char>& free, int wanted) {
    std::vector<int> chosen;
    for (int h = 0; h < int(free.size()) && int(chosen.size()) < wanted; ++h)
        if (free[h]) chosen.push_back(h);
    if (int(chosen.size()) < wanted) chosen.clear();
    return chosen;
}

// Least A + alpha B + penalties: A fragments of the job, B of what stays free, and a penalty for
// each leaf switch that hosts are taken from (algorithm 1 of the paper, from the leaves up).
class FragmentPlacement {
    struct Best;
    using Found = std::shared_ptr<const Best>;

    // A subtree in a larger one.
    struct Part {
        int first;  // host, from the larger one's first
        Found best;
        std::vector<int> taken;  // here, by the number that is taken here and in the parts before
    };

    // The best of a subtree that has free hosts, by the number of hosts that are taken.
    struct Best {
        std::vector<double> score{0};
        std::vector<Part> parts;  // those that have free hosts; none of a host
        bool free = true;         // wholly
        double penalty = 0;       // of taking all
        int size() const { return int(score.size()) - 1; }
    };

    const std::vector<int>& down;
    const std::vector<char>& free;
    std::function<double(int)> penalty;
    double alpha;
    int wanted;
    Found host;
    std::map<std::pair<Found, double>, Found> uniform;  // by what all its parts are, and its penalty

    // Nothing if no host is free.
    Found best(int layer, int first, int width) {
        if (!std::memchr(&free[first], true, width)) return nullptr;
        if (layer == 0) return host;
        int each = width / down[layer - 1];
        std::vector<Found> inside;
        for (int child = first; child < first + width; child += each) inside.push_back(best(layer - 1, child, each));
        double paid = layer == 1 ? penalty(first / width) : 0;
        if (std::count(inside.begin(), inside.end(), inside[0]) < int(inside.size())) return joined(inside, each, paid);
        Found& known = uniform[{inside[0], paid}];
        if (!known) known = joined(inside, each, paid);
        return known;
    }

    Found joined(const std::vector<Found>& inside, int each, double paid) const {
        Best made;
        for (int i = 0; i < int(inside.size()); ++i)
            if (inside[i])
                add(made, i * each, inside[i]);
            else
                made.free = false;
        made.penalty += paid;
        for (int n = 1; n <= made.size(); ++n) made.score[n] += paid;
        if (made.free) {
            made.score[0] = alpha;
            if (made.size() == each * int(inside.size())) made.score.back() = 1 + made.penalty;
        }
        return std::make_shared<Best>(std::move(made));
    }

    // Of equal scores the one with the fewest hosts in the later subtree.
    void add(Best& before, int first, const Found& later) const {
        int most = std::min(wanted, before.size() + later->size());
        std::vector<double> least(most + 1, std::numeric_limits<double>::infinity());
        std::vector<int> taken(most + 1);
        for (int n = 0; n <= most; ++n)
            for (int i = std::max(0, n - before.size()); i <= std::min(later->size(), n); ++i) {
                double score = later->score[i] + before.score[n - i];
                if (score < least[n]) least[n] = score, taken[n] = i;
            }
        before.score = std::move(least);
        before.parts.push_back({first, later, std::move(taken)});
        before.free &= later->free;
        before.penalty += later->penalty;
    }

    // Appends the hosts, last first.
    void take(const Best& from, int first, int count, std::vector<int>& hosts) const {
        if (&from == host.get() && count) hosts.push_back(first);
        for (auto part = from.parts.rbegin(); count && part != from.parts.rend(); ++part) {
            int here = part->taken[count];
            take(*part->best, first + part->first, here, hosts);
            count -= here;
        }
    }

  public:
    FragmentPlacement(const std::vector<int>& down, const std::vector<char>& free, double alpha,
                      std::function<double(int)> penalty, int wanted)
        : down(down), free(free), penalty(penalty), alpha(alpha), wanted(wanted) {
        Best one;
        one.score = {alpha, 1};
        host = std::make_shared<Best>(one);
    }

    std::vector<int> place() {
        std::vector<int> hosts;
        Found all = best(int(down.size()), 0, int(free.size()));
        if (!all || all->size() < wanted) return hosts;
        take(*all, 0, wanted, hosts);
        std::reverse(hosts.begin(), hosts.end());
        return hosts;
    }
};
