"""Stores the weights of an engine, in an updated and an architectural copy."""

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.p4sgd.engine.params import EngineParams


class ModelMemory(Component):
    """Keeps two copies of ``chunks`` x ``lanes`` weights (P4SGD, section 4.1.2, "model update").

    The updated copy takes the gradient of every micro-batch; the architectural copy, which the
    forward stage reads, changes with the last micro-batch of a mini-batch only. A write goes to
    the updated copy, with ``both`` to both copies.

    The weight of lane l leaves ``architectural`` ``params.bank.weight_skew(l)`` cycles later than
    that: columns of UltraRAM are read one after the other, as the cascades of DSP slices need them.

    Throughput: a read of each copy and a write a cycle. Latency: :attr:`latency` cycles from
    address to data; what a write stores can be read from the next cycle on.
    """

    latency = DualPortMemory.latency

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            {
                "forward_chunk": In(params.model.chunk_bits),
                "architectural": Out(params.model.weights),
                "update_chunk": In(params.model.chunk_bits),
                "updated": Out(params.model.weights),
                "write": In(1),
                "both": In(1),
                "write_chunk": In(params.model.chunk_bits),
                "result": In(params.model.weights),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.updated = updated = self.copy(self.params.model.weights.size)
        m.d.comb += [
            updated.read_address.eq(self.update_chunk),
            updated.write.eq(self.write),
            updated.write_address.eq(self.write_chunk),
            updated.write_data.eq(self.result.as_value()),
            self.updated.as_value().eq(updated.read_data),
        ]
        self.add_architectural(m)
        return m

    def copy(self, bits: int) -> DualPortMemory:
        """Return a memory for ``bits`` of every chunk."""
        depth = max(2, self.params.chunks)
        return DualPortMemory.sized(shape=bits, depth=depth, style="ultra", mixed=True)

    def add_architectural(self, m: Module) -> None:
        """Add the architectural copy in columns; registers delay parts that are read too early."""
        params = self.params
        parts = []
        for column in params.model.columns:
            m.submodules[f"architectural_{column.skew}"] = memory = self.copy(column.bits)
            m.d.comb += [
                memory.read_address.eq(
                    delay(m, self.forward_chunk, column.skew, f"chunk_{column.skew}")
                ),
                memory.write.eq(self.write & self.both),
                memory.write_address.eq(self.write_chunk),
                memory.write_data.eq(self.result.as_value()[column.low : column.high]),
            ]
            for skew, low, high in column.pieces:
                early = memory.read_data[low - column.low : high - column.low]
                parts.append(delay(m, early, skew - column.skew, f"lanes_{column.skew}_{skew}"))
        m.d.comb += self.architectural.as_value().eq(Cat(parts))
