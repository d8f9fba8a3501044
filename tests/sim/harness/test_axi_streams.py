"""Drives and watches AXI4-Streams and plain ports, through a component that adds 1."""

import random
from dataclasses import dataclass

import cocotb
from amaranth.lib.wiring import In, Out, Signature
from cocotb.triggers import RisingEdge

from hdl.common.component import Component
from sim.harness.axi_streams import AxiMonitor, AxiSink, AxiSource
from sim.harness.mismatch import Mismatch
from sim.harness.plays import play
from sim.harness.pulses import Noise, Pulses
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, crossed, cycle, edges, start
from sim.harness.verilator import simulate

FREE = {"tvalid": Out(1), "tdata": Out(40), "tlast": Out(1)}
HELD = FREE | {"tready": In(1)}
BEATS = [{"tdata": k * 0x123456789 & (1 << 40) - 2, "tlast": k % 3 == 0} for k in range(60)]
ADDED = [{"tdata": beat["tdata"] + 1, "tlast": beat["tlast"]} for beat in BEATS]


@dataclass(frozen=True, kw_only=True)
class AddParams:
    pass


class Add(Component):
    """Outputs ``tdata + 1``: on ``free`` a cycle later, on ``held``, which can wait, at once."""

    def __init__(self, params):
        ports = {"free": FREE, "held": HELD}
        ways = {"i": In, "o": Out}
        super().__init__(
            params,
            {
                f"{path}_{name}": ways[path](Signature(p))
                for name, p in ports.items()
                for path in ways
            },
        )

    def build(self, m):
        for name, domain in (("free", m.d.sync), ("held", m.d.comb)):
            i, o = (getattr(self, f"{path}_{name}") for path in "io")
            domain += [
                o.tvalid.eq(i.tvalid),
                o.tdata.eq((i.tdata + 1)[:40]),
                o.tlast.eq(i.tlast),
            ]
        m.d.comb += self.i_held.tready.eq(self.o_held.tready)


def test_axi_streams():
    simulate(Add(AddParams()), __name__)


@crossed(stalls=STALLS, us=100)
async def beats_pass_with_ready_and_without(dut, stalls):
    await start(dut)
    free, held = (AxiSource(dut, f"i_{name}", stall=stalls.value[0]) for name in ("free", "held"))
    watched = AxiMonitor(dut, "o_free")
    sink = AxiSink(dut, "o_held", stall=stalls.value[1])
    seen = AxiMonitor(dut, "i_held")
    for source in (free, held):
        for beat in BEATS:
            source.append(beat)
    await sink.wait_for(len(BEATS))
    await watched.wait_for(len(BEATS))
    await edges(dut.clk, 5)
    assert watched.beats == sink.beats == ADDED
    assert seen.beats == BEATS
    assert seen.cycles == sink.cycles == held.cycles
    assert watched.cycles == [moment + 1 for moment in free.cycles]
    if stalls.absent:
        assert free.cycles == list(range(free.cycles[0], free.cycles[0] + len(BEATS)))


async def watch_what_waits(dut, lets_go):
    """Let a waiting beat change, move, and another one go away; return what a monitor saw."""
    await start(dut)
    watched = AxiMonitor(dut, "o_held")
    if lets_go:
        watched.let_go()
    dut.i_held_tvalid.value, dut.i_held_tlast.value = 1, 0
    for number in range(6):
        dut.o_held_tready.value, dut.i_held_tdata.value = number == 2, number
        await RisingEdge(dut.clk)
    dut.i_held_tvalid.value = 0
    await edges(dut.clk, 5)
    return watched.beats


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_beat_may_go_where_a_monitor_lets_it(dut):
    assert await watch_what_waits(dut, True) == [{"tdata": 3, "tlast": 0}]


@cocotb.test(timeout_time=100, timeout_unit="us", expect_error=Mismatch)
async def a_beat_that_waits_must_stay(dut):
    await watch_what_waits(dut, False)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def ports_show_what_is_played(dut):
    """A list of cycles begins behind this edge; ports are recorded in all cycles."""
    await start(dut)
    seen = Recorder(dut, "", {"i_free_tvalid": None, "i_free_tdata": None})
    cycles = [
        {"i_free_tvalid": random.getrandbits(1), "i_free_tdata": random.getrandbits(40)}
        for _ in range(50)
    ]
    first = cycle()
    await play(dut, cycles)
    assert cycle() == first + 50
    await edges(dut.clk, 2)
    assert seen.beats == [*cycles, *cycles[-1:] * 2]
    assert seen.cycles == list(range(first + 1, first + 53))


@cocotb.test(timeout_time=100, timeout_unit="us")
async def pulses_come_when_they_are_due(dut):
    """None overtakes another; ports show garbage in all other cycles, unless that is off."""
    await start(dut)
    pulses, noise = Pulses(dut, "i_free_tvalid", "i_free_tdata"), Noise(dut, "i_held_tdata")
    ports = ("i_free_tvalid", "i_free_tdata", "i_held_tdata")
    seen, first = Recorder(dut, "", dict.fromkeys(ports)), cycle()
    for data, wait in ((1, 5), (2, 3), (3, 9)):
        pulses.later({"i_free_tdata": data}, wait)
    await edges(dut.clk, 20)
    noise.set(False)
    await edges(dut.clk, 20)
    assert pulses.cycles == [first + wait + 1 for wait in (5, 6, 9)]
    assert [item["i_free_tdata"] for item in seen.beats if item["i_free_tvalid"]] == [1, 2, 3]
    assert len({item["i_free_tdata"] for item in seen.beats[1:]}) == 39
    assert len({item["i_held_tdata"] for item in seen.beats[1:20]}) == 19
    assert len({item["i_held_tdata"] for item in seen.beats[20:]}) == 1
