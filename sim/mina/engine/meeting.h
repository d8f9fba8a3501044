// Running jobs whose trees meet, and the groups that they make: who is whose rival, and which comes
// first of those with an event at one time.
#pragma once

#include "event_queue.h"
#include "random.h"

class Meeting {
    const bool whole_groups;  // are rivals, not only jobs whose trees meet
    EventQueue& queue;
    std::vector<Int> ranks;                  // of each job; none: a job has its group's rank
    std::vector<std::vector<Job*>> holders;  // of each resource; none if jobs can share it
    Int visit = 0;

    void connect(Job& job) {
        const Tree* tree = job.next_tree();
        if (!tree || holders.empty()) return;
        job.held = tree->resources;
        for (int one : job.held) {
            for (Job* other : holders[one])
                if (std::find(job.meets.begin(), job.meets.end(), other) == job.meets.end())
                    job.meets.push_back(other), other->meets.push_back(&job);
            holders[one].push_back(&job);
        }
    }

    static void drop(std::vector<Job*>& from, const Job& job) {
        *std::find(from.begin(), from.end(), &job) = from.back();
        from.pop_back();
    }

    void disconnect(Job& job) {
        for (int one : job.held) drop(holders[one], job);
        for (Job* other : job.meets) drop(other->meets, job);
        job.held.clear(), job.meets.clear();
    }

    // All jobs of the group of `start`, unless this visit has found it before.
    std::vector<Job*> group_of(Job& start) const {
        std::vector<Job*> group;
        auto take = [&](Job* job) {
            if (job->visited == visit) return;
            job->visited = visit;
            group.push_back(job);
        };
        take(&start);
        for (size_t i = 0; i < group.size(); ++i)
            for (Job* other : group[i]->meets) take(other);
        return group;
    }

    // Turns: groups last first by their first member's arrival, members first to last; or by rank.
    void regroup(const std::vector<Job*>& changed) {
        ++visit;
        for (Job* start : changed) {
            auto group = std::make_shared<std::vector<Job*>>(group_of(*start));
            int first = start->number;
            for (Job* job : *group) first = std::min(first, job->number);
            for (Job* job : *group) {
                if (whole_groups) job->group = group;
                Int turn = EventQueue::turn(ranks.empty() ? -first : ranks[job->number], job->number);
                if (job->turn == turn) continue;
                job->turn = turn;
                queue.update(*job);
            }
        }
    }

  public:
    Meeting(const Setup& s, const FatTree& net, EventQueue& queue)
        : whole_groups(!s.tree_lock), queue(queue), holders(s.capacity > 1 ? 0 : net.resources()) {
        Lehmer random{uint64_t(s.ties)};
        for (Int j = 0; s.ties && j < s.jobs; ++j) ranks.push_back(Int(random.draw()));
    }

    // A rival is another job of the group, or one whose tree meets; a group has the job itself too.
    const std::vector<Job*>& rivals(const Job& job) const { return whole_groups ? *job.group : job.meets; }

    void join(Job& job) {
        job.turn = EventQueue::turn(0, job.number);
        queue.add(job);
        connect(job);
        regroup({&job});
    }

    void leave(Job& job) {
        queue.remove(job);
        std::vector<Job*> met = job.meets;
        disconnect(job);
        regroup(met);
    }

    // Any job may have another tree than before.
    void rebuild(const std::vector<Job*>& running) {
        for (Job* job : running) disconnect(*job);
        for (Job* job : running) connect(*job);
        regroup(running);
    }
};
