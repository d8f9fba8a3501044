"""Reads and writes by the compiled master, from Python that wakes at an edge or between two."""

import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge, Timer

from sim.harness.axi_master import CompiledMaster
from sim.harness.clock import PERIOD_NS
from sim.harness.streams import start
from sim.harness.verilator import simulate
from tests.long import short_and_long
from tests.sim.harness.components import Word, WordParams


@pytest.mark.parametrize("clock", short_and_long(["cocotb's", "its own"], ["cocotb's"]))
def test_axi_master(clock, monkeypatch):
    monkeypatch.setenv("INGATHER_OPTIMISE", "1")
    simulate(Word(WordParams()), __name__, optimise=clock == "its own")


@cocotb.test(timeout_time=100, timeout_unit="us")
async def each_transfer_moves_once_whenever_python_wakes(dut):
    """The slave's readies follow its valids in the same cycle."""
    await start(dut)
    master = CompiledMaster(dut, "s_axil")
    for count in range(1, 100):
        word = random.getrandbits(32).to_bytes(4, "little")
        await wakes(dut)
        await master.write(0, word)
        await wakes(dut)
        assert (await master.read(0, 4)).data == word
        await wakes(dut)
        assert (await master.read(4, 4)).data == count.to_bytes(4, "little")


async def wakes(dut):
    """Go on at an edge, between two, or at the time of an edge, before it or behind it."""
    kind, gap = random.randrange(3), random.randrange(1, 4)
    if kind:
        await RisingEdge(dut.clk)
        await Timer(gap * PERIOD_NS, "ns")
    if kind == 1:
        await Timer(random.randrange(1, 1000 * PERIOD_NS), "ps")
