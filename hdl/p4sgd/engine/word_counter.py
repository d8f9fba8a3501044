"""Where a word stands in its micro-batch: the plane and chunk counters of a stage."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.engine.params import EngineParams


class WordCounter(Component):
    """Counts ``bits`` planes in each of ``chunks`` chunks, over and over.

    ``position`` describes the next word; ``step`` moves on to the one after.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            {"settings": In(params.settings), "step": In(1), "position": Out(params.position)},
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        plane = Signal(params.bits_bits)
        chunk = Signal(params.chunk_bits)
        first_plane, first_chunk = plane == 0, chunk == 0
        last_plane = plane == self.settings.bits - 1
        last_chunk = chunk == (self.settings.chunks - 1)[: params.chunk_bits]
        m.d.comb += [
            self.position.first_plane.eq(first_plane),
            self.position.second_plane.eq(plane == 1),
            self.position.last_plane.eq(last_plane),
            self.position.first_chunk.eq(first_chunk),
            self.position.last_chunk.eq(last_chunk),
            self.position.chunk.eq(chunk),
        ]
        with m.If(self.step):
            m.d.sync += plane.eq(plane + 1)
            with m.If(last_plane):
                m.d.sync += [plane.eq(0), chunk.eq(chunk + 1)]
                with m.If(last_chunk):
                    m.d.sync += chunk.eq(0)
        return m
