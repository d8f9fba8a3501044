"""Routes several streams to several others, by the output number in each beat."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hdl.common.checks import check_range
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.params import tagged, whole
from hdl.common.round_robin import (
    FEW,
    RoundRobin,
    choose_in_turn,
    next_above,
)
from hdl.common.shaped import ShapedParams
from hdl.common.streams import StreamRegister


def add_choice(m: Module, name: str, requesting: Value, take: Value) -> Value:
    """Return the one-hot grant of a round-robin arbiter; a single requester needs none."""
    if len(requesting) == 1:
        return requesting
    if len(requesting) <= FEW:
        return choose_in_turn(m, requesting, take)
    turn = RoundRobin.sized(count=len(requesting))
    m.submodules[name] = turn
    m.d.comb += [turn.requesting.eq(requesting), turn.take.eq(take)]
    return turn.grant


def chosen(grant: Value, values) -> Value:
    """Return the one of ``values`` whose bit is set in ``grant``, or 0 if none is."""
    masked = [
        Value.cast(value) & grant[k].replicate(len(Value.cast(value)))
        for k, value in enumerate(values)
    ]
    while len(masked) > 1:
        pairs = [masked[k : k + 2] for k in range(0, len(masked), 2)]
        masked = [pair[0] | pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    return masked[0]


class CrossbarParams(ShapedParams, suffix="{inputs}x{outputs}_{width}"):
    """Sets the inputs, outputs and beats of a :class:`Crossbar`, and whether packets stay whole."""

    inputs: int = whole(1, 64)  #: number of inputs
    outputs: int = whole(1, 64)  #: number of outputs
    #: bit of a beat that ends a packet; None: every beat is a packet
    last_bit: int | None = tagged("_last_{}", default=None)
    #: lowest bits of a packet's first beat that ``begins`` reports; 0: none
    reported_bits: int = tagged("_reported_{}", default=0)
    announces: bool = tagged("_announces", default=False)  #: whether there are ports ``next``

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.last_bit is not None:
            check_range("last_bit", self.last_bit, 0, self.width - 1)
        check_range("reported_bits", self.reported_bits, 0, self.width)
        if (self.reported_bits or self.announces) and self.last_bit is None:
            name = "reported_bits" if self.reported_bits else "announces"
            raise ValueError(f"{name} needs a last_bit, which tells where packets begin")

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat and the number of the output that it goes to."""
        return data.StructLayout({"to": max(1, ceil_log2(self.outputs)), "beat": self.shape})

    @property
    def announcement(self) -> data.StructLayout:
        """Describe the output of the packet that follows."""
        return data.StructLayout({"valid": 1, "to": self.beat["to"].shape})

    @property
    def begins(self) -> data.StructLayout:
        """Describe the report of a packet's first beat."""
        return data.StructLayout({"valid": 1, "reported": self.reported_bits})


