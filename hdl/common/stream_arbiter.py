"""Merges several streams into one: a round-robin stream arbiter."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import index_of
from hdl.common.checks import check_range
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.params import tagged, whole
from hdl.common.round_robin import next_above
from hdl.common.shaped import ShapedParams
from hdl.common.streams import StreamRegister


class StreamArbiterParams(ShapedParams, suffix="{width}_of_{count}"):
    """Sets the inputs and beats of an arbiter, and whether it keeps packets whole."""

    count: int = whole(1, 65)  #: number of inputs
    #: bit of a beat that ends a packet; None: every beat is a packet
    last_bit: int | None = tagged("_last_{}", default=None)
    #: whether a port ``hold`` keeps inputs from beginning a packet
    holds: bool = tagged("_holds", default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.holds and self.count == 1:
            raise ValueError("holds needs at least two inputs")
        if self.last_bit is not None:
            check_range("last_bit", self.last_bit, 0, self.width - 1)

    @property
    def output(self) -> data.StructLayout:
        """Describe a beat and the input that it came from."""
        return data.StructLayout({"index": max(1, ceil_log2(self.count)), "payload": self.shape})


class StreamArbiter(Component):
    """Merges the beats of all ``i[k]`` into ``o``, with ``index`` k; each input stays in order.

    Inputs are granted in round-robin order, packet by packet: the beats of a packet stay together,
    and a packet waits for at most one of every other input. A packet whose next beat is late blocks
    all others. The grant is decided a cycle ahead, and stays where it is while no other input
    waits, so a beat of another input is taken a cycle later when all were idle.

    With ``params.holds``, an input whose bit of ``hold`` is high begins no packet, and does not
    block the others; a packet that has begun goes on to its end.

    Throughput: one beat a cycle. Latency: ``latency`` from a beat taken. Stalls: holds. ``o`` and
    ``i[k].ready`` are registers, or gates after registers, and do not depend on inputs of the same
    cycle.
    """

    latency = StreamRegister.latency

    def __init__(self, params: StreamArbiterParams) -> None:
        super().__init__(
            params,
            i=In(stream.Signature(params.shape)).array(params.count),
            o=Out(stream.Signature(params.output)),
            **({"hold": In(params.count)} if params.holds else {}),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.out = out = StreamRegister.sized(shape=params.output)
        beat = Signal(params.output)
        connect(m, out.o, flipped(self.o))
        m.d.comb += [
            out.i.payload.eq(beat),
        ]
        if params.count == 1:
            m.d.comb += [
                beat.payload.eq(self.i[0].payload),
                out.i.valid.eq(self.i[0].valid),
                self.i[0].ready.eq(out.i.ready),
            ]
            return
        chosen = Signal(params.count, init=1 << params.count - 1)
        others = Signal(params.count)  # inputs with a waiting beat, other than the chosen one
        moves_on = Signal()  # another input is chosen, if one waits
        inside = Signal()  # a packet has begun and not ended
        comes = Signal()
        ends = Signal()
        valid = Cat(i.valid for i in self.i)
        free, turn = valid, chosen  # inputs that may begin; the chosen one, if it may go on
        if params.holds:
            free, turn = valid & ~self.hold, Signal(params.count)
            m.d.comb += turn.eq(Mux(inside, chosen, chosen & ~self.hold))
        m.d.comb += [
            others.eq(free & ~chosen),
            comes.eq((valid & turn).any()),
            ends.eq(1 if params.last_bit is None else Value.cast(beat.payload)[params.last_bit]),
            moves_on.eq(Mux(comes, out.i.ready & ends, ~inside)),
            beat.index.eq(index_of(chosen)),
            beat.payload.eq(
                reduce(or_, (Mux(chosen[k], i.payload, 0) for k, i in enumerate(self.i)))
            ),
            out.i.valid.eq(comes),
        ]
        for k, i in enumerate(self.i):
            m.d.comb += i.ready.eq(turn[k] & out.i.ready)
        with m.If(moves_on & others.any()):
            m.d.sync += chosen.eq(next_above(others, chosen))
        if params.last_bit is not None:
            with m.If(comes & out.i.ready):
                m.d.sync += inside.eq(~ends)
        expect(m, self, what_waits_stays=lambda: self.what_waits_stays(m))

    def what_waits_stays(self, m: Module) -> Value:
        """Return whether each input that was not taken is still valid."""
        waited = Signal(self.params.count)
        m.d.sync += waited.eq(Cat(i.valid & ~i.ready for i in self.i))
        return ~(waited & ~Cat(i.valid for i in self.i)).any()
