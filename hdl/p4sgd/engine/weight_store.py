"""Buffers the chunks of a model in memory on their way through an engine."""

from typing import Any

from amaranth.hdl import Module, Mux
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.gearbox import Deserializer
from hdl.p4sgd.engine.params import PORT_BITS, EngineParams

CHUNKS = 16  #: chunks of each queue: more than are in the update lanes at a time


class WeightStore(Component):
    """Has the weights of the chunks that the stages of an engine are at (P4SGD, section 4.1.2).

    ``forward_beats`` and ``update_beats`` bring the architectural and the updated model from
    memory, chunk by chunk, eight weights a beat; ``forward_came`` and ``update_came`` are high for
    a cycle when a chunk has come, which can be used a cycle later. ``architectural`` has the oldest
    chunk of the forward stage until ``forward_pop``, with the delays that
    ``params.bank.weight_skew`` demands. ``updated`` has the oldest chunk of the backward stage with
    ``fresh``, which takes it away, and otherwise ``result``, what the micro-batch before made of
    the chunk. ``write`` sends ``result`` to ``results``, which the stage has kept a place for;
    ``written`` says that a place is free again.

    Throughput: a chunk in ``lanes / 8 + 1`` cycles. Latency: two cycles from a beat to a chunk, as
    of a gearbox and a queue.
    """

    def __init__(self, params: EngineParams) -> None:
        weights, beats = params.model.weights, stream.Signature(PORT_BITS)
        super().__init__(
            params,
            forward_beats=In(beats),
            update_beats=In(beats),
            results=Out(stream.Signature(weights)),
            forward_came=Out(1),
            update_came=Out(1),
            forward_pop=In(1),
            fresh=In(1),
            write=In(1),
            written=Out(1),
            result=In(weights),
            architectural=Out(weights),
            updated=Out(weights),
        )

    def build(self, m: Module) -> None:
        params, weights = self.params, self.params.model.weights
        chunks = self.gather(m, "forward", self.forward_beats)
        group = params.bank.lanes_at_once * params.weight_bits
        column = None
        for k, low in enumerate(range(0, weights.size, group)):
            part = chunks.payload[low : low + group]
            m.submodules[f"column_{k}"] = column = self.queue(len(part))
            m.d.comb += [
                column.i.payload.eq(part),
                column.i.valid.eq(self.forward_came),
                column.o.ready.eq(delay(m, self.forward_pop, k, f"pop_{k}", reset_less=False)),
                self.architectural.as_value()[low : low + group].eq(column.o.payload),
            ]
        assert column is not None  # the last one has most chunks, as its chunks leave last
        m.d.comb += [
            chunks.ready.eq(column.i.ready),
            self.forward_came.eq(chunks.valid & chunks.ready),
        ]
        chunks = self.gather(m, "update", self.update_beats)
        m.submodules.update_queue = queue = self.queue(weights.size)
        m.submodules.results_queue = results = self.queue(weights.size)
        m.d.comb += [
            queue.i.payload.eq(chunks.payload),
            queue.i.valid.eq(chunks.valid),
            chunks.ready.eq(queue.i.ready),
            self.update_came.eq(chunks.valid & chunks.ready),
            queue.o.ready.eq(self.fresh),
            self.updated.as_value().eq(Mux(self.fresh, queue.o.payload, self.result.as_value())),
            results.i.payload.eq(self.result.as_value()),
            results.i.valid.eq(self.write),
            self.written.eq(self.results.valid & self.results.ready),
            self.results.payload.as_value().eq(results.o.payload),
            self.results.valid.eq(results.o.valid),
            results.o.ready.eq(self.results.ready),
        ]

    def gather(self, m: Module, name: str, beats: Any) -> Any:
        """Join the beats of a chunk; return the stream of chunks."""
        bits = self.params.model.weights.size
        part = Deserializer.sized(shape=bits, parts=bits // PORT_BITS)
        m.submodules[f"{name}_gather"] = part
        connect(m, flipped(beats), part.i)
        return part.o

    def queue(self, bits: int) -> Fifo:
        """Return a queue for so many bits of each of :data:`CHUNKS` chunks."""
        return Fifo.sized(shape=bits, depth=CHUNKS, style="distributed")
