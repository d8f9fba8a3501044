"""Reads arrays of idxs from host memory."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import data_register, looked_up
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.streams import forward
from hdl.gather.engine_params import CHUNK, COUNT_BITS, GatherEngineParams

IDX_BITS = 32  #: width of the shorter idxs in host memory
CHUNK_DWORDS = CHUNK // 4
PLACE_BITS = CHUNK_DWORDS.bit_length() - 1  #: width of a dword's place in a chunk


class IdxReader(Component):
    """Reads the ``idxs`` of ``arrays``, in order; the last one of an array has ``final``.

    An idx that has bits above ``params.idx_bits``, or could not be read, is replaced by the largest
    idx, which is in no table; ``failed`` pulses for one that could not be read. An array is aligned
    to its elements, and has at least one.

    Beats of an array ``on_card`` are aligned to the bus, so the first idx may be anywhere in the
    first beat. In an array in host memory the first idx of each request is in dword 0 of a beat.

    Each of ``requests`` is for at most 512 bytes, and ends at a multiple of 512 or with the array;
    there is always room for its ``beats``. An array is taken when all idxs of the previous one have
    left.

    Throughput: an idx a cycle, while ``params.idx_chunks`` chunks cover the latency of host memory.
    Latency: :attr:`request_latency` from an array to its first request, :attr:`latency` from a beat
    to its first idx.
    """

    request_latency = 2

    def __init__(self, params: GatherEngineParams) -> None:
        self.waiting = FifoParams(
            shape=params.idx_beat, depth=params.idx_chunks * params.chunk_beats
        )
        self.latency = self.waiting.latency + 1
        super().__init__(
            params,
            arrays=In(stream.Signature(params.idx_array)),
            requests=Out(stream.Signature(params.reads.cutter.request)),
            beats=In(stream.Signature(params.reads.beat)),
            idxs=Out(stream.Signature(params.gather.idx)),
            failed=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.waiting = waiting = Fifo(self.waiting)
        provided = self.beats.payload
        m.d.comb += forward(
            self.beats,
            waiting.i,
            data=provided.data,
            dwords=provided.bytes[2:],
            last=provided.last,
            failed=provided.cause != provided.cause.shape().NONE,
        )
        wide = Signal(reset_less=True)
        left = Signal(COUNT_BITS)  # idxs of the array that have not left
        chunk_left = self.give(m, waiting, wide, left)
        self.issue(m, wide, left, chunk_left)

    def issue(self, m: Module, wide: Signal, left: Signal, chunk_left: Signal) -> None:
        """Take an array, and request its chunks, each when there is room for it."""
        array, request = self.arrays.payload, self.requests.payload
        at = Signal(62, reset_less=True)  # the next dword to request
        unrequested = Signal(COUNT_BITS + 1)  # dwords that are left to request
        size = Signal(bits_for(CHUNK_DWORDS), reset_less=True)  # dwords of the next chunk
        sized = Signal()
        chunks = Signal(range(self.params.idx_chunks + 1))  # chunks requested that have not left
        room = Signal.like(size)  # dwords from ``at`` to the next multiple of 512 bytes
        goes = self.requests.valid & self.requests.ready
        m.d.comb += [
            self.arrays.ready.eq(~left.any() & ~self.idxs.valid),
            self.requests.valid.eq(sized & ~chunks[-1]),
            request.address.eq(Cat(Const(0, 2), at)),
            request.bytes.eq(size << 2),
        ]
        more = unrequested[len(size) :].any() | (unrequested[: len(size)] > room)
        freed = Signal()  # a place for a chunk is free, a cycle after its last idx left
        m.d.sync += [
            freed.eq(chunk_left),
            chunks.eq(chunks + goes - freed),
            size.eq(Mux(more, room, unrequested[: len(size)])),
            sized.eq(unrequested.any() & ~goes),
        ]
        with m.If(goes):
            m.d.sync += [  # the next chunk begins at a multiple of 512 bytes
                at.eq(Cat(Const(0, PLACE_BITS), at[PLACE_BITS:] + 1)[: len(at)]),
                room.eq(CHUNK_DWORDS),
                unrequested.eq(unrequested - size),
            ]
        place = array.address[2 : 2 + PLACE_BITS]
        with m.If(self.arrays.valid & self.arrays.ready):
            m.d.sync += [
                at.eq(array.address[2:]),
                room.eq(looked_up(lambda place: CHUNK_DWORDS - place, place, bits=len(room))),
                unrequested.eq(Mux(array.wide, array.count << 1, array.count)),
                wide.eq(array.wide),
                left.eq(array.count),
            ]

    def give(self, m: Module, waiting: Fifo, wide: Signal, left: Signal) -> Signal:
        """Emit idxs; return whether the last one of a chunk leaves."""
        lanes, bits = self.params.reads.lanes, self.params.idx_bits
        beat = waiting.o.payload
        place = Signal(range(lanes))  # dword of the next idx in the beat
        free, moves, ends, chunk_left = Signal(), Signal(), Signal(), Signal()
        dwords = [beat.data.word_select(k, IDX_BITS) for k in range(lanes)]
        low = Value.cast(Array(dwords)[place])
        high = Value.cast(Array(dwords[1::2])[place[1:]])
        over = wide & high.any()
        if bits < IDX_BITS:
            over = over | low[bits:].any()
        behind = place + Mux(wide, 2, 1)
        idx = data_register(m, self.idxs.payload)
        m.d.comb += [
            free.eq(~self.idxs.valid | self.idxs.ready),
            moves.eq(free & waiting.o.valid),
            ends.eq(behind == beat.dwords),
            waiting.o.ready.eq(free & ends),
            chunk_left.eq(moves & ends & beat.last),
        ]
        m.d.sync += self.failed.eq(moves & beat.failed)
        array = self.arrays.payload
        with m.If(self.arrays.valid & self.arrays.ready):
            m.d.sync += place.eq(Mux(array.on_card, array.address[2:], 0)[: len(place)])
        with m.If(free):
            m.d.sync += [
                self.idxs.valid.eq(waiting.o.valid),
                idx.idx.eq(Mux(beat.failed | over, Const(-1, bits), low[:bits])),
                idx.final.eq(left == 1),
            ]
        with m.If(moves):
            m.d.sync += [place.eq(Mux(ends, 0, behind)[: len(place)]), left.eq(left - 1)]
        return chunk_left
