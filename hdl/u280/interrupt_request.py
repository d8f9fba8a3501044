"""Turns a level into the requests that PCI Express sends interrupts of."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component


class InterruptRequest(Component):
    """Raises ``request`` with ``level``, until it is acknowledged and the level has been low.

    ``request`` goes to ``usr_irq_req`` and ``ack`` comes from ``usr_irq_ack``: a request must stay
    until it is acknowledged and the host has served it, and only a rising request sends an
    interrupt (PG194, "MSI and Internal MSI-X Interrupts"; PG195, "User Interrupts"). So a level
    that falls and rises again, whenever that is, sends another. Latency: one cycle.
    """

    def __init__(self, params: None = None) -> None:
        super().__init__(params, level=In(1), ack=In(1), request=Out(1))

    def build(self, m: Module) -> None:
        low = Signal()  # since the request
        acknowledged = Signal()
        was_low, was_acknowledged = low | ~self.level, acknowledged | self.ack
        with m.If(~self.request):
            m.d.sync += [self.request.eq(self.level), low.eq(0), acknowledged.eq(0)]
        with m.Else():
            m.d.sync += [
                low.eq(was_low),
                acknowledged.eq(was_acknowledged),
                self.request.eq(~(was_low & was_acknowledged)),
            ]
