"""Merges the commands to a switch of tenants: frames at its ports, and the host's registers."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.counter_banks import MAX_PARTS, CounterBanks
from hdl.common.packets import AXIS
from hdl.common.stream_arbiter import StreamArbiter
from hdl.common.streams import forward
from hdl.switch.control_port import CONTROL_COUNTERS, ControlPort
from hdl.switch.host_command import HostCommand
from hdl.switch.params import PacketSwitchParams
from hdl.switch.tenancy import TENANT_ANSWER, TENANT_COMMAND
from hdl.switch.tenancy_head import TenancyHead


class ControlPlane(Component):
    """Arbitrates the commands of all ports and of the host, and routes each answer back.

    ``comes``, ``heads`` and ``open`` are those of each port's :class:`ControlPort`, which stands
    between its ``packets`` and its ``axis``; ``start``, ``command``, ``busy``, ``ignored`` and
    ``reported`` are those of :class:`HostCommand`. All sources share ``commands`` in round-robin
    order, so a command waits for at most one of every other source, and for the two that were
    granted before it. ``value`` is counter ``select`` of port ``part``
    (:class:`hdl.common.counter_banks.CounterBanks`).

    A port takes commands only if the host has opened it, because whoever sends commands can end the
    grants of all jobs, and workers are not trusted.
    """

    def __init__(self, params: PacketSwitchParams) -> None:
        ports = params.ports
        super().__init__(
            params,
            address=In(48),
            open=In(ports),
            comes=In(ports),
            heads=In(TenancyHead).array(ports),
            packets=In(AXIS).array(ports),
            axis=Out(AXIS).array(ports),
            start=In(1),
            command=In(TENANT_COMMAND),
            busy=Out(1),
            ignored=Out(1),
            reported=Out(TENANT_ANSWER),
            commands=Out(stream.Signature(TENANT_COMMAND)),
            answered=In(1),
            answer=In(TENANT_ANSWER),
            clear=In(1),
            part=In(range(MAX_PARTS)),
            select=In(CONTROL_COUNTERS.index_bits),
            value=Out(CONTROL_COUNTERS.bits),
        )

    def build(self, m: Module) -> None:
        count = self.params.ports
        m.submodules.host = host = HostCommand()
        m.submodules.turns = turns = StreamArbiter.sized(shape=TENANT_COMMAND, count=count + 1)
        m.submodules.counters = counters = CounterBanks.sized(
            counters=CONTROL_COUNTERS, count=count
        )
        ports = []
        for k in range(count):
            m.submodules[f"port_{k}"] = port = ControlPort()
            connect(m, flipped(self.packets[k]), port.packets)
            connect(m, port.axis, flipped(self.axis[k]))
            m.d.comb += [
                port.address.eq(self.address),
                port.open.eq(self.open[k]),
                port.comes.eq(self.comes[k]),
                port.head.eq(self.heads[k]),
                counters.events[k].eq(port.events),
            ]
            ports.append(port)
        owner = Signal.like(turns.o.payload.index)  # source of the command that is not answered yet
        with m.If(self.commands.valid & self.commands.ready):
            m.d.sync += owner.eq(turns.o.payload.index)
        for k, source in enumerate([*ports, host]):
            connect(m, source.commands, turns.i[k])
            m.d.comb += [
                source.answered.eq(self.answered & (owner == k)),
                source.answer.eq(self.answer),
            ]
        m.d.comb += [
            *forward(turns.o, self.commands),
            self.commands.payload.eq(turns.o.payload.payload),
            host.start.eq(self.start),
            host.command.eq(self.command),
            self.busy.eq(host.busy),
            self.ignored.eq(host.ignored),
            self.reported.eq(host.reported),
            counters.clear.eq(self.clear),
            counters.part.eq(self.part),
            counters.select.eq(self.select),
            self.value.eq(counters.value),
        ]
