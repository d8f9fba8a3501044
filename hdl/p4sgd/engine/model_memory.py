"""Stores the weights of an engine, in an updated and an architectural copy."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.memory import DualPortMemory, TrueDualPortMemory
from hdl.p4sgd.engine.columns import Column
from hdl.p4sgd.engine.params import EngineParams


def update_latency(params: EngineParams) -> int:
    """Return the cycles from ``update_chunk`` to ``updated``, of which a read may wait one."""
    return ModelMemory.latency + params.ping_pong


class ModelMemory(Component):
    """Keeps two copies of ``chunks`` x ``lanes`` weights (P4SGD, section 4.1.2, "model update").

    The updated copy takes the gradient of every micro-batch; the architectural copy, which the
    forward stage reads, changes with the last micro-batch of a mini-batch only. A write goes to
    the updated copy, with ``both`` to both copies.

    With ``ping_pong`` both copies are halves of one array, and ``*_half`` says which one an access
    is for. One port of the array serves the forward stage, the other one updates: a read that
    ``update`` begins waits a cycle if a write is in the way, and ``updated`` keeps its weights
    until the next one. Reads are two cycles apart at least, and so are writes.

    The weight of lane l leaves ``architectural`` ``params.bank.weight_skew(l)`` cycles later than
    that: columns of UltraRAM are read one after the other, as the cascades of DSP slices need them.

    Throughput: a read of each copy and a write a cycle, with ``ping_pong`` a read for an update and
    a write in two cycles. Latency: :attr:`latency` cycles from ``forward_chunk`` to data, and
    :func:`update_latency` from ``update_chunk``; what a write stores can be read from the next
    cycle on.
    """

    latency = DualPortMemory.latency

    def __init__(self, params: EngineParams) -> None:
        halves = ("forward_half", "update", "update_half", "write_half")
        super().__init__(
            params,
            forward_chunk=In(params.model.chunk_bits),
            architectural=Out(params.model.weights),
            update_chunk=In(params.model.chunk_bits),
            updated=Out(params.model.weights),
            write=In(1),
            write_chunk=In(params.model.chunk_bits),
            result=In(params.model.weights),
            **dict.fromkeys(halves if params.ping_pong else ("both",), In(1)),
        )

    def build(self, m: Module) -> None:
        if self.params.ping_pong:
            self.add_halves(m)
        else:
            self.add_copies(m)

    def add_copies(self, m: Module) -> None:
        """Add the updated copy, and the architectural one in columns."""
        bits, depth = self.params.model.weights.size, max(2, self.params.chunks)
        sizes = {"depth": depth, "style": "ultra", "mixed": True}
        m.submodules.updated = updated = DualPortMemory.sized(shape=bits, **sizes)
        m.d.comb += [
            updated.read_address.eq(self.update_chunk),
            updated.write.eq(self.write),
            updated.write_address.eq(self.write_chunk),
            updated.write_data.eq(self.result.as_value()),
            self.updated.as_value().eq(updated.read_data),
        ]
        parts = []
        for column in self.params.model.columns:
            memory = DualPortMemory.sized(shape=column.bits, **sizes)
            m.submodules[f"architectural_{column.skew}"] = memory
            m.d.comb += [
                memory.read_address.eq(self.in_turn(m, self.forward_chunk, column)),
                memory.write.eq(self.write & self.both),
                memory.write_address.eq(self.write_chunk),
                memory.write_data.eq(self.result.as_value()[column.low : column.high]),
            ]
            parts += self.pieces(m, column, memory.read_data)
        m.d.comb += self.architectural.as_value().eq(Cat(parts))

    def add_halves(self, m: Module) -> None:
        """Add both copies as halves of one array, in columns."""
        forward = Cat(self.forward_half, self.forward_chunk)
        update = Cat(self.update_half, self.update_chunk)
        waits = Signal()
        waiting = Signal.like(update, reset_less=True)
        reads = self.update | waits
        m.d.sync += [waits.eq(reads & self.write), waiting.eq(update)]
        expect(
            m,
            self,
            a_read_waits_once=lambda: ~(waits & (self.write | self.update)),
        )
        parts, updated = [], []
        for column in self.params.model.columns:
            memory = TrueDualPortMemory.sized(
                shape=column.bits, depth=2 * max(2, self.params.chunks), style="ultra", mixed=True
            )
            m.submodules[f"halves_{column.skew}"] = memory
            m.d.comb += [
                memory.a_address.eq(self.in_turn(m, forward, column)),
                memory.b_address.eq(
                    Mux(
                        self.write,
                        Cat(self.write_half, self.write_chunk),
                        Mux(waits, waiting, update),
                    )
                ),
                memory.b_read.eq(reads),
                memory.b_write.eq(self.write),
                memory.b_write_data.eq(self.result.as_value()[column.low : column.high]),
            ]
            updated.append(memory.b_data)
            parts += self.pieces(m, column, memory.a_data)
        m.d.comb += [
            self.updated.as_value().eq(Cat(updated)),
            self.architectural.as_value().eq(Cat(parts)),
        ]

    def in_turn(self, m: Module, address: Value, column: Column) -> Value:
        """Return the address of the forward stage's read when the column's turn comes."""
        return delay(m, address, column.skew, f"chunk_{column.skew}")

    def pieces(self, m: Module, column: Column, early: Value) -> list[Value]:
        """Return the parts of a column; registers delay those that are read too early."""
        return [
            delay(
                m,
                early[low - column.low : high - column.low],
                skew - column.skew,
                f"lanes_{column.skew}_{skew}",
            )
            for skew, low, high in column.pieces
        ]
