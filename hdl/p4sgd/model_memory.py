"""The model memory of an engine: an updated and an architectural copy of its weights."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.memory import DualPortMemory, MemoryParams
from hdl.p4sgd.params import EngineParams


class ModelMemory(Component):
    """Two copies of ``chunks`` x ``lanes`` weights: P4SGD, section 4.1.2, "model update".

    The updated copy takes the gradient of every micro-batch; the architectural copy, which the
    forward stage reads, changes with the last micro-batch of a mini-batch only. A write goes to
    the updated copy, with ``both`` to either. At the size of the ``u280`` preset a copy fills 29
    UltraRAMs.

    Throughput: a read of each copy and a write a cycle. Latency: :attr:`latency` cycles from
    address to data; what a write stores can be read from the next cycle on.
    """

    latency = DualPortMemory.latency

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            {
                "forward_chunk": In(params.chunk_bits),
                "architectural": Out(params.weight),
                "update_chunk": In(params.chunk_bits),
                "updated": Out(params.weight),
                "write": In(1),
                "both": In(1),
                "write_chunk": In(params.chunk_bits),
                "result": In(params.weight),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        sizes = MemoryParams(
            bits=params.lanes * params.weight_bits, depth=max(2, params.chunks), style="ultra"
        )
        m.submodules.architectural = architectural = DualPortMemory(sizes)
        m.submodules.updated = updated = DualPortMemory(sizes)
        m.d.comb += [
            architectural.read_address.eq(self.forward_chunk),
            architectural.write.eq(self.write & self.both),
            updated.read_address.eq(self.update_chunk),
            updated.write.eq(self.write),
            self.architectural.as_value().eq(architectural.read_data),
            self.updated.as_value().eq(updated.read_data),
        ]
        for copy in (architectural, updated):
            m.d.comb += [
                copy.write_address.eq(self.write_chunk),
                copy.write_data.eq(self.result.as_value()),
            ]
        return m
