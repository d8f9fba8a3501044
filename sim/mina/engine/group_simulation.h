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
    const Runner* user = nullptr;  // of the switch
    double now = 0;
    while (now <= limit) {
        Runner* job = &jobs[0];
        for (Runner& one : jobs)
            if (one.next < job->next) job = &one;
        now = job->next;
        ++events;
        if (job == user) user = nullptr;
        bool use = job->decides() && !user &&
                   use_ina(sharing, *job, now, all, [](const Runner*) { return false; });
        if (use) user = job;
        job->advance(use);
    }
    Totals sum;
    for (const Runner& one : jobs) {
        sum.time += one.hosts * (one.step_began - one.began);
        sum.none += one.hosts * (one.timing->none * one.step);
        sum.all += one.hosts * (one.timing->all * one.step);
    }
    return sum;
}
