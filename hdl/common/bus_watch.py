"""Declares the state of an AXI master's bus, and the time-out after which a bus is abandoned."""

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.params import Params, whole

#: Describes the inputs of a port for errors of its bus. ``tick``: another time-out has passed
#: (:class:`BusTimer`). ``revive``: use a broken bus again, if it owes nothing.
WATCH = data.StructLayout({"tick": 1, "revive": 1})

#: Describes the state that a port reports of its bus. ``broken``: the bus has sent an answer
#: without a request, or, with ``silent``, has not answered in time; until it is revived, all
#: requests to the port fail at once. ``owes``: the bus still has to take a request, or to answer
#: one. ``dropped``: a pulse for each answer that was dropped.
BUS = data.StructLayout({"broken": 1, "silent": 1, "owes": 1, "dropped": 1})


def any_of(m: Module, bus: Any, parts: list) -> None:
    """Drive each bit of ``bus`` with the OR of that bit of ``parts``."""
    for name in BUS.members:
        said = parts[0][name]
        for part in parts[1:]:
            said = said | part[name]
        m.d.comb += bus[name].eq(said)


def overdue(m: Module, tick: Value, waiting: Value, moved: Value) -> Signal:
    """Return a pulse when ``waiting`` lasted from one tick to the next without a movement.

    So it comes between one and two time-outs after the last movement, and needs no counter in each
    port.
    """
    quiet = Signal()  # nothing has moved since the last tick
    late = Signal()
    stands = Signal()
    m.d.comb += stands.eq(waiting & ~moved)
    m.d.sync += late.eq(tick & quiet & stands)
    with m.If(~stands):
        m.d.sync += quiet.eq(0)
    with m.Elif(tick):
        m.d.sync += quiet.eq(1)
    return late


class BusTimerParams(Params, suffix="{bits}"):
    """Sets the width of a :class:`BusTimer`'s count of cycles."""

    bits: int = whole(2, 64, default=32)  #: width of a number of cycles


class BusTimer(Component):
    """Raises ``tick`` for a cycle in every ``limit`` + 2 cycles, and never if ``limit`` is 0.

    A port whose bus makes no progress abandons it at the second tick: between ``limit`` and 2 *
    ``limit`` + 4 cycles after the last movement. ``limit`` may change at any time.
    """

    def __init__(self, params: BusTimerParams) -> None:
        super().__init__(params, limit=In(params.bits), tick=Out(1))

    def build(self, m: Module) -> None:
        count = Signal(self.params.bits)
        m.d.sync += [
            count.eq(count + 1),
            self.tick.eq((count >= self.limit) & self.limit.any() & ~self.tick),
        ]
        with m.If(self.tick):
            m.d.sync += count.eq(0)
