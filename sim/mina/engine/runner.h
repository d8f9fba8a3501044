// A job that trains: its events, and what is known of its next operation.
#pragma once

#include "timing.h"

struct Runner {
    const Timing* timing;
    int hosts;
    Int steps;  // 0: without end

    bool started = false, busy = false, ina = false, finished = false;
    Int step = 0;
    int op = 0;
    double began = 0, step_began = 0, op_began = 0;
    double next = 0;  // time of the next event
    double in_ina = 0;

    // The next operation that has not begun.
    bool has_next = false;
    double next_start = 0, next_end = 0;  // its end with INA

    Runner(const Timing& timing, int hosts, Int steps, double now)
        : timing(&timing), hosts(hosts), steps(steps), next(now) {
        look_ahead();
    }

    // Whether the next event is the start of an operation, so that INA is to be decided.
    bool decides() const { return started && !busy && op < timing->ops(); }

    // R: host seconds that INA saves for each second until the operation ends, as in the authors'
    // program; or, by `rate`, seconds that it saves for each second of INA, as in the paper.
    double worth(double now, bool rate) const {
        if (gain < 0) gain = timing->gain(next_start - next_step, next_op);
        return rate ? gain / timing->ina[next_op] : hosts * gain / (next_end - now);
    }

    // Whether INA for the next operation cannot shorten the step.
    bool next_idle() const { return timing->idle(next_start - next_step, next_op); }

    // The next event happens; `use` is the decision if one is to be made.
    void advance(bool use) {
        double now = next;
        if (!started) {
            started = true;
            began = step_began = now;
        } else if (busy) {
            busy = false;
            if (ina) in_ina += now - op_began;
            ++op;
        } else if (op < timing->ops()) {
            busy = true;
            ina = use;
            op_began = now;
        } else {
            op = 0;
            step_began = now;
            finished = ++step == steps;
        }
        double after = op < timing->ops() ? timing->start[op] : timing->period;
        next = busy ? now + (ina ? timing->ina : timing->plain)[op] : std::max(now, step_began + after);
        look_ahead();
    }

  private:
    double next_step = 0;  // begin of its step
    int next_op = 0;
    mutable double gain = -1;  // seconds that INA saves; below 0 if nobody has asked

    void look_ahead() {
        int k = op + busy;
        bool later = k == timing->ops();  // it belongs to the next step
        has_next = !finished && timing->ops() && !(later && step + 1 == steps);
        if (!has_next) return;
        double from = started ? step_began : next, now = next;
        if (later) {
            from = now = std::max(now, from + timing->period);
            k = 0;
        }
        next_start = std::max(now, from + timing->start[k]);
        next_end = next_start + timing->ina[k];
        next_step = from;
        next_op = k;
        gain = -1;
    }
};
