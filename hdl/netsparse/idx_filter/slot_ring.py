"""Allocates and frees slots of an LSQ in cyclic order."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for, ceil_log2

from hdl.common.checks import check_range
from hdl.common.component import Component
from hdl.common.params import Params, whole
from hdl.common.streams import StreamRegister
from hdl.netsparse.idx_filter.params import answer_layout, answer_signature


class SlotRingParams(Params, suffix="{first}_{count}_of_{lsq_entries}_{width}"):
    """Sets the number of slots in a ring, and the width of their data."""

    first: int  #: number of the first slot
    count: int = whole(2)  #: number of slots
    lsq_entries: int  #: number of slots of the whole LSQ, at least first + count
    width: int = whole(1)  #: bits that are stored with a slot

    def __post_init__(self) -> None:
        super().__post_init__()
        most = self.lsq_entries - self.count
        check_range("first", self.first, 0, most, ", so that all slots are in the LSQ")

    @property
    def slot_bits(self) -> int:
        """Return the width of the number of a slot of the LSQ."""
        return ceil_log2(self.lsq_entries)

    @property
    def request(self) -> data.StructLayout:
        """Describe a request with its data; with ``done`` it needs no answer."""
        return data.StructLayout({"stored": self.width, "done": 1})

    @property
    def result(self) -> data.StructLayout:
        """Describe the data and the answer; without an answer ``bit`` and ``failed`` are 0."""
        return data.StructLayout({"stored": self.width, "bit": 1, "failed": 1})


class SlotRing(Component):
    """Stores each beat of ``i`` in a slot; beats leave ``o`` in the same order, with their answers.

    Answers come in any order; answers for slots of other rings are ignored. Throughput: one beat in
    and one out a cycle. Latency: :attr:`latency` from an answer to its result, or from a beat of
    ``i`` with ``done``. Full: ``i.ready``, a register, is low.
    """

    latency = 1 + StreamRegister.latency

    def __init__(self, params: SlotRingParams) -> None:
        super().__init__(
            params,
            i=In(stream.Signature(params.request)),
            slot=Out(params.slot_bits),
            answers=In(answer_signature(answer_layout(params.lsq_entries))),
            o=Out(stream.Signature(params.result)),
            empty=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        index_bits = ceil_log2(params.count)
        first, next_in = (Signal(index_bits, name=name) for name in ("first", "next_in"))
        level = Signal(bits_for(params.count))
        full = Signal()
        filled = Signal()
        done = Signal(params.count)
        take = Signal()
        leave = Signal()
        m.submodules.output = output = StreamRegister.sized(shape=params.result)
        result = params.result(output.i.payload)
        stored, keep = self.add_memory(m, "stored", params.request, first)
        said, say = self.add_memory(m, "said", data.StructLayout({"bit": 1, "failed": 1}), first)
        answer = self.answers.payload
        answered = Signal(params.count)
        connect(m, output.o, flipped(self.o))
        m.d.comb += [
            take.eq(self.i.valid & ~full),
            self.i.ready.eq(~full),
            self.slot.eq(params.first + next_in),
            keep.en.eq(take),
            keep.addr.eq(next_in),
            keep.data.eq(self.i.payload),
            answered.eq(
                Cat(
                    self.answers.valid & (answer.slot == params.first + k)
                    for k in range(params.count)
                )
            ),
            say.en.eq(answered.any()),
            say.addr.eq((answer.slot - params.first)[:index_bits]),
            say.data.bit.eq(answer.bit),
            say.data.failed.eq(answer.failed),
            output.i.valid.eq(
                filled & Cat(done[k] & (first == k) for k in range(params.count)).any()
            ),
            leave.eq(output.i.valid & output.i.ready),
            result.stored.eq(stored.stored),
            result.bit.eq(said.bit & ~stored.done),
            result.failed.eq(said.failed & ~stored.done),
            self.empty.eq(~filled & ~output.o.valid),
        ]
        for k in range(params.count):
            with m.If(answered[k]):
                m.d.sync += done[k].eq(1)
            with m.If(take & (next_in == k)):
                m.d.sync += done[k].eq(self.i.payload.done)
        for step, at in ((take, next_in), (leave, first)):
            with m.If(step):
                m.d.sync += at.eq(at + 1)
                if params.count != 1 << index_bits:
                    with m.If(at == params.count - 1):
                        m.d.sync += at.eq(0)
        with m.If(take & ~leave):
            m.d.sync += [level.eq(level + 1), filled.eq(1), full.eq(level == params.count - 1)]
        with m.If(leave & ~take):
            m.d.sync += [level.eq(level - 1), full.eq(0), filled.eq(level != 1)]

    def add_memory(self, m: Module, name: str, shape: data.StructLayout, read_at: Signal):
        """Add a memory with an entry a slot; return the one at ``read_at``, and the write port."""
        m.submodules[name] = memory = Memory(
            shape=shape, depth=self.params.count, init=[], attrs={"ram_style": "distributed"}
        )
        read = memory.read_port(domain="comb")
        m.d.comb += read.addr.eq(read_at)
        return read.data, memory.write_port()
