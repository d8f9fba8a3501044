"""Sends beats of one clock at edges of another that coincide with its own."""

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from hdl.common.crossing.async_fifo import AsyncFifo, AsyncFifoParams
from sim.harness.streams import Sink, Source, crossed
from sim.harness.verilator import simulate
from tests.hdl.common.crossing.clocks import Side

BEATS = 60


def test_coincident_clocks():
    simulate(AsyncFifo(AsyncFifoParams(shape=16, depth=4)), __name__)


@crossed(sender=["write", "read"], ratio=[1, 2], us=100)
async def no_beat_is_lost(dut, sender, ratio):
    """The design saw both edges at the same time, before a beat was offered at one of them."""
    write, read = Side(dut, "write"), Side(dut, "read")
    for side, period in ((write, 4000), (read, 4000 * ratio)):
        side.rst.value = 1
        Clock(side.clk, period, unit="ps", impl="gpi").start()
    await read.edges(4)
    write.rst.value = read.rst.value = 0
    await read.edges(4)
    source, sink = Source(write, "i"), Sink(read, "o")
    edge = RisingEdge((write if sender == "write" else read).clk)
    for number in range(BEATS):
        await edge
        source.append(number)
    await sink.wait_for(BEATS)
    assert sink.beats == list(range(BEATS))
