"""Which unit's property comes next."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.common.round_robin import RoundRobin, RoundRobinParams


@dataclass(frozen=True, kw_only=True)
class UnitArbiterParams:
    """Sizes of a choice."""

    units: int  #: who ask, 1..64
    width: int  #: bits of a beat, ``last`` left out

    def __post_init__(self) -> None:
        if not 1 <= self.units <= 64:
            raise ValueError(f"units must be from 1 to 64: {self.units}")
        if self.width < 1:
            raise ValueError(f"width must be at least 1: {self.width}")

    @property
    def suffix(self) -> str:
        """Units and width."""
        return f"u{self.units}_w{self.width}"

    @property
    def beat(self) -> data.StructLayout:
        """What a unit sends."""
        return data.StructLayout({"body": self.width, "last": 1})

    @property
    def chosen(self) -> data.StructLayout:
        """The same, with who sent it."""
        return data.StructLayout({"body": self.width, "last": 1, "unit": bits_for(self.units - 1)})


def any_of(values: list[Value]) -> Value:
    """All ``values`` bit by bit, as a tree."""
    while len(values) > 1:
        values = [values[k] | v for k, v in enumerate(values[len(values) // 2 :])]
    return values[0]


class UnitArbiter(Component):
    """Beats of all ``i`` into one stream, up to ``last`` from one unit, then from the next.

    Round robin. The unit that is listened to is in a register, so that neither the choice nor the
    wide multiplexer waits for the other: while others ask, the choice goes on with the beat that
    ends a property, or when the unit has nothing to say; a unit alone keeps it.

    Throughput: one beat a cycle, also when each is of another unit or all are of one. Latency:
    ``latency`` cycles, and one more if the choice had to move. Stalls: holds. A unit that pauses
    before ``last`` holds up all others.
    """

    latency = 1

    def __init__(self, params: UnitArbiterParams) -> None:
        super().__init__(
            params,
            {
                "i": In(stream.Signature(params.beat)).array(params.units),
                "o": Out(stream.Signature(params.chosen)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        units = self.params.units
        grant = Signal(units, init=1)
        midway = Signal()  # of a property
        step = Signal()
        taken = Signal()
        beat = Signal(self.params.beat)
        chosen = Signal(self.params.chosen, reset_less=True)
        asking = Cat(unit.valid for unit in self.i)
        m.d.comb += [
            *(unit.ready.eq(grant[k] & step) for k, unit in enumerate(self.i)),
            step.eq(~self.o.valid | self.o.ready),
            taken.eq((asking & grant).any() & step),
            beat.eq(any_of([Mux(grant[k], unit.payload, 0) for k, unit in enumerate(self.i)])),
            self.o.payload.eq(chosen),
        ]
        with m.If(step):
            m.d.sync += [
                self.o.valid.eq(taken),
                chosen.body.eq(beat.body),
                chosen.last.eq(beat.last),
                chosen.unit.eq(any_of([Mux(grant[k], k, 0) for k in range(units)])),
            ]
        with m.If(taken):
            m.d.sync += midway.eq(~beat.last)
        if units > 1:
            m.submodules.turn = turn = RoundRobin(RoundRobinParams(count=units))
            quiet = ~(asking & grant).any() & ~midway
            m.d.comb += [
                turn.asking.eq(asking & ~grant),
                turn.take.eq((taken & beat.last) | quiet),
            ]
            with m.If(turn.take & turn.asking.any()):
                m.d.sync += grant.eq(turn.grant)
        return m
