"""Where a word stands in its micro-batch: the plane and chunk counters of a stage."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.engine.params import EngineParams


def word_position(params: EngineParams) -> data.StructLayout:
    """Describe where a word stands in its micro-batch."""
    return data.StructLayout(
        {
            "first_plane": 1,
            "second_plane": 1,
            "last_plane": 1,
            "first_chunk": 1,
            "last_chunk": 1,
            "chunk": params.model.chunk_bits,
        }
    )


class WordCounter(Component):
    """Counts ``bits`` planes in each of ``chunks`` chunks, over and over.

    ``position`` describes the next word; ``step`` moves on to the one after.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            {
                "settings": In(params.settings),
                "step": In(1),
                "position": Out(word_position(params)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        plane = Signal(params.precision_bits)
        chunk = Signal(params.model.chunk_bits)
        first_plane, first_chunk = plane == 0, chunk == 0
        last_plane = plane == self.settings.bits - 1
        last_chunk = chunk == (self.settings.chunks - 1)[: params.model.chunk_bits]
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