class Crossbar(Component):
    """Routes every beat of an input ``i`` to ``o[to]``; each output is a round-robin arbiter.

    Beats of one input for one output stay in order. A beat that waits for its output blocks those
    behind it (head-of-line blocking). Throughput: a beat a cycle at each input and output while no
    two inputs need the same output. Latency: :attr:`latency`. ``o`` is registers; ``i.ready``
    depends combinationally on the inputs' ``to``, and without packets on ``valid``, too. ``to``
    must be the number of an output; if there is only one output, it is ignored.

    With ``params.last_bit`` packets stay whole: an output that has taken a packet's first beat
    takes only this input's beats, up to the one with this bit set. ``to`` must be the same in all
    beats of a packet, because it is not stored here. A first beat that waits may be withdrawn. An
    output that is stalled blocks only the inputs whose packet is for it. The grant is a register,
    decided a cycle ahead: while inputs wait, an output takes a beat in every cycle, from packet to
    packet, too; an idle output takes a packet a cycle after it comes, even if the packet's input
    was busy until then. With ``params.reported_bits`` an output's ``begins`` is ``valid`` in the
    cycle in which it takes a packet's first beat, and has that many lowest bits of the beat.

    With ``params.announces``, ``next`` of an input says where the packet goes that follows its last
    beat, or which comes in the next cycle to an input without a beat. Then an idle output takes a
    packet in the cycle in which it comes, if nothing stalls.
    """

    latency = StreamRegister.latency

    def __init__(self, params: CrossbarParams) -> None:
        super().__init__(
            params,
            i=In(stream.Signature(params.beat)).array(params.inputs),
            o=Out(stream.Signature(params.shape)).array(params.outputs),
            empty=Out(1),
            **({"next": In(params.announcement).array(params.inputs)} if params.announces else {}),
            **(
                {"begins": Out(params.begins).array(params.outputs)} if params.reported_bits else {}
            ),
        )

    def build(self, m: Module) -> None:
        params = self.params
        taken = [[] for _ in range(params.inputs)]  # whether each output takes a beat of the input
        leaves = Signal(params.inputs)  # a packet's last beat leaves its input, if nothing stalls
        turns = []
        for k, o in enumerate(self.o):
            register = StreamRegister.sized(shape=params.width)
            m.submodules[f"output_{k}"] = register
            needs = Signal(params.inputs, name=f"needs_{k}")
            requesting = Signal(params.inputs, name=f"requesting_{k}")
            grant = Signal(params.inputs, name=f"grant_{k}")
            m.d.comb += [
                needs.eq(Cat(i.payload.to == k if params.outputs > 1 else 1 for i in self.i)),
                requesting.eq(needs & Cat(i.valid for i in self.i)),
            ]
            if params.last_bit is None:
                turn = add_choice(m, f"turn_{k}", requesting, register.i.ready)
                m.d.comb += [grant.eq(turn), register.i.valid.eq(requesting.any())]
                selected = grant
            else:
                # The grant is a register, so the granted input's ready does not depend on valid.
                announced = 0
                if params.announces:
                    comes = (leaves[n] | ~self.i[n].valid for n in range(params.inputs))
                    named = (item.valid & (item.to == k) for item in self.next)
                    announced = Cat(comes) & Cat(named)
                selected = self.packet_turn(m, k, requesting, announced, register.i)
                turns.append(needs & selected)
                m.d.comb += [
                    grant.eq(needs & selected),
                    register.i.valid.eq((requesting & selected).any()),
                ]
            connect(m, register.o, flipped(o))
            m.d.comb += [
                register.i.payload.eq(chosen(selected, [i.payload.beat for i in self.i])),
            ]
            for number, outputs in enumerate(taken):
                outputs.append(grant[number] & register.i.ready)
        for i, outputs in zip(self.i, taken, strict=True):
            m.d.comb += i.ready.eq(Cat(outputs).any())
        if params.announces and params.last_bit is not None:
            last = params.last_bit
            ends = Cat(i.valid & Value.cast(i.payload.beat)[last] for i in self.i)
            granted = Value.cast(0)
            for turn in turns:
                granted = granted | turn
            m.d.comb += leaves.eq(ends & granted)
        m.d.comb += self.empty.eq(~Cat(o.valid for o in self.o).any())
        if params.last_bit is not None:
            expect(m, self, packets_keep_their_path=lambda: self.packets_keep_their_path(m))

    def packet_turn(self, m: Module, k: int, waiting: Value, announced: Any, taken: Any) -> Signal:
        """Return the one-hot grant of output ``k``: the input whose packet it takes.

        ``taken`` is the stream of beats into the output. The grant moves on with the last beat of a
        packet, or when the granted input has no packet and another input has one.
        """
        requesting = waiting | announced
        turn = Signal(self.params.inputs, name=f"turn_{k}", init=1)
        inside = Signal(name=f"inside_{k}")  # a packet has begun and not ended
        ends = taken.payload[self.params.last_bit]
        if self.params.reported_bits:
            m.d.comb += [
                self.begins[k].valid.eq(taken.valid & taken.ready & ~inside),
                self.begins[k].reported.eq(taken.payload[: self.params.reported_bits]),
            ]
        with m.If(taken.valid & taken.ready):
            m.d.sync += inside.eq(~ends)
        with m.If(Mux(taken.valid, taken.ready & ends, ~inside) & requesting.any()):
            m.d.sync += turn.eq(next_above(requesting, turn))
        return turn

    def packets_keep_their_path(self, m: Module) -> Value:
        """Return whether all beats of each packet have the same ``to``."""
        wrong = []
        for number, i in enumerate(self.i):
            to = Signal.like(i.payload.to, name=f"to_{number}")
            inside = Signal(name=f"inside_packet_{number}")
            with m.If(i.valid & i.ready):
                m.d.sync += [
                    to.eq(i.payload.to),
                    inside.eq(~Value.cast(i.payload.beat)[self.params.last_bit]),
                ]
            wrong.append(i.valid & inside & (i.payload.to != to))
        return ~Cat(wrong).any()
