// A cluster and its jobs, from the first arrival to the last end.
#pragma once

#include <chrono>

#include "meeting.h"
#include "placement.h"
#include "tree_building.h"

class Simulator {
    Setup& setup;
    FatTree net;
    std::vector<int> down;
    std::vector<Timing> timings;  // of each model: with a single host, with more
    std::vector<Job> jobs;
    TreeBuilding building;

    std::vector<char> free;       // hosts
    int vacant;                   // number of free hosts
    std::vector<int> used;        // operations that use each resource now
    std::vector<Job*> running;    // in the order of arrival
    EventQueue queue;             // of running jobs
    Meeting meeting;
    Int queued = 0;               // the first job that has no hosts yet

    // Aware placement: hosts of a leaf are dear if that fills more of its switch than this share.
    static constexpr double filled = 0.34375, dearness = 4;

    struct Stopwatch {
        double& sum;
        std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
        explicit Stopwatch(double& sum) : sum(sum) {}
        ~Stopwatch() { sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }
    };

    std::vector<int> hosts_for(const Job& job) {
        if (job.count > vacant) return {};
        Stopwatch watch(setup.placement_seconds);
        if (setup.placement == PLACE_FIRST) return place_first(free, job.count);
        double need = setup.placement == PLACE_AWARE ? job.timing->need(setup.ratio) : 0;
        auto penalty = [&](int leaf) {
            double over = building.load_of_leaf(leaf) + need - filled * double(setup.capacity);
            return need > 0 ? dearness * std::max(0.0, over) : 0;
        };
        return FragmentPlacement(down, free, setup.alpha, penalty, job.count).place();
    }

    // Starts all jobs that have arrived and find hosts, first come, first served.
    void start_jobs(double now) {
        Int before = queued;
        for (; queued < setup.jobs && setup.arrival[queued] <= now; ++queued) {
            Job& job = jobs[queued];
            job.hosts = hosts_for(job);
            if (job.hosts.empty()) break;
            for (int host : job.hosts) free[host] = false;
            vacant -= job.count;
            job.run.emplace(*job.timing, job.count, job.steps, now);
            running.push_back(&job);
            Stopwatch watch(setup.trees_seconds);
            building.arrive(job);
            meeting.join(job);
        }
        {
            Stopwatch watch(setup.trees_seconds);
            if (building.rebuild(running)) meeting.rebuild(running);
        }
        for (; before < queued; ++before) setup.conflicts[before] = !jobs[before].next_tree();
    }

    bool may_use(const Job& job) const {
        if (!job.has_tree) return false;
        if (!setup.tree_lock)
            for (const Job* rival : meeting.rivals(job))
                if (rival->run->busy && rival->run->ina) return false;
        for (int one : job.tree.resources)
            if (used[one] >= setup.capacity) return false;
        return true;
    }

    bool decide(const Job& job, double now) const {
        if (!may_use(job)) return false;
        auto blocked = [&](const Job* rival) {
            for (const Job* each : meeting.rivals(*rival)) {
                const Runner& other = *each->run;
                if (other.busy && other.ina && other.next > rival->run->next_start) return true;
            }
            return false;
        };
        return use_ina(setup.sharing, *job.run, now, meeting.rivals(job), blocked);
    }

    void hold(Job& job, int change) {
        job.uses = change > 0;
        for (int one : job.tree.resources) used[one] += change;
    }

    void log(const Job& job) {
        if (setup.logged < setup.log_room)
            setup.log[setup.logged++] = {job.number, job.run->op, job.run->ina, job.run->op_began, job.run->next};
    }

    void advance(Job& job) {
        Runner& run = *job.run;
        double now = run.next;
        bool ends = run.busy, use = run.decides() && decide(job, now);
        if (ends) log(job);
        if (job.uses && ends) {
            for (int one : job.tree.switches) setup.busy[one] += now - run.op_began;
            hold(job, -1);
            job.move();
        }
        if (use) hold(job, 1);
        run.advance(use);
        ++setup.events;
        if (run.finished)
            finish(job, now);
        else
            queue.update(job);
    }

    void finish(Job& job, double now) {
        setup.begun[job.number] = job.run->began;
        setup.finished[job.number] = now;
        setup.in_ina[job.number] = job.run->in_ina;
        setup.migrations[job.number] = job.migrations;
        setup.root[job.number] = job.has_tree ? job.tree.root : -1;
        for (int host : job.hosts) free[host] = true;
        vacant += job.count;
        running.erase(std::find(running.begin(), running.end(), &job));
        building.leave(job);
        meeting.leave(job);
        start_jobs(now);
    }

    static std::vector<Timing> all_timings(const Setup& s) {
        std::vector<Timing> made;
        for (Int m = 0; m < s.models; ++m)
            for (bool single : {true, false}) made.push_back(timing_of(s, m, single));
        return made;
    }

  public:
    explicit Simulator(Setup& s)
        : setup(s), net(s), down(s.down, s.down + s.layers), timings(all_timings(s)),
          building(s, net), free(net.hosts, true), vacant(net.hosts), used(net.resources()), queue(s.jobs), meeting(s, net, queue) {
        for (Int j = 0; j < s.jobs; ++j) {
            jobs.push_back(Job());
            Job& job = jobs.back();
            job.number = int(j);
            job.timing = &timings[2 * s.model[j] + (s.hosts[j] > 1)];
            job.count = int(s.hosts[j]);
            job.steps = s.steps[j];
        }
    }

    void run() {
        Stopwatch watch(setup.seconds);
        double now = 0;
        start_jobs(now);
        while (true) {
            int number = queue.first();
            Job* job = number < 0 ? nullptr : &jobs[number];
            bool comes = queued < setup.jobs && setup.arrival[queued] > now;
            if (!job && !comes) break;
            if (comes && (!job || setup.arrival[queued] <= job->run->next)) {
                start_jobs(now = setup.arrival[queued]);
            } else {
                now = job->run->next;
                advance(*job);
            }
        }
        for (const Job& job : jobs)
            setup.taken = std::copy(job.hosts.begin(), job.hosts.end(), setup.taken);
        setup.simulated_groups = building.simulated_groups();
        setup.simulated_events = building.simulated_events();
    }
};
