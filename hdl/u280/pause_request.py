"""Decides when the far end must stop sending a class, and when it may go on."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.u280.flow_control import HOLD_CYCLES, FlowControlParams


class PauseRequest(Component):
    """Raises ``request`` from ``used`` above ``params.stop_above`` to one at ``resume_at``.

    ``used`` are the words in the class's buffer; ``pause`` requests one whatever they are. Each
    level stays for :data:`HOLD_CYCLES`, as the MAC wants it. ``begins`` is high in the cycle in
    which ``request`` rises. Latency: :attr:`latency` from ``used`` or ``pause``, if the level has
    been held.
    """

    latency = 2

    def __init__(self, params: FlowControlParams) -> None:
        used = (params.beats - 1).bit_length() + 1
        super().__init__(params, used=In(used), pause=In(1), request=Out(1), begins=Out(1))

    def build(self, m: Module) -> None:
        above = Signal()
        below = Signal()
        held = Signal(range(HOLD_CYCLES))  # cycles of this level, less one
        free = Signal()
        m.d.sync += [
            above.eq(self.pause | (self.used > self.params.stop_above)),
            below.eq(~self.pause & (self.used <= self.params.resume_at)),
            self.begins.eq(0),
        ]
        m.d.comb += free.eq(held.all())
        with m.If(~free):
            m.d.sync += held.eq(held + 1)
        with m.If(free & above & ~self.request):
            m.d.sync += [self.request.eq(1), self.begins.eq(1), held.eq(0)]
        with m.If(free & below & self.request):
            m.d.sync += [self.request.eq(0), held.eq(0)]
