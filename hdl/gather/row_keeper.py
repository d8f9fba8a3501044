"""Keeps rows that were fetched, and repeats them."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import memory, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.common.reserved_fifo import ReservedFifo
from hdl.gather.params import SHARE, SLOTS, GatherParams

QUEUE = 8  #: parts in the pipeline, or waiting


class RowKeeper(Component):
    """Emits the ``parts`` of each row of ``order``, in that order.

    A row that does not repeat takes its parts from ``fetched``, and they are kept in its ``slot``;
    a row that repeats takes the parts that are kept there. All parts of a row have the ``final`` of
    ``order``. A slot has room for 2 ** ``slot_bits`` parts.

    Throughput: a part a cycle. Latency: :attr:`latency`. Stalls: up to :data:`QUEUE` parts wait.
    """

    latency = 3

    def __init__(self, params: GatherParams) -> None:
        super().__init__(
            params,
            slot_bits=In(4),
            order=In(stream.Signature(params.ordered)),
            fetched=In(stream.Signature(params.reads.beat)),
            parts=Out(stream.Signature(params.reads.beat)),
        )

    def build(self, m: Module) -> None:
        beat, row = self.params.reads.beat, self.order.payload
        sizes = MemoryParams(shape=beat, depth=self.params.kept_parts)
        m.submodules.stored = stored = DualPortMemory(sizes)
        m.submodules.queue = queue = ReservedFifo.sized(shape=beat, depth=QUEUE)
        provided, step, ends = self.fetched.payload, Signal(), Signal()
        number = Signal(sizes.address_bits)  # number of the part in its row
        top = self.count(m, row.slot, number, step & ends & ~row.repeats)
        at = ((row.slot << self.slot_bits) + number)[: sizes.address_bits]
        m.d.comb += [
            step.eq(self.order.valid & queue.room & (row.repeats | self.fetched.valid)),
            ends.eq(Mux(row.repeats, number == top, provided.last & SHARE(provided.user).last)),
            self.order.ready.eq(step & ends),
            self.fetched.ready.eq(self.order.valid & queue.room & ~row.repeats),
            stored.read_address.eq(at),
            stored.write.eq(step & ~row.repeats),
            stored.write_address.eq(at),
            stored.write_data.eq(provided),
            queue.reserve.eq(step),
        ]
        with m.If(step):
            m.d.sync += number.eq(Mux(ends, 0, number + 1)[: len(number)])
        cycles = sizes.latency
        part = queue.payload
        again = delay(m, row.repeats, cycles, "again")
        m.d.comb += [
            Value.cast(part).eq(
                Mux(again, stored.read_data, delay(m, Value.cast(provided), cycles, "provided"))
            ),
            queue.push.eq(delay(m, step, cycles, "went", reset_less=False)),
            SHARE(part.user).final.eq(delay(m, row.final, cycles, "final")),
        ]
        connect(m, queue.o, flipped(self.parts))

    def count(self, m: Module, slot: Value, number: Signal, ended: Value) -> Value:
        """Return the number of the last part that is kept in ``slot``."""
        m.submodules.tops = tops = memory.Memory(
            shape=len(number), depth=SLOTS, init=[], attrs={"ram_style": "distributed"}
        )
        write, read = tops.write_port(), tops.read_port(domain="comb")
        m.d.comb += [
            Cat(write.addr, read.addr).eq(Cat(slot, slot)),
            write.data.eq(number),
            write.en.eq(ended),
        ]
        return read.data
