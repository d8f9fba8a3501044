// Which hosts a job gets.
#pragma once

#include <cmath>
#include <functional>
#include <limits>

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
    // The best of a subtree, by the number of hosts that are taken.
    struct Best {
        std::vector<double> score;
        std::vector<std::vector<int>> hosts;
        bool free = true;    // wholly
        double penalty = 0;  // of taking all
        int size() const { return int(score.size()) - 1; }
    };

    const std::vector<int>& down;
    const std::vector<char>& free;
    double alpha;
    std::function<double(int)> penalty;
    int wanted;

    Best best(int layer, int first, int width) const {
        if (layer == 0) {
            if (!free[first]) return {{0}, {{}}, false};
            return {{alpha, 1}, {{}, {first}}};
        }
        Best made{{0}, {{}}};
        int each = width / down[layer - 1];
        for (int child = first; child < first + width; child += each) made = joined(made, best(layer - 1, child, each));
        if (layer == 1) {
            made.penalty = penalty(first / width);
            for (int n = 1; n <= made.size(); ++n) made.score[n] += made.penalty;
        }
        if (made.free) {
            made.score[0] = alpha;
            if (made.size() == width) made.score[width] = 1 + made.penalty;
        }
        return made;
    }

    // Of two subtrees; of equal scores the one with the fewest hosts in the later one.
    Best joined(const Best& before, const Best& later) const {
        int most = std::min(wanted, before.size() + later.size());
        Best made{std::vector<double>(most + 1, std::numeric_limits<double>::infinity()),
                  std::vector<std::vector<int>>(most + 1), before.free && later.free,
                  before.penalty + later.penalty};
        for (int n = 0; n <= most; ++n) {
            int chosen = 0;
            for (int i = std::max(0, n - before.size()); i <= std::min(later.size(), n); ++i) {
                double score = later.score[i] + before.score[n - i];
                if (score < made.score[n]) made.score[n] = score, chosen = i;
            }
            made.hosts[n] = before.hosts[n - chosen];
            made.hosts[n].insert(made.hosts[n].end(), later.hosts[chosen].begin(), later.hosts[chosen].end());
        }
        return made;
    }

  public:
    FragmentPlacement(const std::vector<int>& down, const std::vector<char>& free, double alpha,
                      std::function<double(int)> penalty, int wanted)
        : down(down), free(free), alpha(alpha), penalty(penalty), wanted(wanted) {}

    std::vector<int> place() const {
        Best all = best(int(down.size()), 0, int(free.size()));
        return all.size() < wanted ? std::vector<int>() : all.hosts[wanted];
    }
};
