// Sharing groups: which jobs, beside those of the independent set, get a tree that meets others.
#pragma once

#include <map>

#include "bits.h"
#include "group_simulation.h"

// Simulated groups, by their members; equal ones are simulated once.
class GroupScores {
    std::map<std::vector<std::pair<int, const Timing*>>, Totals> known;
    Int steps, sharing;

  public:
    Int groups = 0, events = 0;

    GroupScores(Int steps, Int sharing) : steps(steps), sharing(sharing) {}

    const Totals& of(const std::vector<Member>& members) {
        std::vector<std::pair<int, const Timing*>> key;
        for (const Member& one : members) key.emplace_back(one.hosts, one.timing);
        std::sort(key.begin(), key.end());
        auto [found, fresh] = known.try_emplace(key);
        if (fresh) {
            std::vector<Member> sorted;
            for (auto [hosts, timing] : key) sorted.push_back({timing, hosts});
            found->second = simulate_group(sorted, steps, sharing, events);
            ++groups;
        }
        return found->second;
    }
};

class SharingGroups {
    const std::vector<int>& job_of;       // of each candidate tree
    const std::vector<Member>& members;   // by job
    const std::vector<Bits>& edges;       // of the conflict graph
    GroupScores& scores;
    size_t most;

    std::vector<std::vector<int>> groups;  // trees
    std::vector<int> group_of;             // of each tree, or -1
    std::vector<char> added;               // jobs

    // Jobs, each with one tree, that are adjacent to the same groups.
    struct Merge {
        std::vector<int> groups, trees;
    };

    void add(int tree, int group) {
        groups[group].push_back(tree);
        group_of[tree] = group;
        added[job_of[tree]] = true;
    }

    // By the groups, fewest first, then in order; a job's first tree of each stands.
    std::vector<Merge> merges() const {
        using Key = std::pair<size_t, std::vector<int>>;
        std::map<Key, std::vector<int>> found;
        for (int tree = 0; tree < int(edges.size()); ++tree) {
            if (added[job_of[tree]]) continue;
            std::vector<int> adjacent;
            for (int other = 0; other < int(edges.size()); ++other)
                if (group_of[other] >= 0 && edges[tree].has(other)) adjacent.push_back(group_of[other]);
            std::sort(adjacent.begin(), adjacent.end());
            adjacent.erase(std::unique(adjacent.begin(), adjacent.end()), adjacent.end());
            std::vector<int>& trees = found[Key(adjacent.size(), adjacent)];
            bool there = false;
            for (int one : trees) there |= job_of[one] == job_of[tree];
            if (!there) trees.push_back(tree);
        }
        std::vector<Merge> made;
        for (auto& [key, trees] : found) made.push_back({key.second, trees});
        return made;
    }

    std::vector<Member> joined(const Merge& merge) const {
        std::vector<Member> all;
        for (int tree : merge.trees) all.push_back(members[job_of[tree]]);
        for (int group : merge.groups)
            for (int tree : groups[group]) all.push_back(members[job_of[tree]]);
        return all;
    }

    // What groups and jobs gain as they are: the jobs have no INA.
    Totals apart(const Merge& merge) {
        Totals sum;
        for (int tree : merge.trees) {
            Totals alone = scores.of({members[job_of[tree]]});
            alone.time = alone.none;
            sum += alone;
        }
        for (int group : merge.groups) sum += scores.of(joined({{group}, {}}));
        return sum;
    }

    // The merge that raises its score most; false if none does.
    bool merge_best() {
        Merge best;
        double max_gain = 0;
        for (const Merge& merge : merges()) {
            std::vector<Member> all = joined(merge);
            bool gains = false;
            for (const Member& one : all) gains |= one.timing->gains();
            if (!gains || all.size() > most) continue;
            double before = apart(merge).score();
            if (1 - before <= max_gain) continue;  // no score is above 1
            double gain = scores.of(all).score() - before;
            if (gain > max_gain) best = merge, max_gain = gain;
        }
        if (best.groups.empty()) return false;
        int into = best.groups[0];
        for (int group : best.groups) {
            if (group == into) continue;
            for (int tree : groups[group]) add(tree, into);
            groups[group].clear();
        }
        for (int tree : best.trees) add(tree, into);
        return true;
    }

  public:
    SharingGroups(const std::vector<int>& job_of, const std::vector<Member>& members,
                  const std::vector<Bits>& edges, GroupScores& scores, Int most)
        : job_of(job_of), members(members), edges(edges), scores(scores), most(size_t(most)),
          group_of(edges.size(), -1), added(members.size()) {}

    // The tree of each job, as the number of a candidate; -1 for none.
    std::vector<int> trees(const std::vector<int>& independent) {
        for (int tree : independent) groups.emplace_back(), add(tree, int(groups.size()) - 1);
        for (const Merge& merge : merges())
            if (merge.groups.size() == 1)
                for (int tree : merge.trees)
                    if (!added[job_of[tree]]) add(tree, merge.groups[0]);
        while (merge_best()) {}
        std::vector<int> chosen(members.size(), -1);
        for (const std::vector<int>& group : groups)
            for (int tree : group) chosen[job_of[tree]] = tree;
        return chosen;
    }
};
