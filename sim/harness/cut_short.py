"""Resets a component under traffic: one of its tests is cut short, and then all of them run.

This is a cocotb module ahead of the tests of each component. What the traffic left in registers
must make no difference to a test that begins with a reset, as :func:`sim.harness.streams.start`
does. Inputs, and registers that a reset sets, are then as they are at the start of a simulation.

A test module in which something has to outlive a reset says so: ``OUTLIVES_RESET = "reason"``.
"""

import os
import random
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import cocotb
from amaranth.lib.wiring import Flow
from cocotb.clock import Clock
from cocotb.triggers import First, Timer

from sim.harness.clock import PERIOD_NS
from sim.harness.declared import tests_of
from sim.harness.in_simulator import component_in_simulator, declared_ports

TESTED = "tests.hdl."  #: beginning of the names of modules that this one goes ahead of
MAX_CYCLES = 400  #: of which the reset itself takes some


def with_reset(module: str) -> list[str]:
    """Return the modules to be run for the tests of ``module``: the one here first, if it is."""
    tested = module.startswith(TESTED) and not hasattr(import_module(module), "OUTLIVES_RESET")
    return [__name__, module] if tested else [module]


def selected_too(test_filter: str | None) -> str | None:
    """Return the filter of cocotb that also selects the test here."""
    return test_filter and f"{test_filter}|^{__name__}[.]"


def inputs(dut: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and handles of the inputs that the component declares."""
    for name, member in declared_ports(dut):
        if member.flow is Flow.In:
            yield name, getattr(dut, name)


@cocotb.test()
async def a_reset_comes_under_traffic(dut: Any) -> None:
    """Begin a test of the component, and end in the middle of it; both are chosen at random."""
    tests = tests_of(os.environ["COCOTB_TEST_MODULES"].rpartition(",")[2])
    expected = re.compile(os.environ["COCOTB_TEST_FILTER"])
    test = random.choice([item for item in tests if expected.search(item.fullname)])
    task = cocotb.start_soon(test.func(dut, *test.args, **test.kwargs))
    await First(task.complete, Timer(random.randint(1, MAX_CYCLES) * PERIOD_NS, "ns"))
    for _, port in inputs(dut):
        port.value = 0


@cocotb.test()
async def the_reset_takes_effect(dut: Any) -> None:
    """Hold all resets, so that no bench sees the cycle before a reset of its own has effect.

    Two clocks of which each is reset in traffic may agree on a start twice; both are waited for.
    A packet that has been cut ends meanwhile, as whoever sends it goes on: its rest is no packet.
    """
    domains = getattr(component_in_simulator(), "domains", ("sync",))
    prefixes = (f"{domain}_".removeprefix("sync_") for domain in domains)
    sides = [
        side for side in prefixes if all(hasattr(dut, f"{side}{net}") for net in ("clk", "rst"))
    ]
    for side in sides:
        Clock(getattr(dut, f"{side}clk"), PERIOD_NS, unit="ns", impl="gpi").start()
    for reset, ends, cycles in ((1, 1, 10), (1, 0, 10), (0, 0, 60 if len(sides) > 1 else 1)):
        for side in sides:
            getattr(dut, f"{side}rst").value = reset
        for name, port in inputs(dut):
            if name.endswith(("_tvalid", "_tlast")):
                port.value = ends
        await Timer(cycles * PERIOD_NS - 3, "ns")  # no edge of one clock comes without its reset
