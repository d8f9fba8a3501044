"""Merges the packets of all ports of a switch into one packet a cycle."""

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.round_robin import RoundRobin
from hdl.switch.ingress_port import IngressPort
from hdl.switch.params import PacketSwitchParams
from hdl.switch.tenancy_head import TenancyHead


class SwitchIngress(Component):
    """Takes the packets of all ports in round-robin order, one a cycle.

    ``packet`` is valid in cycles with ``valid``, and cannot be stalled; ``sender`` is the one-hot
    number of its port. While ``hold`` is high no packet is taken, so none follows a cycle later;
    ``waiting`` says that a port has one. Bits of ``overflows`` pulse when a port loses a packet. If
    jobs are tenants, bits of ``commands`` pulse when a command has come at a port, with its header
    in ``heads``. ``place`` is that of :class:`IngressPort`.

    Throughput: no cycle is idle while any port has a packet. Latency: :attr:`latency`, if no other
    port's packet is ahead.
    """

    def __init__(self, params: PacketSwitchParams) -> None:
        self.latency = IngressPort(params).latency + 1
        by_tenant = {
            "commands": Out(params.ports),
            "heads": Out(TenancyHead).array(params.ports),
        }
        super().__init__(
            params,
            axis=In(params.frames.axis).array(params.ports),
            address=In(48),
            **({"place": In(32)} if params.parents else {}),
            hold=In(1),
            waiting=Out(1),
            valid=Out(1),
            sender=Out(params.ports),
            packet=Out(params.packet),
            overflows=Out(params.ports),
            **(by_tenant if params.tenants else {}),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.turns = turns = RoundRobin.sized(count=params.ports)
        ports = []
        for k in range(params.ports):
            m.submodules[f"port_{k}"] = port = IngressPort(params)
            connect(m, flipped(self.axis[k]), port.axis)
            m.d.comb += [
                port.address.eq(self.address),
                port.bit.eq(1 << k),
                self.overflows[k].eq(port.overflow),
                port.packets.ready.eq(turns.grant[k] & ~self.hold),
            ]
            if params.tenants:
                m.d.comb += [self.commands[k].eq(port.command), self.heads[k].eq(port.head)]
            if params.parents:
                m.d.comb += port.place.eq(self.place)
            ports.append(port)
        packet = Signal(params.packet, reset_less=True)
        sender = Signal(params.ports, reset_less=True)
        m.d.comb += [
            turns.requesting.eq(Cat(port.packets.valid for port in ports)),
            turns.take.eq(~self.hold),
            self.waiting.eq(turns.requesting.any()),
            self.packet.eq(packet),
            self.sender.eq(sender),
        ]
        packets = Array(port.packets.payload.as_value() for port in ports)
        m.d.sync += [
            self.valid.eq(self.waiting & ~self.hold),
            sender.eq(turns.grant),
            packet.eq(params.packet(packets[turns.index])),
        ]
