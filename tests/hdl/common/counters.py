"""Draws counters and events, and selects counters as hardware does."""

import random

from cocotb.triggers import ClockCycles

from hdl.common.counter_bank import CounterBank
from hdl.common.event_counters import CountersParams


def some_counters(count, bits):
    """Draw counters to each of which a cycle adds one, two or three bits."""
    counters = tuple((f"event_{k}", 1 + k % 3) for k in range(count))
    return CountersParams(name="test", counters=counters, bits=bits)


def registers_of(dut, params):
    """Return the registers of counters by their names; ``dut`` is an EventCounters."""
    groups = params.groups
    parts = [dut] if len(groups) == 1 else [getattr(dut, f"group_{k}") for k in range(len(groups))]
    return {
        name: getattr(part, name)
        for part, group in zip(parts, groups, strict=True)
        for name, _ in group.counters
    }


def some_events(params):
    """Draw what a cycle adds to each counter."""
    return {name: random.getrandbits(bits) for name, bits in params.counters}


async def selected(dut, names, latency=CounterBank.latency):
    """Select one counter after the other; return their values, by ``names`` in their order."""
    result = {}
    for k, name in enumerate(names):
        dut.select.value = k
        await ClockCycles(dut.clk, latency + 1)
        result[name] = int(dut.value.value)
    return result


CYCLES = 2500  # with a look at each


def cleared(k):
    """Draw whether counters are cleared in cycle ``k``: often at first, later never."""
    return int(k < 500 and random.random() < 0.05)
