"""Takes the host's commands to a switch of tenants from its registers."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switch.tenancy import TENANT_ANSWER, TENANT_COMMAND


class HostCommand(Component):
    """Passes on a command that a host has written, and keeps its answer for the host to read.

    In a cycle with ``start`` the ``command`` is taken, and passed to ``commands`` a cycle later.
    While a command is ``busy`` none is taken; ``ignored`` says that one was refused for that
    reason, until the next one is taken. ``reported`` is the answer to the last command that was
    answered.
    """

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            start=In(1),
            command=In(TENANT_COMMAND),
            busy=Out(1),
            ignored=Out(1),
            reported=Out(TENANT_ANSWER),
            commands=Out(stream.Signature(TENANT_COMMAND)),
            answered=In(1),
            answer=In(TENANT_ANSWER),
        )

    def build(self, m: Module) -> None:
        payload = Signal(TENANT_COMMAND, reset_less=True)
        m.d.comb += self.commands.payload.eq(payload)
        with m.If(self.commands.ready):
            m.d.sync += self.commands.valid.eq(0)
        with m.If(self.answered):
            m.d.sync += [self.reported.eq(self.answer), self.busy.eq(0)]
        with m.If(self.start):
            m.d.sync += self.ignored.eq(self.busy)
            with m.If(~self.busy):
                m.d.sync += [payload.eq(self.command), self.commands.valid.eq(1), self.busy.eq(1)]
