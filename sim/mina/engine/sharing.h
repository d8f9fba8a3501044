// Which operations use INA, of jobs whose trees meet.
#pragma once

#include "runner.h"

inline const Runner* runner_of(const Runner* runner) { return runner; }

// Whether `job`, whose tree is free, is to use INA for the operation that it starts now. A rival is
// another job of its group, with a runner. `blocked(rival)`: others keep the rival's tree busy beyond its start.
template <class Rivals, class Blocked>
bool use_ina(Int sharing, const Runner& job, double now, const Rivals& rivals, Blocked blocked) {
    if (sharing == SHARE_NEVER) return false;
    if (sharing == SHARE_GREEDY) return true;
    bool best = sharing == SHARE_BEST;
    if (best && job.next_idle()) return false;
    bool rate = sharing == SHARE_RATE;
    // Jobs of one model have equal rates, which rounding must not tell apart.
    double worth = job.worth(now, rate) + (rate ? 1e-6 : 0);
    for (const auto* each : rivals) {
        const Runner* rival = runner_of(each);
        if (rival != &job && rival->has_next && rival->next_start < job.next_end &&
            rival->worth(now, rate) > worth && !(best && (rival->next_idle() || blocked(each))))
            return false;
    }
    return true;
}
