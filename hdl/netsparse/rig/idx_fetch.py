"""Idx DMA and idx buffer: the idxs of a command, one a cycle."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.netsparse.protocol import BEAT_BYTES
from hdl.netsparse.rig.params import COUNT_BITS, READ_BEAT, RigParams

BYTES_BITS = COUNT_BITS + 3
CHUNKS = 4  #: requests that fill the idx buffer


class IdxFetch(Component):
    """Reads the idxs of a RIG command from host memory (NetSparse, section 5.3).

    ``start`` begins with the array at ``address``: ``count`` numbers of 4, or with ``wide`` 8
    bytes. Requests are a quarter of the buffer, less for the first, so that the others begin
    where a whole one would; they go out while the buffer has room for all their beats, so what
    comes by ``beat`` is always taken. ``idxs`` gives them in order. ``failed`` is high for a cycle
    when host memory answered with an error.

    ``stop`` ends it early: nothing more is asked for, what is buffered or comes in is thrown
    away, though an idx that is offered stays. ``busy`` is high until nothing is left anywhere.

    Throughput: an idx a cycle. Latency: :attr:`start_latency` from ``start`` to the first
    request, :attr:`beat_latency` from a beat to its first idx.
    """

    start_latency = 2

    def __init__(self, params: RigParams) -> None:
        self.chunk_bytes = params.idx_buffer_bytes // CHUNKS
        beats = params.idx_buffer_bytes // BEAT_BYTES
        self.buffer = FifoParams(width=8 * BEAT_BYTES + 1, depth=beats)
        self.beat_latency = self.buffer.latency + 1
        super().__init__(
            params,
            {
                "start": In(1),
                "address": In(params.address_bits),
                "count": In(COUNT_BITS),
                "wide": In(1),
                "stop": In(1),
                "requests": Out(stream.Signature(params.host_read)),
                "beat_valid": In(1),
                "beat": In(READ_BEAT),
                "idxs": Out(stream.Signature(64)),
                "busy": Out(1),
                "failed": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.buffer = buffer = Fifo(self.buffer)
        asking = Signal()  # bytes are left to ask for
        outstanding = Signal(range(CHUNKS * 4 + 1))  # requests that have not ended
        left = Signal(COUNT_BITS)  # idxs to give
        sent = Signal()
        ended = Signal()
        m.d.comb += [
            buffer.i.payload.eq(Cat(self.beat.data, self.beat.last)),
            buffer.i.valid.eq(self.beat_valid),
            sent.eq(self.requests.valid & self.requests.ready),
            ended.eq(self.beat_valid & self.beat.last),
            self.busy.eq(
                asking
                | self.requests.valid
                | (outstanding != 0)
                | buffer.o.valid
                | (left != 0)
                | self.idxs.valid
            ),
        ]
        m.d.sync += [
            outstanding.eq(outstanding + sent - ended),
            self.failed.eq(ended & self.beat.failed),
        ]
        head = Signal()  # the first request's beats come, and it ends where a chunk does
        self.ask(m, buffer, asking, outstanding, head)
        self.give(m, buffer, left, head)
        return m

    def ask(
        self, m: Module, buffer: Fifo, asking: Signal, outstanding: Signal, head: Signal
    ) -> None:
        """Requests, as long as there is room for their beats."""
        chunk_bits = ceil_log2(self.chunk_bytes)
        chunk_beats = self.chunk_bytes // BEAT_BYTES
        address = Signal(self.params.address_bits, reset_less=True)
        left = Signal(BYTES_BITS, reset_less=True)
        span = Signal(chunk_bits + 1)  # to where a whole chunk ends
        request = Signal(self.params.host_read, reset_less=True)
        first = Signal()
        # A request takes as many beats as a whole chunk would, until its last beat has come;
        # then the buffer's own level tells.
        room = Signal()
        step = Signal()
        m.d.comb += [
            span.eq(self.chunk_bytes - address[:chunk_bits]),
            room.eq(
                buffer.level + (outstanding + self.requests.valid) * chunk_beats
                <= self.buffer.depth - chunk_beats
            ),
            step.eq(asking & room & ~self.requests.valid & ~self.stop),
            self.requests.payload.eq(request),
        ]
        with m.If(self.requests.ready):
            m.d.sync += self.requests.valid.eq(0)
        with m.If(step):
            m.d.sync += [
                self.requests.valid.eq(1),
                request.address.eq(address),
                request.bytes.eq(Mux(left <= span, left, span)),
                address.eq(address + span),
                left.eq(left - span),
                asking.eq(left > span),
                first.eq(0),
            ]
            with m.If(first):
                m.d.sync += head.eq(left > span)
        with m.If(self.start):
            m.d.sync += [
                address.eq(self.address),
                left.eq(self.count << Mux(self.wide, 3, 2)),
                asking.eq(self.count != 0),
                first.eq(1),
            ]
        with m.Elif(self.stop):
            m.d.sync += asking.eq(0)

    def give(self, m: Module, buffer: Fifo, left: Signal, head: Signal) -> None:
        """The idxs of each beat; the last beat of ``head`` may be a short one."""
        beat = buffer.o.payload[: 8 * BEAT_BYTES]
        last = buffer.o.payload[-1]
        wide = Signal(reset_less=True)
        position = Signal(4, reset_less=True)  # of 4-byte idxs in a beat
        head_end = Signal(4, reset_less=True)  # where that ends in its last beat
        behind = Signal(5)  # position behind this idx
        beat_ends = Signal()
        advance = Signal()
        idx = Signal(64, reset_less=True)
        words = [beat.word_select(k, 32) for k in range(16)]
        low, high = Array(words)[position], Array(words[1::2])[position[1:]]
        m.d.comb += [
            self.idxs.payload.eq(idx),
            behind.eq(position + 1 + wide),
            beat_ends.eq(behind[4] | (left == 1) | (head & last & (behind[:4] == head_end))),
            advance.eq((~self.idxs.valid | self.idxs.ready) & buffer.o.valid & (left != 0)),
            buffer.o.ready.eq((advance & beat_ends) | (left == 0)),
        ]
        with m.If(self.idxs.ready):
            m.d.sync += self.idxs.valid.eq(0)
        with m.If(advance):
            m.d.sync += [
                self.idxs.valid.eq(1),
                idx.eq(Cat(low, Mux(wide, high, 0))),
                position.eq(behind),
                left.eq(left - 1),
            ]
            with m.If(beat_ends):
                m.d.sync += position.eq(0)
                with m.If(last):
                    m.d.sync += head.eq(0)
        with m.If(self.start):
            m.d.sync += [
                wide.eq(self.wide),
                position.eq(0),
                # The chunk ends at a multiple of a beat: as far in as the array begins before it.
                head_end.eq(-self.address[2:6]),
                left.eq(self.count),
            ]
        with m.Elif(self.stop):
            m.d.sync += left.eq(0)
