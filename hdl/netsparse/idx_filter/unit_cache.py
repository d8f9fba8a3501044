"""Caches, for a unit, bits that it has seen to be 1, in front of the Idx Filter's banks."""

from itertools import pairwise

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.memory import DualPortMemory
from hdl.netsparse.idx_filter.params import (
    BLOCK_IDX_BITS,
    BLOCK_IDXS,
    FilterCacheParams,
    answer_signature,
)

DEPTH = 16  #: most requests, and most answers, that may wait


class UnitCache(Component):
    """Answers lookups whose bit it knows to be 1; all other requests go to the banks.

    This is the L1 of NetSparse, sections 5.1 and 5.3, table 5. An entry holds a block of 16
    consecutive idxs; the low bits of the block's number select the entry (direct mapped). Every
    answer of a bank has the block of its idx in the state after the request. A block with ones in
    it replaces the entry's block.

    No coherence protocol is needed, because a bit changes only from 0 to 1 until the filter is
    cleared: a one in the cache is always right, and a zero, which may be stale, is never used as an
    answer. A unit therefore sees every set of every unit exactly as it does without the cache.

    ``requests`` that are answered here are answered in order, and ``far_requests`` leave in order.
    Answers of the banks have priority, and no back-pressure. Throughput: a request a cycle.
    Latency: :attr:`near_latency` from a lookup to its answer, :attr:`latency` from a request to
    ``far_requests``. Up to 16 requests wait here for busy banks; then ``requests`` waits.

    ``forget`` empties entry ``forget_at``; it is allowed only while ``idle``, and all entries must
    be emptied before the first request. ``answered`` pulses for each lookup that is answered here.
    """

    latency = 1 + DualPortMemory.latency + FifoParams(shape=1, depth=DEPTH).latency
    near_latency = latency

    def __init__(self, params: FilterCacheParams) -> None:
        self.entry = data.StructLayout(
            {"ones": BLOCK_IDXS, "tag": params.unit_tag_bits, "holds": 1}
        )
        super().__init__(
            params,
            requests=In(stream.Signature(params.request)),
            answers=Out(answer_signature(params.answer)),
            far_requests=Out(stream.Signature(params.request)),
            far_answers=In(answer_signature(params.block_answer)),
            forget=In(1),
            forget_at=In(params.unit_row_bits),
            idle=Out(1),
            answered=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.far = far = Fifo.sized(shape=params.request, depth=DEPTH)
        m.submodules.close = close = Fifo.sized(shape=len(self.requests.payload.slot), depth=DEPTH)
        m.submodules.entries = entries = DualPortMemory.sized(
            shape=self.entry, depth=params.unit_rows
        )
        steps = [
            Signal(params.request, name=f"step_{k}", reset_less=True)
            for k in range(1 + DualPortMemory.latency)
        ]
        valids = Signal(len(steps))
        room = Signal()
        known = Signal()  # the last step's bit is known to be 1
        tag = self.split(steps[-2].idx[BLOCK_IDX_BITS:])[1]
        entry = entries.read_data
        bit = Array(entry.ones)[steps[-2].idx[:BLOCK_IDX_BITS]]
        most = DEPTH - len(steps) - 2
        m.d.sync += [
            room.eq((far.level < most) & (close.level < most)),
            valids.eq(Cat(self.requests.valid & room, valids[:-1])),
            steps[0].eq(self.requests.payload),
            *(later.eq(step) for step, later in pairwise(steps)),
            known.eq(entry.holds & (entry.tag == tag) & bit & ~steps[-2].set),
        ]
        filling = self.add_fill(m, entries)
        connect(m, far.o, flipped(self.far_requests))
        m.d.comb += [
            self.requests.ready.eq(room),
            entries.read_address.eq(self.split(self.requests.payload.idx[BLOCK_IDX_BITS:])[0]),
            far.i.valid.eq(valids[-1] & ~known),
            far.i.payload.eq(steps[-1]),
            close.i.valid.eq(valids[-1] & known),
            close.i.payload.eq(steps[-1].slot),
            self.answered.eq(close.i.valid),
            close.o.ready.eq(~self.far_answers.valid),
            self.answers.valid.eq(self.far_answers.valid | close.o.valid),
            self.answers.payload.slot.eq(close.o.payload),
            self.answers.payload.bit.eq(1),
            self.idle.eq(~(valids.any() | far.o.valid | close.o.valid | filling)),
        ]
        with m.If(self.far_answers.valid):
            m.d.comb += self.answers.payload.eq(self.far_answers.payload.answer)

    def split(self, block):
        """Split the number of a block into entry and tag."""
        return block[: self.params.unit_row_bits], block[self.params.unit_row_bits :]

    def add_fill(self, m: Module, entries: DualPortMemory) -> Signal:
        """Write blocks with ones from the banks, each to the entry of its request's idx.

        The signal returned is high while a block is about to be written.
        """
        params = self.params
        m.submodules.requested = requested = Memory(
            shape=params.idx_bits - BLOCK_IDX_BITS,
            depth=params.slots,
            init=[],
            attrs={"ram_style": "distributed"},
        )
        write, read = requested.write_port(), requested.read_port(domain="comb")
        answer = self.far_answers.payload
        filling = Signal()
        block = Signal(params.idx_bits - BLOCK_IDX_BITS, reset_less=True)
        ones = Signal(BLOCK_IDXS, reset_less=True)
        entering = Signal(self.entry)
        place, tag = self.split(block)
        m.d.sync += [
            filling.eq(self.far_answers.valid & ~answer.answer.failed & answer.block.any()),
            block.eq(read.data),
            ones.eq(answer.block),
        ]
        m.d.comb += [
            write.en.eq(self.requests.valid & self.requests.ready),
            write.addr.eq(self.requests.payload.slot),
            write.data.eq(self.requests.payload.idx[BLOCK_IDX_BITS:]),
            read.addr.eq(answer.answer.slot),
            entering.ones.eq(ones),
            entering.tag.eq(tag),
            entering.holds.eq(~self.forget),
            entries.write.eq(filling | self.forget),
            entries.write_address.eq(place),
            entries.write_data.eq(entering),
        ]
        with m.If(self.forget):
            m.d.comb += entries.write_address.eq(self.forget_at)
        return filling
