"""Has a component with faults to choose from, and cocotb tests that find them."""

import itertools
from dataclasses import dataclass

import cocotb
import numpy as np
from amaranth.hdl import Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from cocotb.triggers import RisingEdge

from hdl.common.component import Component
from sim.harness.streams import Monitor, Sink, Source, never, start

BEAT = data.StructLayout({"tag": 4, "data": 8})
SOUND, CORRUPTS, LOSES, STOPS, CHANGES = range(5)
WRONG = 5  #: which beat it is that goes wrong


@dataclass(frozen=True, kw_only=True)
class RelayParams:
    pass


class Relay(Component):
    """Outputs ``o``, which is ``i`` except for a beat that ``fault`` spoils, and ``total``, the
    data's sum.
    """

    def __init__(self, params):
        super().__init__(
            params,
            i=In(stream.Signature(BEAT)),
            o=Out(stream.Signature(BEAT)),
            fault=In(3),
            total=Out(16),
        )

    def build(self, m):
        count, waited = Signal(8), Signal()
        now = count == WRONG
        lost = now & (self.fault == LOSES)
        stuck = now & (self.fault == STOPS)
        wrong = now & ((self.fault == CORRUPTS) | (waited & (self.fault == CHANGES)))
        m.d.comb += [
            self.o.payload.eq(self.i.payload),
            self.o.valid.eq(self.i.valid & ~lost & ~stuck),
            self.i.ready.eq((self.o.ready | lost) & ~stuck),
        ]
        with m.If(wrong):
            m.d.comb += self.o.payload.data.eq(self.i.payload.data ^ 0x81)
        m.d.sync += waited.eq(self.o.valid & ~self.o.ready)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += count.eq(count + 1)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += self.total.eq(self.total + 0x100 + self.o.payload.data)


BEATS = [{"tag": k, "data": 3 * k + 1} for k in range(12)]
BAD = {"tag": WRONG, "data": BEATS[WRONG]["data"] ^ 0x81}


async def relay(dut, fault, count=12, stall=never):
    """Send BEATS; return source and sink once ``count`` have come out."""
    dut.fault.value = fault
    await start(dut)
    source, sink = Source(dut, "i"), Sink(dut, "o", stall=stall)
    for beat in BEATS:
        source.append(beat)
    await sink.wait_for(count)
    return source, sink


@cocotb.test
async def whole_beats(dut):
    _, sink = await relay(dut, CORRUPTS)
    assert sink.beats == BEATS


@cocotb.test
async def expected_on_the_left(dut):
    _, sink = await relay(dut, CORRUPTS)
    assert BEATS[3:] == sink.beats[3:]


@cocotb.test
async def one_field_of_each(dut):
    _, sink = await relay(dut, CORRUPTS)
    assert [beat["data"] for beat in sink.beats] == [beat["data"] for beat in BEATS]


@cocotb.test
async def in_a_loop(dut):
    _, sink = await relay(dut, CORRUPTS)
    for beat, sent in zip(sink.beats, BEATS, strict=True):
        assert beat["data"] - 1 == sent["data"] - 1


@cocotb.test
async def against_what_went_in(dut):
    watch = Monitor(dut, "i")
    _, sink = await relay(dut, CORRUPTS)
    assert watch.beats == sink.beats


@cocotb.test
async def as_an_array(dut):
    _, sink = await relay(dut, CORRUPTS)
    received = np.array([beat["data"] for beat in sink.beats])
    assert (received == [beat["data"] for beat in BEATS]).all()


@cocotb.test
async def as_equal_arrays(dut):
    _, sink = await relay(dut, CORRUPTS)
    received = np.array([beat["data"] for beat in sink.beats])
    assert np.array_equal(received, [beat["data"] for beat in BEATS])


@cocotb.test
async def one_is_lost(dut):
    _, sink = await relay(dut, LOSES, len(BEATS) - 1)
    assert sink.beats == BEATS


@cocotb.test
async def one_is_too_many(dut):
    _, sink = await relay(dut, SOUND)
    assert sink.beats == BEATS[:-1]


@cocotb.test
async def none_is_missing_at_the_end(dut):
    _, sink = await relay(dut, SOUND)
    assert sink.beats[:4] == [beat for beat in BEATS if beat["tag"] < 5]


@cocotb.test
async def cycles_of_beats(dut):
    source, sink = await relay(dut, SOUND)
    assert sink.cycles[2:] == [when + 1 for when in source.cycles][2:]


@cocotb.test
async def not_equal(dut):
    _, sink = await relay(dut, SOUND)
    assert sink.beats[2]["tag"] > 9


@cocotb.test
async def nothing_was_to_come(dut):
    _, sink = await relay(dut, SOUND)
    assert not sink.beats


@cocotb.test(timeout_time=200, timeout_unit="ns")
async def waits_for_ever(dut):
    await relay(dut, STOPS)


@cocotb.test(timeout_time=200, timeout_unit="ns")
async def cannot_send(dut):
    dut.fault.value = STOPS
    dut.o_ready.value = 1
    await start(dut)
    await Source(dut, "i").send_all(BEATS)


@cocotb.test
async def changes_while_it_waits(dut):
    await relay(dut, CHANGES, stall=itertools.cycle([True, True, False]).__next__)


@cocotb.test
async def a_port(dut):
    await relay(dut, SOUND)
    await RisingEdge(dut.clk)
    assert int(dut.total.value) == 7


@cocotb.test
async def a_port_read_before(dut):
    await relay(dut, SOUND)
    await RisingEdge(dut.clk)
    total = int(dut.total.value)
    assert total == 7


@cocotb.test
async def nothing_to_do_with_a_stream(dut):
    await start(dut)
    total = 1 + 1
    assert total == len("one")


@cocotb.test
async def caught(dut):
    _, sink = await relay(dut, CORRUPTS)
    try:
        assert sink.beats == BEATS
    except AssertionError:
        pass
    else:
        raise RuntimeError("the relay is sound")
