"""Leads several streams to several others, by the output that each beat or packet names."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.round_robin import (
    FEW,
    RoundRobin,
    RoundRobinParams,
    choose_in_turn,
    next_above,
)
from hdl.common.streams import StreamRegister, StreamRegisterParams


def add_choice(m: Module, name: str, asking: Value, take: Value) -> Value:
    """Return the bit of ``asking`` whose turn it is (:class:`RoundRobin`); one alone needs none."""
    if len(asking) == 1:
        return asking
    if len(asking) <= FEW:
        return choose_in_turn(m, asking, take)
    turn = RoundRobin(RoundRobinParams(count=len(asking)))
    m.submodules[name] = turn
    m.d.comb += [turn.asking.eq(asking), turn.take.eq(take)]
    return turn.grant


def chosen(grant: Value, values) -> Value:
    """Return the one of ``values`` whose bit is set in ``grant``; zeros if none is."""
    masked = [
        Value.cast(value) & grant[k].replicate(len(Value.cast(value)))
        for k, value in enumerate(values)
    ]
    while len(masked) > 1:
        pairs = [masked[k : k + 2] for k in range(0, len(masked), 2)]
        masked = [pair[0] | pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    return masked[0]


@dataclass(frozen=True, kw_only=True)
class CrossbarParams:
    """Sets inputs, outputs and beats of a :class:`Crossbar`, and whether it keeps packets whole."""

    inputs: int  #: how many there are, 1..64
    outputs: int  #: how many there are, 1..64
    width: int  #: width of a beat, at least 1
    last_bit: int | None = None  #: bit of a beat: it ends a packet; None: every beat does
    told_bits: int = 0  #: lowest bits of packets' first beats, told as they are taken; 0: none

    def __post_init__(self) -> None:
        for name in ("inputs", "outputs"):
            if not 1 <= getattr(self, name) <= 64:
                raise ValueError(f"{name} must be from 1 to 64: {getattr(self, name)}")
        if self.width < 1:
            raise ValueError(f"width must be at least 1: {self.width}")
        if self.last_bit is not None and not 0 <= self.last_bit < self.width:
            raise ValueError(
                f"last_bit must be None or from 0 to {self.width - 1}: {self.last_bit}"
            )
        if not 0 <= self.told_bits <= self.width:
            raise ValueError(f"told_bits must be from 0 to {self.width}: {self.told_bits}")
        if self.told_bits and self.last_bit is None:
            raise ValueError("told_bits are of packets: they need a last_bit")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: inputs, outputs, width, and packets' sizes."""
        last = "" if self.last_bit is None else f"_last_{self.last_bit}"
        told = f"_told_{self.told_bits}" if self.told_bits else ""
        return f"{self.inputs}x{self.outputs}_{self.width}{last}{told}"

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat and the number of the output that it goes to."""
        return data.StructLayout({"to": max(1, ceil_log2(self.outputs)), "beat": self.width})

    @property
    def begins(self) -> data.StructLayout:
        """Describe what is told of a first beat."""
        return data.StructLayout({"valid": 1, "told": self.told_bits})


class Crossbar(Component):
    """Every beat of an ``i`` goes to ``o[to]``, which takes inputs in turn.

    Beats of one input for one output stay in order. A beat that waits for its output holds up
    those behind it. Throughput: a beat a cycle at each input and output while no two inputs want
    the same output. Latency: :attr:`latency`; ``o`` is registers, ``i.ready`` follows what the
    inputs ask for combinationally: ``to``, and ``valid`` where every beat stands alone. ``to`` must
    be the number of an output; where there is one alone, it is not looked at.

    With ``params.last_bit`` packets stay whole: an output that has taken a first beat takes that
    input's beats up to the one with this bit set, and nobody else's. ``to`` must be the same in
    all beats of a packet: nothing keeps it here. A first beat that waits may go away. An output
    that stands holds up only the inputs whose packet is for it. Whose turn it is, is decided a
    cycle ahead: an output gives a beat in every cycle, from packet to packet too, while inputs
    wait; a packet for an output that has nothing else to do is taken a cycle after it comes, even
    if its input was busy until then. With ``params.told_bits`` an output's ``begins`` is ``valid``
    in the cycle in which it takes a packet's first beat, and has that many lowest bits of it.
    """

    latency = StreamRegister.latency

    def __init__(self, params: CrossbarParams) -> None:
        super().__init__(
            params,
            {
                "i": In(stream.Signature(params.beat)).array(params.inputs),
                "o": Out(stream.Signature(params.width)).array(params.outputs),
                "empty": Out(1),
                **(
                    {"begins": Out(params.begins).array(params.outputs)} if params.told_bits else {}
                ),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        taken = [[] for _ in range(params.inputs)]  # by each output
        for k, o in enumerate(self.o):
            register = StreamRegister(StreamRegisterParams(width=params.width))
            m.submodules[f"output_{k}"] = register
            wants = Signal(params.inputs, name=f"wants_{k}")
            asking = Signal(params.inputs, name=f"asking_{k}")
            grant = Signal(params.inputs, name=f"grant_{k}")
            m.d.comb += [
                wants.eq(Cat(i.payload.to == k if params.outputs > 1 else 1 for i in self.i)),
                asking.eq(wants & Cat(i.valid for i in self.i)),
            ]
            if params.last_bit is None:
                turn = add_choice(m, f"turn_{k}", asking, register.i.ready)
                m.d.comb += [grant.eq(turn), register.i.valid.eq(asking.any())]
                selected = grant
            else:
                # A turn is a register: who has it may be ready before it is known that he comes.
                selected = self.packet_turn(m, k, asking, register.i)
                m.d.comb += [
                    grant.eq(wants & selected),
                    register.i.valid.eq((asking & selected).any()),
                ]
            m.d.comb += [
                register.i.payload.eq(chosen(selected, [i.payload.beat for i in self.i])),
                o.valid.eq(register.o.valid),
                o.payload.eq(register.o.payload),
                register.o.ready.eq(o.ready),
            ]
            for number, outputs in enumerate(taken):
                outputs.append(grant[number] & register.i.ready)
        for i, outputs in zip(self.i, taken, strict=True):
            m.d.comb += i.ready.eq(Cat(outputs).any())
        m.d.comb += self.empty.eq(~Cat(o.valid for o in self.o).any())
        if params.last_bit is not None:
            expect(m, self, packets_keep_their_way=lambda: self.packets_keep_their_way(m))
        return m

    def packet_turn(self, m: Module, k: int, asking: Value, taken: Any) -> Signal:
        """Return the input whose packet output ``k`` takes, one bit of all.

        ``taken`` is the stream of its beats. The turn goes on with the last one, or when there is
        no packet and somebody else has one.
        """
        turn = Signal(self.params.inputs, name=f"turn_{k}", init=1)
        inside = Signal(name=f"inside_{k}")  # its packet has begun
        ends = taken.payload[self.params.last_bit]
        if self.params.told_bits:
            m.d.comb += [
                self.begins[k].valid.eq(taken.valid & taken.ready & ~inside),
                self.begins[k].told.eq(taken.payload[: self.params.told_bits]),
            ]
        with m.If(taken.valid & taken.ready):
            m.d.sync += inside.eq(~ends)
        with m.If(Mux(taken.valid, taken.ready & ends, ~inside) & asking.any()):
            m.d.sync += turn.eq(next_above(asking, turn))
        return turn

    def packets_keep_their_way(self, m: Module) -> Value:
        """State that a packet goes on to the output that it began for."""
        wrong = []
        for number, i in enumerate(self.i):
            to = Signal.like(i.payload.to, name=f"to_{number}")
            inside = Signal(name=f"inside_packet_{number}")
            with m.If(i.valid & i.ready):
                m.d.sync += [to.eq(i.payload.to), inside.eq(~i.payload.beat[self.params.last_bit])]
            wrong.append(i.valid & inside & (i.payload.to != to))
        return ~Cat(wrong).any()
