// A job: what was asked for, where it runs, and how it trains.
#pragma once

#include <memory>
#include <optional>

#include "fat_tree.h"
#include "runner.h"

struct Job {
    int number;
    const Timing* timing;
    int count;  // of hosts
    Int steps;
    std::vector<int> hosts;
    std::optional<Runner> run;
    std::vector<Tree> candidates;

    bool has_tree = false, uses = false;  // `uses`: an operation holds the tree right now
    Tree tree;
    bool moves = false, moves_to_tree = false;  // at the end of that operation
    Tree coming;
    Int migrations = 0;

    Int turn = 0, visited = 0;  // at one time, the job with the least turn comes first
    std::vector<int> held;      // resources by which `meets` was found
    std::vector<Job*> meets;
    std::shared_ptr<const std::vector<Job*>> group;  // if a lock is a group's

    // The tree of its next operations, or nullptr.
    const Tree* next_tree() const {
        if (moves) return moves_to_tree ? &coming : nullptr;
        return has_tree ? &tree : nullptr;
    }

    void set_tree(const Tree* wanted) {
        moves = true;
        moves_to_tree = wanted;
        if (wanted) coming = *wanted;
        if (!uses) move();
    }

    void move() {
        if (!moves) return;
        moves = false;
        if (has_tree && moves_to_tree && tree.root != coming.root) ++migrations;
        has_tree = moves_to_tree;
        if (has_tree) tree = coming;
    }
};

inline const Runner* runner_of(const Job* job) { return &*job->run; }
