"""Keeps what a worker has had accepted in a slot, as the verdicts on its packets tell."""

from amaranth.hdl import Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.p4sgd.switch.params import SwitchParams
from hdl.switch.slots import USES


def record_layout(params: SwitchParams) -> data.StructLayout:
    """Return the last partial activation, its use, and the use acknowledged last."""
    return data.StructLayout({"values": params.payload, "provided": 8, "acked": 8})


class WorkerRecord(Component):
    """Keeps a worker's last partial activation that was ``added``, and acknowledgement.

    ``after`` includes the packet of this cycle, ``before`` does not. A ``start`` counts as if
    the worker had given 0 to use -1 and had acknowledged the sum.
    """

    def __init__(self, params: SwitchParams) -> None:
        super().__init__(
            params,
            start=In(1),
            added=In(1),
            acknowledged=In(1),
            use=In(8),
            payload=In(params.payload),
            before=Out(record_layout(params)),
            after=Out(record_layout(params)),
        )

    def build(self, m: Module) -> None:
        m.d.comb += self.after.eq(self.before)
        m.d.sync += self.before.eq(self.after)
        with m.If(self.added):
            m.d.comb += [self.after.provided.eq(self.use), self.after.values.eq(self.payload)]
        with m.If(self.acknowledged):
            m.d.comb += self.after.acked.eq(self.use)
        with m.If(self.start):
            m.d.sync += [
                self.before.values.eq(0),
                self.before.provided.eq(USES - 1),
                self.before.acked.eq(USES - 1),
            ]
