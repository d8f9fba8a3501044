"""Vanilla model parallelism: no full activation enters backward before the last of its batch."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.params import EngineParams
from hdl.p4sgd.schedule import Schedule

COUNT_BITS = 17  #: of micro-batches that have been seen and not delivered


class BatchGate(Component):
    """Holds full activations back until their mini-batch is complete: P4SGD, section 2.2.

    ``seen`` counts full activations as they come in, ``delivered`` as they go on, both in order.
    With ``vanilla``, ``allowed`` is high while a delivered one would be of a mini-batch that has
    been seen to its end, so the backward pass overlaps neither its forward pass nor its
    communication; without, always.
    """

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            {
                "settings": In(params.settings),
                "start": In(1),
                "vanilla": In(1),
                "seen": In(1),
                "delivered": In(1),
                "allowed": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.schedule = schedule = Schedule(self.params)
        gathering = Signal(COUNT_BITS)
        complete = Signal(COUNT_BITS)
        ends = self.seen & schedule.current.last
        with m.If(ends):
            m.d.sync += [
                gathering.eq(0),
                complete.eq(complete + gathering + 1 - self.delivered),
            ]
        with m.Else():
            m.d.sync += [
                gathering.eq(gathering + self.seen),
                complete.eq(complete - (self.delivered & self.vanilla)),
            ]
        with m.If(self.start | ~self.vanilla):
            m.d.sync += [gathering.eq(0), complete.eq(0)]
        m.d.comb += [
            schedule.settings.eq(self.settings),
            schedule.start.eq(self.start),
            schedule.step.eq(self.seen),
            self.allowed.eq(~self.vanilla | (complete != 0)),
        ]
        return m
