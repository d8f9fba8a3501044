"""Passes a port's commands to a switch of tenants, one at a time, and sends their answers."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.event_counters import CountersParams, widths
from hdl.common.packets import AXIS
from hdl.switch.frame_format import copied
from hdl.switch.tenancy import TENANT_ANSWER, TENANT_COMMAND
from hdl.switch.tenancy_head import TENANCY_FRAMES, TenancyHead

#: Lists every counter, with the width of the number that a cycle adds, and what it counts.
CONTROL_COUNTED = {
    "commands": (1, "commands that were taken; each is answered once"),
    "lost_commands": (1, "commands lost, as the one before was not answered yet"),
    "closed_commands": (1, "commands lost, as the port takes none"),
}
CONTROL_COUNTERS = CountersParams(name="control", counters=widths(CONTROL_COUNTED), bits=32)

#: Describes the fields of a command that :class:`TenantControl` reads or the answer repeats.
STORED = data.StructLayout(
    {"source": 48, "switch": 32, **{name: field.shape for name, field in TENANT_COMMAND}}
)


class ControlPort(Component):
    """Passes a port's commands on, and sends each answer back to the command's source.

    ``comes`` pulses for a command with the header ``head``. If the port is ``open`` the command is
    passed to ``commands``. Its ``answer`` comes later, in a cycle with ``answered``, and is sent on
    ``axis`` as a frame from ``address`` to the command's source, with the switch, job and epoch of
    the command. A command that comes before that, or while the port is closed, is lost. ``events``
    count the commands taken, and both kinds of lost ones.

    ``packets``, of one beat each, pass through to ``axis`` in the same cycle. An answer takes the
    place of one beat, so it delays packets by a cycle, and waits only for the packet that is being
    sent. Latency: one cycle from a command to ``commands``, two from its answer to ``axis``.
    """

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            address=In(48),
            open=In(1),
            comes=In(1),
            head=In(TenancyHead),
            commands=Out(stream.Signature(TENANT_COMMAND)),
            answered=In(1),
            answer=In(TENANT_ANSWER),
            packets=In(AXIS),
            axis=Out(AXIS),
            events=Out(CONTROL_COUNTERS.events),
        )

    def build(self, m: Module) -> None:
        head: Any = Signal(STORED, reset_less=True)
        answer = Signal(TENANT_ANSWER, reset_less=True)
        busy = Signal()  # a command is not answered yet
        demands = Signal()  # the command waits at ``commands``
        reports = Signal()  # the answer has come and has not been sent
        shows = Signal()  # the answer is being sent
        taken = Signal()
        m.d.comb += [
            taken.eq(self.comes & self.open & ~busy),
            self.events.commands.eq(taken),
            self.events.lost_commands.eq(self.comes & self.open & busy),
            self.events.closed_commands.eq(self.comes & ~self.open),
            self.commands.valid.eq(demands),
            *copied(self.commands.payload, head),
        ]
        with m.If(taken):
            m.d.sync += [*copied(head, self.head), busy.eq(1), demands.eq(1)]
        with m.Elif(self.commands.ready):
            m.d.sync += demands.eq(0)
        with m.If(self.answered):
            m.d.sync += [answer.eq(self.answer), reports.eq(1)]
        with m.If(shows & self.axis.tready):
            m.d.sync += [shows.eq(0), reports.eq(0), busy.eq(0)]
        with m.Elif(reports & (~self.packets.tvalid | self.axis.tready)):
            m.d.sync += shows.eq(1)  # no packet's beat waits at ``axis``, so none is withdrawn
        self.send(m, head, answer, shows)

    def send(self, m: Module, head: Any, answer: Any, shows: Signal) -> None:
        """Drive ``axis`` with the answer's frame while ``shows`` is high, else with ``packets``."""
        frame: Any = Signal(TenancyHead)
        m.d.comb += [
            *TENANCY_FRAMES.fill(frame, head.source, self.address),
            *(frame[name].eq(head[name]) for name in ("switch", "job", "epoch")),
            *copied(frame, answer),
            self.axis.tvalid.eq(shows | self.packets.tvalid),
            self.axis.tdata.eq(Mux(shows, frame.as_value(), self.packets.tdata)),
            self.axis.tkeep.eq(Mux(shows, TENANCY_FRAMES.keep, self.packets.tkeep)),
            self.axis.tlast.eq(shows | self.packets.tlast),
            self.axis.tuser.eq(~shows & self.packets.tuser),
            self.packets.tready.eq(~shows & self.axis.tready),
        ]
