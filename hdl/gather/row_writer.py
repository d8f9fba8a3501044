"""Writes rows to device memory."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hdl.common.arithmetic import looked_up
from hdl.common.axi_write_port import AxiWritePort
from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.streams import cut_ready, forward
from hdl.gather.engine_params import BURST_BEATS, OUTSTANDING, GatherEngineParams

DEPTH = 4 * BURST_BEATS  #: beats that can wait; at least those of a burst

#: Lists the events to be counted; each is a pulse of one cycle.
EVENTS = data.StructLayout({"burst": 1, "beat": 1, "failed": 1})


class RowWriter(Component):
    """Writes joined ``rows`` to device memory, from the byte ``address`` on, after each ``begin``.

    The first beat's bytes below that address are not written. A burst ends where its address is a
    multiple of 8 beats, and is requested when all of it is there. ``done`` pulses when all rows up
    to a ``last`` beat have been written and acknowledged. ``failed`` says, until the next
    ``begin``, that device memory has refused some of them. ``address`` must be stable from
    ``begin`` to ``done``.

    ``halt``, held until ``done``, ends the array early: no more of ``rows`` are taken, and a burst
    that was begun ends with a beat of which no byte is written.

    Throughput: a beat a cycle. Latency: :attr:`latency` from a burst's last beat to ``m_axi``.
    Stalls: ``rows`` wait while 32 beats wait, or 64 bursts are not acknowledged. ``watch`` and
    ``bus`` are those of an :class:`hdl.common.axi_write_port.AxiWritePort`.
    """

    latency = 1 + AxiWritePort.latency

    def __init__(self, params: GatherEngineParams) -> None:
        super().__init__(
            params,
            address=In(params.address_bits),
            begin=In(1),
            halt=In(1),
            rows=In(stream.Signature(params.gather.beat)),
            done=Out(1),
            failed=Out(1),
            events=Out(EVENTS),
            watch=In(WATCH),
            bus=Out(BUS),
            m_axi=Out(params.port.write_bus),
        )

    def build(self, m: Module) -> None:
        m.submodules.port = port = AxiWritePort(self.params.port)
        connect(m, port.axi, flipped(self.m_axi))
        room = Signal()  # there is room for a beat
        bursts, moves, closes, fresh = self.cut(m, room)
        # Else one path of ready reaches from device memory's AW to what is read of rows.
        cut_ready(m, "bursts_skid", bursts, port.bursts)
        self.hold(m, port, moves, closes)
        m.d.comb += [
            room.eq(m.submodules.beats.i.ready & (~bursts.valid | bursts.ready)),
            self.rows.ready.eq(room & ~self.halt),
        ]
        ended = Signal()  # the last burst was requested
        open_bursts = Signal(range(OUTSTANDING + 2))  # bursts without an answer
        goes = bursts.valid & bursts.ready
        m.d.comb += [
            port.watch.eq(self.watch),
            self.bus.eq(port.bus),
            self.events.burst.eq(goes),
            self.events.beat.eq(moves),
            self.events.failed.eq(port.answers.valid & port.answers.failed),
            self.done.eq(ended & ~bursts.valid & ~open_bursts.any()),
        ]
        m.d.sync += open_bursts.eq(open_bursts + goes - port.answers.valid)
        with m.If(self.begin):
            m.d.sync += self.failed.eq(0)
        with m.Elif(port.answers.valid & port.answers.failed):
            m.d.sync += self.failed.eq(1)
        with m.If((moves & self.rows.payload.last) | (self.halt & (moves | fresh))):
            m.d.sync += ended.eq(1)
        with m.Elif(self.done):
            m.d.sync += ended.eq(0)

    def cut(self, m: Module, room: Signal) -> tuple[Any, Value, Value, Value]:
        """Request bursts; return them, whether a beat moves, whether a burst ends with it, and
        whether none has begun.
        """
        index_bits = self.params.address_bits - self.params.beat_bits
        index = Signal(index_bits, reset_less=True)  # number of the next beat in memory
        start = Signal(index_bits, reset_less=True)  # number of the burst's first beat
        fresh = Signal(init=1)  # no beat of the burst has come
        burst = Signal(self.params.port.burst, reset_less=True)
        place_bits = exact_log2(BURST_BEATS)
        closes, moves = Signal(), Signal()
        bursts = stream.Signature(self.params.port.burst).create()
        first = Mux(fresh, index, start)
        m.d.comb += [
            closes.eq(self.rows.payload.last | self.halt | index[:place_bits].all()),
            moves.eq(Mux(self.halt, ~fresh, self.rows.valid) & room),
            bursts.payload.eq(burst),
        ]
        with m.If(bursts.ready):
            m.d.sync += bursts.valid.eq(0)
        with m.If(moves):
            m.d.sync += [index.eq(index + 1), start.eq(first), fresh.eq(closes)]
            with m.If(closes):
                m.d.sync += [
                    bursts.valid.eq(1),
                    burst.address.eq(first << self.params.beat_bits),
                    burst.length.eq((index - first)[:place_bits]),
                ]
        with m.If(self.begin):
            m.d.sync += [index.eq(self.address[self.params.beat_bits :]), fresh.eq(1)]
        return bursts, moves, closes, fresh

    def hold(self, m: Module, port: AxiWritePort, moves: Value, closes: Value) -> None:
        """Hold beats back until their burst is requested."""
        size, row = self.params.beat_bytes, self.rows.payload
        layout = data.StructLayout({"data": self.params.data_bits, "strobes": size, "last": 1})
        m.submodules.beats = beats = Fifo.sized(shape=layout, depth=DEPTH, style="block")
        begins = Signal()  # the next beat is the array's first
        skip = self.address[: self.params.beat_bits]
        provided, beat = beats.i.payload, beats.o.payload
        first, end = Signal(len(skip)), Signal(len(row.bytes))  # bytes of the beat, and behind them
        begun, ended = Signal(size), Signal(size)
        m.d.comb += [
            first.eq(Mux(begins, skip, 0)),
            end.eq(Mux(self.halt, 0, row.bytes)),
            begun.eq(Cat(behind(first, size))),
            ended.eq(Cat(behind(end, size))),
            provided.data.eq(row.data),
            provided.strobes.eq(begun & ~ended),
            provided.last.eq(closes),
            beats.i.valid.eq(moves),
            *forward(beats.o, port.beats, data=beat.data, strobes=beat.strobes, last=beat.last),
        ]
        with m.If(self.begin):
            m.d.sync += begins.eq(1)
        with m.Elif(moves):
            m.d.sync += begins.eq(0)


def behind(place: Value, size: int) -> list[Value]:
    """Return for each number below ``size`` whether ``place`` is not above it.

    Both are compared in two halves, which all numbers share.
    """
    low = [looked_up(lambda value, k=k: value <= k, place[:3]) for k in range(8)]
    less = [looked_up(lambda value, k=k: value < k, place[3:]) for k in range(size // 8)]
    same = [looked_up(lambda value, k=k: value == k, place[3:]) for k in range(size // 8)]
    return [less[k // 8] | (same[k // 8] & low[k % 8]) for k in range(size)]
