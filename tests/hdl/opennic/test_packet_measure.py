import random

import cocotb
import pytest

from hdl.opennic.packet_measure import PacketMeasure, PacketMeasureParams
from sim.harness.axi_streams import AxiSink, AxiSource
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, crossed, edges, never, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.opennic.packets import BEAT, box_beats, frame, possible, reset_at_once


@pytest.mark.parametrize("stated", [False, True])
def test_packet_measure(stated):
    simulate(PacketMeasure(PacketMeasureParams(stated=stated)), __name__)


def mixed(count):
    """Return packets of all lengths, and how each is spoilt, if it is."""
    sizes = [1, 63, 64, 65, 127, 128, 129, 9600, *range(14, 400, 7)]
    for octets in map(frame, random.choices(sizes, k=count)):
        yield octets, random.choice([*possible(octets), *[""] * 6, "marked"])


def driven(packets):
    """Return the beats of packets, as a plain stream with the stated size beside it."""
    for octets, fault in packets:
        beats = box_beats(octets, fault=fault)
        for beat in beats:
            user = fault == "marked" if beat["tlast"] else random.getrandbits(1)
            yield {n: beat[n] for n in ("tdata", "tkeep", "tlast")} | {
                "tuser": int(user),
                **({"stated": beat["tuser_size"]} if params_in_simulator().stated else {}),
            }


class Surroundings:
    """Drives the component, and keeps what leaves it."""

    def __init__(self, dut, stall):
        beside = ["stated"] if params_in_simulator().stated else []
        self.source = AxiSource(dut, "axis", beside=beside, stall=stall)
        self.sink = AxiSink(dut, "o")
        self.sizes = Recorder(dut, "o_tvalid", {"size": None})
        self.dut = dut
        dut.room.value = 1

    def check(self, packets):
        """Check the size and the mark with each packet's end."""
        ends = [k for k, beat in enumerate(self.sink.beats) if beat["tlast"]]
        assert len(ends) == len(packets)
        for k, (octets, fault) in zip(ends, packets, strict=True):
            ignored = ("stated", "restated") if not params_in_simulator().stated else ()
            assert self.sink.beats[k]["tuser"] == (fault not in ("", *ignored)), fault
            if not fault:
                assert self.sizes.beats[k]["size"] == len(octets)


async def pace(dut, room):
    while True:
        dut.room.value = not room()
        await edges(dut.clk, 1)


@crossed(stalls=STALLS, us=200)
async def packets_are_measured_and_judged(dut, stalls):
    source, room = stalls
    around = Surroundings(dut, source)
    await start(dut)
    cocotb.start_soon(pace(dut, room))
    packets = list(mixed(120))
    beats = list(driven(packets))
    await around.source.send_all(beats)
    await edges(dut.clk, PacketMeasure.latency + 1)
    around.check(packets)
    for name in ("tdata", "tkeep", "tlast"):
        assert [beat[name] for beat in around.sink.beats] == [beat[name] for beat in beats]
    assert not any(b["tuser"] for b in around.sink.beats if not b["tlast"])
    expected = [cycle + PacketMeasure.latency for cycle in around.source.cycles]
    assert list(around.sink.cycles) == expected


@cocotb.test(timeout_time=100, timeout_unit="us")
async def the_rest_of_a_packet_that_a_reset_cut_is_marked(dut):
    if not params_in_simulator().stated:
        return
    around = Surroundings(dut, never)
    await start(dut)
    for cut in (1, 2, 5):
        octets = frame(BEAT * 6 + 10)
        beats = list(driven([(octets, random.choice(["", "restated"]))]))
        await around.source.send_all(beats[:cut])
        await reset_at_once(dut)
        assert not dut.o_tvalid.value
        first = len(around.sink.beats)
        good = frame(100)
        await around.source.send_all([*beats[cut:], *driven([(good, "")])])
        await edges(dut.clk, 4)
        assert [b["tuser"] for b in around.sink.beats[first:] if b["tlast"]] == [1, 0]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_reset_forgets_what_was_wrong(dut):
    around = Surroundings(dut, never)
    await start(dut)
    for _ in range(4):
        beats = [beat | {"tkeep": 1} for beat in driven([(frame(BEAT * 4), "")])]
        around.source.extend(beats)
        await edges(dut.clk, 2)
        await reset_at_once(dut, around.source)
        assert not dut.o_tvalid.value
        first = len(around.sink.beats)
        await around.source.send_all([*driven([(frame(300), "")])])
        await edges(dut.clk, 4)
        assert [b["tuser"] for b in around.sink.beats[first:] if b["tlast"]] == [0]
