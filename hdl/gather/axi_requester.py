"""Reads and writes host memory through an AXI4 manager."""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hdl.common.arithmetic import looked_up
from hdl.common.axi_read_port import AxiReadPort, full_bus
from hdl.common.axi_write_port import AxiWritePort
from hdl.common.bus_watch import BUS, WATCH, any_of
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.local_reset import add_with_reset
from hdl.common.streams import forward
from hdl.gather.engine_params import COMPLETION_BYTES, GatherEngineParams
from hdl.pcie.descriptors import Cause
from hdl.pcie.read_requester import EVENTS
from hdl.pcie.request_cutter import RequestCutter

WHOLE = 5  #: code of the largest limit, so that ``params.max_read`` alone cuts requests


class AxiRequester(Component):
    """Does over ``m_axi`` what a :class:`hdl.pcie.requester.Requester` does over PCI Express.

    ``beats`` are the data of ``requests``, in order, with their ``user`` bits. A request is for
    whole dwords. It is cut where an address is a multiple of ``params.max_read``, or of less by
    ``limit``; each piece is a burst, of which at most ``params.tags`` are under way or wait here.
    Its first dword is in lane 0 of a beat, and beats are as the bus has them, so that a piece's
    first one is shorter if it begins inside a beat of the bus. A beat that the bus answers with an
    error, or not at all, and those of its request behind it have the cause ABORTED.

    A completion, of 16 bytes at a multiple of 16, comes by ``writes`` and, when that was taken, by
    ``data``; ``visible`` pulses when memory has answered for it. ``forget`` drops the reads that
    were not sent, and while it is high none is; beats come as before. ``idle`` says that no burst
    of a read is under way and that no beat waits. ``watch`` and ``bus`` are those of both ports, an
    :class:`AxiReadPort` and an :class:`AxiWritePort`.

    Throughput: a piece and a beat a cycle. Latency: ``request_latency`` from a request to
    ``m_axi``, ``latency`` from a beat of R to ``beats``. Stalls: R and B never wait for ``beats``.
    """

    request_latency = RequestCutter.latency + 1 + AxiReadPort.latency

    def __init__(self, params: GatherEngineParams) -> None:
        reads, writes = params.share.shared, params.requester.writes
        self.waiting = FifoParams(
            shape=data.StructLayout({"beat": reads.beat, "ends": 1}),
            depth=params.tags * params.max_read // params.beat_bytes,
            refuses=False,
        )
        self.latency = 1 + self.waiting.latency
        super().__init__(
            params,
            requests=In(stream.Signature(reads.cutter.request)),
            beats=Out(stream.Signature(reads.beat)),
            writes=In(stream.Signature(writes.cutter.request)),
            data=In(stream.Signature(params.data_bits)),
            visible=Out(1),
            limit=In(3),
            forget=In(1),
            idle=Out(1),
            events=Out(EVENTS),
            watch=In(WATCH),
            bus=Out(BUS),
            m_axi=Out(full_bus(params.host_reads, params.host_writes)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.reader = reader = AxiReadPort(params.host_reads)
        m.submodules.writer = writer = AxiWritePort(params.host_writes)
        for port in (reader, writer):
            lead_out(m, port.axi, self.m_axi)
            m.d.comb += port.watch.eq(self.watch)
        any_of(m, self.bus, [reader.bus, writer.bus])
        goes = self.request(m, reader)
        left = self.give(m, reader)
        pieces = Signal(range(params.tags + 1))  # under way, or with beats that wait
        m.d.sync += pieces.eq((pieces + goes - left)[: len(pieces)])
        m.d.comb += self.idle.eq(~pieces.any())
        full = Signal()
        m.d.comb += full.eq(pieces == params.tags)
        with m.If(full):
            m.d.comb += reader.bursts.valid.eq(0)
        self.write(m, writer)

    def request(self, m: Module, reader: Any) -> Signal:
        """Send the pieces of requests as bursts; return whether one goes."""
        params, burst = self.params, reader.bursts.payload
        cutter = RequestCutter(params.share.shared.cutter)
        add_with_reset(m, "cutter", cutter, self.forget)
        connect(m, flipped(self.requests), cutter.requests)
        lanes, bits = params.reads.lane_bits, params.reads.offset_bits
        piece, top = Signal(cutter.pieces.payload.shape(), reset_less=True), Signal(bits)
        held, tag, goes = Signal(), params.host_tag(burst.tag), Signal()
        with m.If(~held | goes):  # the number of the last dword is left to one sum
            m.d.sync += [
                held.eq(cutter.pieces.valid),
                piece.eq(cutter.pieces.payload),
                top.eq((cutter.pieces.payload.bytes[2:] - 1)[:bits]),
            ]
        with m.If(self.forget):
            m.d.sync += held.eq(0)
        m.d.comb += [
            cutter.limit.eq(self.limit),
            reader.bursts.valid.eq(held & ~self.forget),
            burst.address.eq(Cat(Const(0, params.beat_bits), piece.address[lanes:])),
            burst.length.eq((piece.address[:lanes] + top)[lanes:][: len(burst.length)]),
            tag.first.eq(piece.address[:lanes]),
            tag.end.eq((piece.address[:lanes] + top)[:lanes]),
            tag.last.eq(piece.last),
            tag.user.eq(piece.user),
            goes.eq(reader.bursts.valid & reader.bursts.ready),
            cutter.pieces.ready.eq(~held | goes),
        ]
        m.d.sync += self.events.sent.eq(goes)
        return goes

    def give(self, m: Module, reader: Any) -> Signal:
        """Give beats from lane 0 on; return whether the last one of a piece has left."""
        params, come = self.params, reader.beats
        m.submodules.waiting = waiting = Fifo(self.waiting)
        tag = params.host_tag(come.tag)
        begins = Signal(init=1)  # the next beat begins a piece
        lost, failed = Signal(), Signal()  # a beat of the request, of the piece, has failed
        skip = Mux(begins, tag.first, 0)
        lane = [come.data.word_select(k, 32) for k in range(params.reads.lanes)]
        turned = [Cat(lane[k:]) for k in range(params.reads.lanes)]
        more = looked_up(lambda first: 1 - first, tag.first, bits=params.reads.lane_bits + 1)
        dwords = Mux(come.last, tag.end, params.reads.lanes - 1) + Mux(begins, more, 1)
        word, valid = Signal(self.waiting.shape, reset_less=True), Signal()
        beat, fails = word.beat, come.failed | lost
        m.d.sync += [
            valid.eq(come.valid),
            beat.data.eq(Array(turned)[skip]),
            beat.bytes.eq(Cat(Const(0, 2), dwords[: len(beat.bytes) - 2])),
            beat.last.eq(come.last & tag.last),
            beat.user.eq(tag.user),
            beat.cause.eq(Mux(fails, Cause.ABORTED, Cause.NONE)),
            word.ends.eq(come.last),
            self.events.failed.eq(come.valid & come.failed & ~failed),
            self.events.stranger.eq(reader.bus.dropped),
        ]
        with m.If(come.valid):
            m.d.sync += [
                begins.eq(come.last),
                lost.eq(fails & ~(come.last & tag.last)),
                failed.eq((failed | come.failed) & ~come.last),
            ]
        m.d.comb += [
            waiting.i.valid.eq(valid),
            waiting.i.payload.eq(word),
            *forward(waiting.o, self.beats),
            self.beats.payload.eq(waiting.o.payload.beat),
        ]
        left = Signal()
        m.d.sync += left.eq(self.beats.valid & self.beats.ready & waiting.o.payload.ends)
        return left

    def write(self, m: Module, writer: Any) -> None:
        """Write completions, one at a time."""
        bits, low = self.params.beat_bits, exact_log2(COMPLETION_BYTES)
        copies = self.params.beat_bytes // COMPLETION_BYTES
        place = Signal(bits - low, reset_less=True)
        address = self.writes.payload.address
        with m.If(self.writes.valid & self.writes.ready):
            m.d.sync += place.eq(address[low:bits])
        m.d.comb += [
            writer.bursts.payload.address.eq(Cat(Const(0, bits), address[bits:])),
            *forward(self.writes, writer.bursts),
            *forward(self.data, writer.beats),
            writer.beats.payload.data.eq(Cat([self.data.payload[: 8 * COMPLETION_BYTES]] * copies)),
            writer.beats.payload.strobes.eq(
                Cat((place == k).replicate(COMPLETION_BYTES) for k in range(copies))
            ),
            writer.beats.payload.last.eq(1),
            self.visible.eq(writer.answers.valid),
        ]


def lead_out(m: Module, part: Any, bus: Any) -> None:
    """Connect a part's channels of AXI4 to those of ``bus``, which may have more."""
    for name, member in part.signature.members.items():
        inside, outside = getattr(part, name), getattr(bus, name)
        m.d.comb += inside.eq(outside) if member.flow == In else outside.eq(inside)
