// The clock `clk` of a design, driven by the simulator's main loop, without a callback of cocotb's
// for each edge.
//
// The library of `stimulus/` finds `ingather_clock` in simulators whose main includes this. The
// clock changes, and who waits for its edge is called, before the design is evaluated: as with a
// clock of cocotb's that is set immediately.
#pragma once

#include <algorithm>

#include "Vtop.h"
#include "verilated_vpi.h"

struct DrivenClock {
    CData* port = nullptr;
    vluint64_t half = 0;               // steps between two edges
    vluint64_t next = ~vluint64_t{0};  // time of the next edge; all ones while it stands still
    void (*rises)(void*) = nullptr;
    void* data = nullptr;

    void act(vluint64_t now) {
        if (now != next) return;
        next = now + half;
        *port = !*port;
        if (*port) rises(data);
    }
};

static DrivenClock driven;

template <typename Top>
auto clock_of(Top* top, int) -> decltype(static_cast<CData*>(&top->clk)) {
    return &top->clk;
}

template <typename Top>
CData* clock_of(Top*, long) {  // it has no such port
    return nullptr;
}

// Let `clk` rise now, if it is low, and change every `half` steps; stop it without `rises`. Returns
// whether the design has such a clock.
extern "C" int ingather_clock(vluint64_t half, void (*rises)(void*), void* data) {
    if (!driven.port) return 0;
    driven.half = half;
    driven.rises = rises;
    driven.data = data;
    const vluint64_t now = static_cast<vluint64_t>(sc_time_stamp());
    driven.next = rises ? now + (*driven.port ? half : 0) : ~vluint64_t{0};
    return 1;
}
