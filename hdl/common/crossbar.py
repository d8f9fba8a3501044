"""From several streams to several others, by what each beat says."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.common.round_robin import RoundRobin, RoundRobinParams
from hdl.common.streams import StreamRegister, StreamRegisterParams


def add_choice(m: Module, name: str, asking: Value, take: Value) -> Value:
    """Return the bit of ``asking`` whose turn it is (:class:`RoundRobin`); one alone needs none."""
    if len(asking) == 1:
        return asking
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
    """Sizes of a crossbar."""

    inputs: int  #: how many there are, 1..64
    outputs: int  #: how many there are, 1..64
    width: int  #: width of a beat, at least 1
    last_bit: int | None = None

    def __post_init__(self) -> None:
        for name in ("inputs", "outputs"):
            if not 1 <= getattr(self, name) <= 64:
                raise ValueError(f"{name} must be from 1 to 64: {getattr(self, name)}")
        if self.width < 1:
            raise ValueError(f"width must be at least 1: {self.width}")

    @property
    def suffix(self) -> str:
        """Tells inputs, outputs and width."""
        return f"{self.inputs}x{self.outputs}_{self.width}"

    @property
    def beat(self) -> data.StructLayout:
        """Describe a beat and the number of the output that it goes to."""
        return data.StructLayout({"to": max(1, ceil_log2(self.outputs)), "beat": self.width})


class Crossbar(Component):
    """Every beat of an ``i`` goes to ``o[to]``, which takes inputs in turn.

    Beats of one input for one output stay in order. A beat that waits for its output holds up
    those behind it. Throughput: a beat a cycle at each input and output while no two inputs want
    the same output. Latency: :attr:`latency`; ``o`` is registers, ``i.ready`` follows what the
    inputs ask for combinationally. ``to`` must be the number of an output.
    """

    latency = StreamRegister.latency

    def __init__(self, params: CrossbarParams) -> None:
        super().__init__(
            params,
            {
                "i": In(stream.Signature(params.beat)).array(params.inputs),
                "o": Out(stream.Signature(params.width)).array(params.outputs),
                "empty": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        last_bit = params.last_bit
        taken = [[] for _ in range(params.inputs)]  # by each output
        for k, o in enumerate(self.o):
            register = StreamRegister(StreamRegisterParams(width=params.width))
            m.submodules[f"output_{k}"] = register
            asking = Signal(params.inputs, name=f"asking_{k}")
            m.d.comb += asking.eq(
                Cat(i.valid & (i.payload.to == k if params.outputs > 1 else 1) for i in self.i)
            )
            grant = Signal(params.inputs, name=f"grant_{k}")
            inside = Signal(name=f"inside_{k}")
            held = Signal(params.inputs, name=f"held_{k}")
            choice = add_choice(m, f"turn_{k}", asking, register.i.ready & ~inside)
            with m.If(register.i.valid & register.i.ready):
                m.d.sync += [
                    inside.eq(0 if last_bit is None else ~register.i.payload[last_bit]),
                    held.eq(grant),
                ]
            m.d.comb += [
                grant.eq(Mux(inside, held & asking, choice)),
                register.i.valid.eq(grant.any()),
                register.i.payload.eq(chosen(grant, [i.payload.beat for i in self.i])),
                o.valid.eq(register.o.valid),
                o.payload.eq(register.o.payload),
                register.o.ready.eq(o.ready),
            ]
            for number, outputs in enumerate(taken):
                outputs.append(grant[number] & register.i.ready)
        for i, outputs in zip(self.i, taken, strict=True):
            m.d.comb += i.ready.eq(Cat(outputs).any())
        m.d.comb += self.empty.eq(~Cat(o.valid for o in self.o).any())
        return m
