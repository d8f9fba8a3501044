"""Rotates the words of a beat, and computes which of them are below a lane."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.host.params import BEAT_WORDS, LANE_BITS, WORD_BYTES, HostParams


def words_below(lane: Value) -> Value:
    """Return a bit for each word of a beat, high if the word is below ``lane``."""
    return Cat(lane > k for k in range(BEAT_WORDS))


class Rotator(Component):
    """Rotates the words of ``i``: its word k is word k + ``up`` of ``o``, modulo 16.

    It has two levels of multiplexers of four inputs. Latency: none.
    """

    latency = 0

    def __init__(self, params: HostParams) -> None:
        super().__init__(params, i=In(8 * BEAT_BYTES), up=In(LANE_BITS), o=Out(8 * BEAT_BYTES))

    def build(self, m: Module) -> None:
        word = 8 * WORD_BYTES
        coarse = Signal(8 * BEAT_BYTES)
        for by, chosen, provided, taken in (
            (BEAT_WORDS // 4, self.up[2:], self.i, coarse),
            (1, self.up[:2], coarse, self.o),
        ):
            turned = [provided.rotate_left(k * by * word) for k in range(4)]
            m.d.comb += taken.eq(
                Mux(
                    chosen[1],
                    Mux(chosen[0], turned[3], turned[2]),
                    Mux(chosen[0], turned[1], turned[0]),
                )
            )
