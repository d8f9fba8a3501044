// How long a training step of a job takes, and what an operation can do about it.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "setup.h"

struct Timing {
    double period = 0;                   // computing time of a step
    std::vector<double> start;           // earliest start of each operation, since the step's
    std::vector<double> plain, ina;      // durations
    std::vector<double> rest, rest_ina;  // sum of durations from an operation on
    std::vector<double> latest, latest_ina;  // end of the last one if all start as early as can be
    double none = 0, all = 0;            // a step without INA, and with INA alone

    int ops() const { return int(start.size()); }

    // End of a step whose operation k, at t, takes d, and the later ones run without INA.
    double end(double t, double d, int k) const {
        return std::max({t + d + rest[k + 1], latest[k + 1], period});
    }

    // Seconds that INA for operation k at t saves if the later ones run without it.
    double gain(double t, int k) const { return end(t, plain[k], k) - end(t, ina[k], k); }

    // Whether INA for operation k at t cannot shorten the step, even if all later ones had it.
    bool idle(double t, int k) const {
        return t + plain[k] + rest_ina[k + 1] <= std::max(latest_ina[k + 1], period);
    }

    // Least share of its time that a job must use INA for to gain all that it can; in steps that
    // make sums of needs exact, so that they do not depend on the order of jobs that come and go.
    double need(double ratio) const {
        const double fine = 1 << 20;
        return gains() ? std::round((none - all) / ((ratio - 1) * all) * fine) / fine : 0;
    }

    bool gains() const { return none > all; }
};

inline double step_time(const Timing& t, const std::vector<double>& durations) {
    double end = 0;
    for (int k = 0; k < t.ops(); ++k) end = std::max(end, t.start[k]) + durations[k];
    return std::max(end, t.period);
}

inline void sum_up(const Timing& t, const std::vector<double>& durations, std::vector<double>& rest,
                   std::vector<double>& latest) {
    rest.assign(t.ops() + 1, 0);
    latest.assign(t.ops() + 1, 0);
    for (int k = t.ops() - 1; k >= 0; --k) {
        rest[k] = rest[k + 1] + durations[k];
        latest[k] = std::max(latest[k + 1], t.start[k] + rest[k]);
    }
}

// Of model m; a job of a single host has nothing to send.
inline Timing timing_of(const Setup& s, Int m, bool single) {
    Timing t;
    t.period = s.period[m];
    for (Int k = s.begin[m]; k < s.begin[m + 1]; ++k) {
        t.start.push_back(s.start[k]);
        t.plain.push_back(s.latency + (single ? 0 : s.size[k] / s.bandwidth));
        t.ina.push_back(s.latency + (single ? 0 : s.size[k] / (s.bandwidth * s.ratio)));
    }
    sum_up(t, t.plain, t.rest, t.latest);
    sum_up(t, t.ina, t.rest_ina, t.latest_ina);
    t.none = step_time(t, t.plain);
    t.all = step_time(t, t.ina);
    return t;
}
