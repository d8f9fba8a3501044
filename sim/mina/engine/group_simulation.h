// Jobs that share one switch, simulated alone: what a sharing group would gain.
#pragma once

#include "sharing.h"

struct Member {
    const Timing* timing;
    int hosts;
};

// Times of jobs, multiplied by their hosts.
struct Totals {
    double time = 0, none = 0, all = 0;

    bool gains() const { return none > all; }
    double score() const { return (none - time) / (none - all); }

    Totals& operator+=(const Totals& other) {
        time += other.time, none += other.none, all += other.all;
        return *this;
    }
};

// Whole steps of all members within `steps` times the longest step; events are counted.
inline Totals simulate_group(const std::vector<Member>& members, Int steps, Int sharing, Int& events) {
    std::vector<Runner> jobs;
    std::vector<const Runner*> all;
    double limit = 0;
    for (const Member& one : members) {
        jobs.emplace_back(*one.timing, one.hosts, 0, 0.0);
        limit = std::max(limit, double(steps) * one.timing->none);
    }
    for (const Runner& one : jobs) all.push_back(&one);
    std::vector<std::pair<double, size_t>> queue;  // next event of each job, in order
    for (size_t i = 0; i < jobs.size(); ++i) queue.emplace_back(0.0, i);
    const Runner* user = nullptr;  // of the switch
    double now = 0;
    while (now <= limit) {
        size_t number = queue[0].second;
        Runner* job = &jobs[number];
        now = queue[0].first;
        ++events;
        if (job == user) user = nullptr;
        bool use = job->decides() && !user &&
                   use_ina(sharing, *job, now, all, [](const Runner*) { return false; });
        if (use) user = job;
        job->advance(use);
        std::pair<double, size_t> event(job->next, number);
        size_t at = 0;
        for (; at + 1 < queue.size() && queue[at + 1] < event; ++at) queue[at] = queue[at + 1];
        queue[at] = event;
    }
    Totals sum;
    for (const Runner& one : jobs) {
        sum.time += one.hosts * (one.step_began - one.began);
        sum.none += one.hosts * (one.timing->none * one.step);
        sum.all += one.hosts * (one.timing->all * one.step);
    }
    return sum;
}
