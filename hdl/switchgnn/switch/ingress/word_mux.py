"""Selects one of several words, in lanes that each have a select of their own."""

from collections.abc import Sequence

from amaranth.hdl import Array, Cat, Const, Module, Signal, Value
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.common.params import Params, whole

LANE_BITS = 32  #: most bits that share a select


class MuxLaneParams(Params, suffix="{bits}_of_{count}"):
    """Sets the width of a lane, and the number of words."""

    bits: int = whole(1, LANE_BITS)  #: bits of a word in this lane
    count: int = whole(2, 64)  #: number of words


class LaneNumber(Component):
    """Encodes the only bit that is set as its ``number``; ``chosen`` are all bits but the lowest.

    Latency: none.
    """

    latency = 0

    def __init__(self, params: MuxLaneParams) -> None:
        super().__init__(params, chosen=In(params.count - 1), number=Out(ceil_log2(params.count)))

    def build(self, m: Module) -> None:
        m.d.comb += self.number.eq(index_of(Cat(Const(0, 1), self.chosen)))


class MuxLane(Component):
    """Passes word ``number`` of ``words`` to ``o``.

    It is a component of its own, and so is what encodes its number: a technology mapper would share
    a select among lanes, or select each bit by the logic before it, and wires with many loads are
    late. Latency: none.
    """

    latency = 0

    def __init__(self, params: MuxLaneParams) -> None:
        words, number = In(params.bits).array(params.count), In(ceil_log2(params.count))
        super().__init__(params, words=words, number=number, o=Out(params.bits))

    def build(self, m: Module) -> None:
        m.d.comb += self.o.eq(Array(self.words)[self.number])


def chosen_word(m: Module, name: str, words: Sequence[Value], chosen: Value) -> Signal:
    """Return the bits of that word whose bit of ``chosen`` is set, or of word 0 if none is.

    There is a select for each lane of LANE_BITS, whose parts are called ``name``.
    """
    result = Signal(len(words[0]), name=name)
    for at in range(0, len(result), LANE_BITS):
        bits = slice(at, at + LANE_BITS)
        params = MuxLaneParams(bits=len(result[bits]), count=len(words))
        number, lane = LaneNumber(params), MuxLane(params)
        m.submodules[f"{name}_{at // LANE_BITS}_number"] = number
        m.submodules[f"{name}_{at // LANE_BITS}"] = lane
        m.d.comb += [
            number.chosen.eq(chosen[1:]),
            lane.number.eq(number.number),
            *(lane.words[k].eq(word[bits]) for k, word in enumerate(words)),
            result[bits].eq(lane.o),
        ]
    return result
