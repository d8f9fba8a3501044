"""Fetches the idxs of commands, one a cycle: Idx DMA and idx buffer."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.rig.params import COUNT_BITS, READ_BEAT, RigParams

BYTES_BITS = COUNT_BITS + 3
CHUNKS = 4  #: number of reads that fill the idx buffer


class IdxFetch(Component):
    """Reads the idxs of RIG commands from host memory (NetSparse, section 5.3).

    Each of ``arrays`` has at least one number, of 4 bytes or, with ``wide``, 8. It is read in
    chunks of a quarter of the buffer; the first chunk may be shorter, so that the others are
    aligned to the size of a chunk. A read is sent while the buffer has room for a whole chunk, so
    every ``beat`` is taken. ``idxs`` are the numbers in order, with the ``slot`` of their array,
    and with ``last`` for its last number; the next array is read meanwhile.

    No idx of a chunk is emitted before the whole chunk was read without an error. ``failed`` pulses
    if the next chunk, of ``failed_slot``, has an error; then no idx follows until ``stop``.

    ``stop`` must be held until ``busy`` is low. No more reads are sent, and buffered and received
    data are dropped, but an idx that is offered stays valid. ``busy`` is high while any read or idx
    is left.

    Throughput: an idx a cycle, also from chunk to chunk and from array to array. Latency:
    :attr:`start_latency` from an array to its first read, :attr:`beat_latency` from the last beat
    of a chunk to its first idx.
    """

    start_latency = 2

    def __init__(self, params: RigParams) -> None:
        self.chunk_bytes = params.idx_buffer_bytes // CHUNKS
        self.chunk_beats = self.chunk_bytes // BEAT_BYTES
        self.place_bits = ceil_log2(self.chunk_bytes // 4)  # width of an idx's place in a chunk
        self.chunk = data.StructLayout(
            {"end": self.place_bits, "wide": 1, "slot": params.slot_bits, "last": 1}
        )
        self.buffer = FifoParams(shape=8 * BEAT_BYTES + 1, depth=CHUNKS * self.chunk_beats)
        self.beat_latency = self.buffer.latency + 1
        super().__init__(
            params,
            arrays=In(stream.Signature(params.idx_array)),
            stop=In(1),
            requests=Out(stream.Signature(params.host_read)),
            beat_valid=In(1),
            beat=In(READ_BEAT),
            idxs=Out(stream.Signature(params.fetched)),
            busy=Out(1),
            failed=Out(1),
            failed_slot=Out(params.slot_bits),
        )

    def build(self, m: Module) -> None:
        m.submodules.buffer = buffer = Fifo(self.buffer)
        m.submodules.chunks = chunks = Fifo.sized(shape=self.chunk, depth=CHUNKS)
        m.submodules.verdicts = verdicts = Fifo.sized(shape=1, depth=CHUNKS)
        requesting = Signal()  # bytes are left to be read
        broken = Signal()  # the next chunk must not be emitted, nor any after it
        m.d.comb += [
            buffer.i.payload.eq(Cat(self.beat.data, self.beat.last)),
            buffer.i.valid.eq(self.beat_valid),
            verdicts.i.payload.eq(self.beat.failed),
            verdicts.i.valid.eq(self.beat_valid & self.beat.last),
            self.busy.eq(requesting | self.requests.valid | chunks.o.valid | self.idxs.valid),
            self.failed.eq(verdicts.o.valid & verdicts.o.payload & ~broken & ~self.stop),
        ]
        with m.If(self.stop):
            m.d.sync += broken.eq(0)
        with m.Elif(self.failed):
            m.d.sync += broken.eq(1)
        ends = Signal()  # a chunk ends
        self.issue(m, chunks, requesting, broken, ends)
        self.give(m, buffer, chunks, verdicts, broken, ends)

    def issue(
        self, m: Module, chunks: Fifo, requesting: Signal, broken: Signal, ends: Signal
    ) -> None:
        """Send reads, as long as there is room for a whole chunk."""
        inside_bits = ceil_log2(self.chunk_bytes)
        array = self.arrays.payload
        next_address = Signal(self.params.address_bits, reset_less=True)
        left = Signal(BYTES_BITS, reset_less=True)
        requested = Signal(self.chunk, reset_less=True)  # fields of the array's next chunk
        span = Signal(inside_bits + 1, reset_less=True)  # bytes to the end of an aligned chunk
        request = Signal(self.params.host_read, reset_less=True)
        sent = Signal(self.chunk, reset_less=True)  # the chunk of ``request``, without its end
        chunk = chunks.i.payload
        room = Signal(range(CHUNKS + 1), init=CHUNKS)
        step = Signal()
        m.d.comb += [
            self.arrays.ready.eq(~requesting & ~self.stop),
            step.eq(requesting & (room != 0) & ~self.requests.valid & ~self.stop & ~broken),
            self.requests.payload.eq(request),
            chunk.eq(sent),
            chunk.end.eq(
                (Mux(sent.wide, request.bytes >> 3, request.bytes >> 2) - 1)[: len(chunk.end)]
            ),
            chunks.i.valid.eq(self.requests.valid & self.requests.ready),
        ]
        m.d.sync += room.eq(room - step + ends)
        with m.If(self.requests.ready):
            m.d.sync += self.requests.valid.eq(0)
        with m.If(step):
            m.d.sync += [
                self.requests.valid.eq(1),
                request.address.eq(next_address),
                request.bytes.eq(Mux(left <= span, left, span)[: len(span)]),
                sent.eq(requested),
                sent.last.eq(left <= span),
                next_address.eq(next_address + span),
                span.eq(self.chunk_bytes),  # the next chunk is a whole one
                left.eq(left - span),
                requesting.eq(left > span),
            ]
        with m.If(self.arrays.valid & self.arrays.ready):
            m.d.sync += [
                next_address.eq(array.address),
                span.eq(self.chunk_bytes - array.address[:inside_bits]),
                left.eq(array.count << Mux(array.wide, 3, 2)),
                requested.wide.eq(array.wide),
                requested.slot.eq(array.slot),
                requesting.eq(1),
            ]
        with m.Elif(self.stop):
            m.d.sync += requesting.eq(0)

    def give(
        self,
        m: Module,
        buffer: Fifo,
        chunks: Fifo,
        verdicts: Fifo,
        broken: Signal,
        ends: Signal,
    ) -> None:
        """Emit the idxs of each good chunk, which begins in a beat of its own; drop the others."""
        chunk = chunks.o.payload
        beat, last = buffer.o.payload[: 8 * BEAT_BYTES], buffer.o.payload[-1]
        place = Signal(self.place_bits)  # place of the next idx in its chunk
        position = Signal(4)  # number of a 4-byte word in a beat
        behind = Signal(5)
        chunk_ends = Signal()
        beat_ends = Signal()
        advance = Signal()
        drops = Signal()
        provided = Signal(self.params.fetched, reset_less=True)
        words = [beat.word_select(k, 32) for k in range(16)]
        low, high = Array(words)[position], Array(words[1::2])[position[1:]]
        present = buffer.o.valid & verdicts.o.valid & ~verdicts.o.payload
        m.d.comb += [
            self.idxs.payload.eq(provided),
            self.failed_slot.eq(chunk.slot),
            behind.eq(position + 1 + chunk.wide),
            chunk_ends.eq(place == chunk.end),
            beat_ends.eq(behind[4] | chunk_ends),
            drops.eq(broken | self.stop),
            advance.eq((~self.idxs.valid | self.idxs.ready) & present & ~drops),
            buffer.o.ready.eq((advance & beat_ends) | drops),
            ends.eq(Mux(drops, buffer.o.valid & last, advance & chunk_ends)),
            chunks.o.ready.eq(ends),
            verdicts.o.ready.eq(ends),
        ]
        with m.If(self.idxs.ready):
            m.d.sync += self.idxs.valid.eq(0)
        with m.If(advance):
            m.d.sync += [
                self.idxs.valid.eq(1),
                provided.idx.eq(Cat(low, Mux(chunk.wide, high, 0))),
                provided.slot.eq(chunk.slot),
                provided.last.eq(chunk.last & chunk_ends),
                place.eq(place + 1),
                position.eq(behind[:4]),
            ]
            with m.If(beat_ends):
                m.d.sync += position.eq(0)
        with m.If(ends):
            m.d.sync += [place.eq(0), position.eq(0)]
