"""Counts the planes and chunks of a micro-batch, which gives the position of each word."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.p4sgd.engine.params import EngineParams


def word_position(params: EngineParams) -> data.StructLayout:
    """Describe the position of a word in its micro-batch."""
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
    """Counts ``bits`` planes in each of ``chunks`` chunks, cyclically.

    ``position`` describes the next word, in registers; ``step`` moves on to the one after.
    ``settings`` must be stable from :attr:`settings_latency` cycles before a micro-batch's first
    ``step`` to its last one.
    """

    settings_latency = 2

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            settings=In(params.word_settings),
            step=In(1),
            position=Out(word_position(params)),
        )

    def build(self, m: Module) -> None:
        params, settings = self.params, self.settings
        _, plane_first, plane_last = count(
            m, "plane", settings.bits, params.precision_bits, self.step
        )
        chunk, chunk_first, chunk_last = count(
            m, "chunk", settings.chunks, params.model.chunk_bits, self.step & plane_last
        )
        expect(m, self, settings_stand_still=lambda: ~self.step | self.settled(m))
        second_plane = Signal()
        with m.If(self.step):
            m.d.sync += second_plane.eq(plane_first & ~plane_last)
        m.d.comb += [
            self.position.first_plane.eq(plane_first),
            self.position.second_plane.eq(second_plane),
            self.position.last_plane.eq(plane_last),
            self.position.first_chunk.eq(chunk_first),
            self.position.last_chunk.eq(chunk_last),
            self.position.chunk.eq(chunk),
        ]

    def settled(self, m: Module) -> Value:
        """Return whether the settings have been stable for ``settings_latency`` cycles."""
        now = Cat(self.settings.bits, self.settings.chunks)
        before = [delay(m, now, k, f"settings_before_{k}") for k in (1, self.settings_latency)]
        return (before[0] == now) & (before[1] == now)


def count(
    m: Module, name: str, limit: Value, bits: int, step: Value
) -> tuple[Signal, Signal, Signal]:
    """Count from 0 to ``limit - 1``, cyclically.

    Returns three registers, because they are needed early in a cycle: the count, and whether it
    is the first and the last value.
    """
    count = Signal(bits, name=name)
    first = Signal(name=f"first_{name}", init=1)
    last = Signal(name=f"last_{name}", reset_less=True)  # ``first`` sets it in the next cycle
    single = Signal(name=f"single_{name}", reset_less=True)
    before_last = Signal(bits, name=f"before_last_{name}", reset_less=True)
    m.d.sync += [single.eq(limit == 1), before_last.eq((limit - 2)[:bits])]
    with m.If(step):
        m.d.sync += [
            count.eq(Mux(last, 0, count + 1)),
            first.eq(last),
            last.eq(Mux(last, single, count == before_last)),
        ]
    with m.Elif(first):
        m.d.sync += last.eq(single)
    return count, first, last
