"""Gives streams and coroutines what they need of each of two clocks in one simulation."""

import random

from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from sim.functional import watch as functional

#: periods of two clocks in ps, which never fall into step for long
RATIOS = [(4000, 2222), (2222, 4000), (3104, 4000), (4000, 4002), (900, 20002), (20002, 900)]


class Side:
    """Shows the design as a stream of one clock domain sees it, with its ``clk`` and ``rst``."""

    def __init__(self, dut, domain):
        prefix = "" if domain == "sync" else f"{domain}_"
        self.dut = dut
        self.clk = getattr(dut, f"{prefix}clk")
        self.rst = getattr(dut, f"{prefix}rst")

    def __getattr__(self, name):
        return getattr(self.dut, name)

    def __dir__(self):
        return dir(self.dut)

    async def edges(self, count=1):
        await ClockCycles(self.clk, count)

    async def reset(self, cycles):
        await RisingEdge(self.clk)
        self.rst.value = 1
        await self.edges(cycles)
        self.rst.value = 0


async def start(dut, **periods):
    """Start each domain's clock, at any phase, and reset it; return its sides, in order."""
    sides = []
    for domain, period in periods.items():
        side = Side(dut, domain)
        side.rst.value = 1
        Clock(side.clk, period, unit="ps", impl="gpi").start(start_high=random.random() < 0.5)
        await Timer(random.randrange(1, period), unit="ps")
        sides.append(side)
    for side in sides:
        await side.edges(4)
        side.rst.value = 0
    functional.begin(dut)
    return sides
