// A cluster and its jobs, from the first arrival to the last end.
#pragma once

#include <chrono>

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
    std::vector<int> used;        // operations that use each resource now
    std::vector<Job*> running;    // in the order of arrival
    std::vector<Job*> order;      // of events at one time
    std::vector<std::vector<const Runner*>> rivals;  // by job: those that share with it
    Int queued = 0;               // the first job that has no hosts yet
    std::vector<uint64_t> rank;   // of each job at one time, if `ties` shuffles them

    // Aware placement: hosts of a leaf are dear if that fills more of its switch than this share.
    static constexpr double filled = 0.34375, dearness = 4;

    struct Stopwatch {
        double& sum;
        std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
        explicit Stopwatch(double& sum) : sum(sum) {}
        ~Stopwatch() { sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }
    };

    std::vector<int> hosts_for(const Job& job) {
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
            job.run.emplace(*job.timing, job.count, job.steps, now);
            job.run->number = job.number;
            running.push_back(&job);
            Stopwatch watch(setup.trees_seconds);
            building.arrive(job);
        }
        {
            Stopwatch watch(setup.trees_seconds);
            building.rebuild(running);
        }
        for (; before < queued; ++before) setup.conflicts[before] = !jobs[before].next_tree();
        form_groups();
    }

    // Whose trees meet, and in which order they come at one time: groups last first by their first
    // member's arrival, members first to last. `ties` shuffles that order.
    void form_groups() {
        int count = int(running.size());
        std::vector<int> first(count);
        std::vector<std::vector<int>> meets(count);
        for (int i = 0; i < count; ++i) first[i] = i;
        auto find = [&](int i) {
            while (first[i] != i) i = first[i];
            return i;
        };
        for (int a = 0; a < count; ++a) {
            const Tree* mine = running[a]->next_tree();
            if (!mine || mine->resources.empty() || setup.capacity > 1) continue;
            for (int b = 0; b < a; ++b) {
                const Tree* other = running[b]->next_tree();
                if (!other || !mine->bits.meets(other->bits)) continue;
                meets[a].push_back(b), meets[b].push_back(a);
                int x = find(a), y = find(b);
                first[std::max(x, y)] = std::min(x, y);
            }
        }
        for (int a = 0; a < count; ++a) first[a] = find(a);
        for (int a = 0; a < count; ++a) {
            std::vector<const Runner*>& mine = rivals[running[a]->number];
            mine.clear();
            if (setup.tree_lock)
                for (int b : meets[a]) mine.push_back(&*running[b]->run);
            else if (!meets[a].empty())
                for (int b = 0; b < count; ++b)
                    if (first[b] == first[a] && b != a) mine.push_back(&*running[b]->run);
        }
        std::vector<std::pair<std::pair<uint64_t, int>, Job*>> keys;
        for (int a = 0; a < count; ++a) {
            uint64_t key = setup.ties ? rank[running[a]->number] : uint64_t(count - first[a]);
            keys.push_back({{key, a}, running[a]});
        }
        std::sort(keys.begin(), keys.end());
        order.clear();
        for (auto& [key, job] : keys) order.push_back(job);
    }

    bool may_use(const Job& job) const {
        if (!job.has_tree) return false;
        if (!setup.tree_lock)
            for (const Runner* rival : rivals[job.number])
                if (rival->busy && rival->ina) return false;
        for (int one : job.tree.resources)
            if (used[one] >= setup.capacity) return false;
        return true;
    }

    bool decide(const Job& job, double now) const {
        if (!may_use(job)) return false;
        auto blocked = [&](const Runner* rival) {
            for (const Runner* other : rivals[rival->number])
                if (other->busy && other->ina && other->next > rival->next_start) return true;
            return false;
        };
        return use_ina(setup.sharing, *job.run, now, rivals[job.number], blocked);
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
        if (run.finished) finish(job, now);
    }

    void finish(Job& job, double now) {
        setup.begun[job.number] = job.run->began;
        setup.finished[job.number] = now;
        setup.in_ina[job.number] = job.run->in_ina;
        setup.migrations[job.number] = job.migrations;
        setup.root[job.number] = job.has_tree ? job.tree.root : -1;
        for (int host : job.hosts) free[host] = true;
        running.erase(std::find(running.begin(), running.end(), &job));
        building.leave(job);
        start_jobs(now);
    }

    Job* next_job() const {
        Job* found = nullptr;
        double least = std::numeric_limits<double>::infinity();
        for (Job* job : order)
            if (job->run->next < least) found = job, least = job->run->next;
        return found;
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
          building(s, net), free(net.hosts, true), used(net.resources()), rivals(s.jobs) {
        Lehmer random{uint64_t(s.ties)};
        for (Int j = 0; j < s.jobs; ++j) {
            rank.push_back(random.draw());
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
            Job* job = next_job();
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
