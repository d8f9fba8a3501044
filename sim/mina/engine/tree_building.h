// Which tree each running job gets.
#pragma once

#include <tuple>

#include "groups.h"
#include "independent_set.h"
#include "job.h"
#include "random.h"

class TreeBuilding {
    const Setup& setup;
    const FatTree& net;
    Lehmer random;
    GroupScores scores;
    std::vector<double> load;  // sum of needs, or number of trees, by resource

    double need(const Job& job) const { return job.timing->need(setup.ratio); }
    bool spreads() const { return setup.trees == TREES_SPREAD; }
    double weight(const Job& job) const { return spreads() ? need(job) : 1; }

    void sample(Job& job) {
        Int roots = net.roots(job.hosts), left = std::min(roots, setup.candidates);
        for (Int root = 0; left; ++root)
            if (left == roots - root || Int(random.below(uint64_t(roots - root))) < left) {
                job.candidates.push_back(net.tree(job.hosts, root));
                --left;
            }
    }

    // The first root of which every resource has room for another job.
    void give_first(Job& job) {
        for (Int root = 0; root < net.roots(job.hosts); ++root) {
            Tree tree = net.tree(job.hosts, root);
            bool room = true;
            for (int one : tree.resources) room &= load[one] < double(setup.capacity);
            if (room) return give(job, tree);
        }
    }

    // The root that overloads least, then the one whose fullest resource is least full.
    void give_spread(Job& job) {
        if (!job.timing->gains()) return;
        Tree best;
        double least_over = 0, least_most = 0, least_sum = 0;
        for (Int root = 0; root < net.roots(job.hosts); ++root) {
            Tree tree = net.tree(job.hosts, root);
            double over = 0, most = 0, sum = 0;
            for (int one : tree.resources) {
                over += std::max(0.0, load[one] + need(job) - double(setup.capacity));
                most = std::max(most, load[one]);
                sum += load[one];
            }
            if (!root || std::tie(over, most, sum) < std::tie(least_over, least_most, least_sum))
                best = tree, least_over = over, least_most = most, least_sum = sum;
        }
        give(job, best);
    }

    void give(Job& job, const Tree& tree) {
        for (int one : tree.resources) load[one] += weight(job);
        job.set_tree(&tree);
    }

    // All candidates of jobs that may have a tree, with what an independent set of them needs.
    struct Graph {
        std::vector<const Tree*> trees;
        std::vector<int> job_of;
        std::vector<Bits> edges;
    };

    Graph graph(const std::vector<Job*>& running, bool useful) const {
        Graph made;
        for (int j = 0; j < int(running.size()); ++j)
            if (!useful || running[j]->timing->gains())
                for (const Tree& tree : running[j]->candidates)
                    made.trees.push_back(&tree), made.job_of.push_back(j);
        return made;
    }

    void connect(Graph& g) const {
        int count = int(g.trees.size());
        g.edges.assign(count, Bits(count));
        for (int a = 0; a < count; ++a)
            for (int b = 0; b < a; ++b)
                if (g.job_of[a] == g.job_of[b] || g.trees[a]->bits.meets(g.trees[b]->bits))
                    g.edges[a].set(b), g.edges[b].set(a);
    }

    void build_groups(const std::vector<Job*>& running) {
        Graph g = graph(running, false);
        connect(g);
        std::vector<Member> members;
        for (const Job* job : running) members.push_back({job->timing, job->count});
        std::vector<int> independent = IndependentSet(g.edges).find();
        SharingGroups groups(g.job_of, members, g.edges, scores, setup.max_shared);
        std::vector<int> chosen = groups.trees(independent);
        for (size_t j = 0; j < running.size(); ++j)
            running[j]->set_tree(chosen[j] < 0 ? nullptr : g.trees[chosen[j]]);
    }

    void build_exact(const std::vector<Job*>& running) {
        Graph g = graph(running, true);
        std::vector<Int> job, begin{0}, switches, chosen(g.trees.size());
        for (size_t i = 0; i < g.trees.size(); ++i) {
            job.push_back(running[g.job_of[i]]->number);
            for (int one : g.trees[i]->resources) switches.push_back(one);
            begin.push_back(Int(switches.size()));
        }
        if (!g.trees.empty())
            setup.solver(Int(g.trees.size()), job.data(), begin.data(), switches.data(), chosen.data());
        std::vector<const Tree*> given(running.size());
        for (size_t i = 0; i < g.trees.size(); ++i)
            if (chosen[i]) given[g.job_of[i]] = g.trees[i];
        for (size_t j = 0; j < running.size(); ++j) running[j]->set_tree(given[j]);
    }

  public:
    TreeBuilding(const Setup& setup, const FatTree& net)
        : setup(setup), net(net), random(uint64_t(42 + setup.ties)),
          scores(setup.shared_steps, setup.sharing == SHARE_RATE ? SHARE_RATE : SHARE_R),
          load(net.resources()) {}

    double load_of_leaf(int leaf) const { return net.leaf_load(leaf, load); }
    Int simulated_groups() const { return scores.groups; }
    Int simulated_events() const { return scores.events; }

    // A job has found its hosts.
    void arrive(Job& job) {
        if (setup.trees == TREES_FIRST)
            give_first(job);
        else if (spreads())
            give_spread(job);
        else
            sample(job);
    }

    void leave(const Job& job) {
        const Tree* tree = job.next_tree();
        if (!tree || !(setup.trees == TREES_FIRST || spreads())) return;
        for (int one : tree->resources) load[one] -= weight(job);
    }

    // Jobs have arrived or left; whether running jobs may have other trees now.
    bool rebuild(const std::vector<Job*>& running) {
        if (setup.trees == TREES_MIS) build_groups(running);
        if (setup.trees == TREES_EXACT) build_exact(running);
        return setup.trees == TREES_MIS || setup.trees == TREES_EXACT;
    }
};
