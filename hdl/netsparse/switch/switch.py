"""Connects the NetSparse switch: ports, middle pipes with Property Caches, registers, counters."""

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import low_bits
from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.counter_banks import CounterBanks
from hdl.common.packets import AXIS
from hdl.common.register_block import RegisterBlock
from hdl.netsparse.switch.cut_end import CutEnd
from hdl.netsparse.switch.packet_path import PacketPath
from hdl.netsparse.switch.params import CLASSES, KINDS, NetSparseSwitchParams
from hdl.netsparse.switch.registers import constants, switch_registers
from hdl.netsparse.switch.switch_counters import (
    PIPE_COUNTERS,
    PORT_COUNTERS,
    count_pipe,
    count_port,
)


class NetSparseSwitch(Component):
    """Forwards packets of property requests between nodes and racks (NetSparse, section 6.2).

    Each port has an AXI4-Stream for each class and direction: reads, and responses with errors. A
    packet is lost only if it is malformed, has no route, or is inside, even partly, at a reset;
    full links stall their senders, each class separately. A host enters routes and settings and
    reads counters through ``s_axil`` (:mod:`hdl.netsparse.switch.registers`).

    With ``params.pipes``, packets pass middle pipes, where reads to other racks are answered from a
    cache of the properties that came from there (:class:`MiddlePipe`). Without ``params.pipes``,
    packets stay whole.

    Throughput: a beat of 64 bytes a cycle at every port, of each class; for middle pipes see
    :class:`MiddlePipe`. :attr:`latencies` are from a beat of a packet to the same beat at the
    output, or those of :class:`MiddlePipe`.
    """

    register_map = staticmethod(switch_registers)

    def __init__(self, params: NetSparseSwitchParams) -> None:
        self.registers = switch_registers(params)
        self.latencies = PacketPath(params).latencies
        super().__init__(
            params,
            s_axil=In(AxiLiteSignature(address_bits=self.registers.address_bits)),
            **{f"s_axis_{name}": In(AXIS).array(params.ports) for name in CLASSES},
            **{f"m_axis_{name}": Out(AXIS).array(params.ports) for name in CLASSES},
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.registers = registers = RegisterBlock(self.registers)
        m.domains.packets = packets = ClockDomain(local=True)
        path = PacketPath(params)
        m.submodules.path = DomainRenamer("packets")(path)
        empties = Signal(init=1)  # the path is reset: a register, which can be replicated
        m.d.sync += empties.eq(registers.control.reset_packets)
        m.d.comb += [packets.clk.eq(ClockSignal()), packets.rst.eq(empties)]
        connect(m, flipped(self.s_axil), registers.axil)
        for name in CLASSES:
            for k in range(params.ports):
                come = getattr(self, f"s_axis_{name}")[k]
                begins = Signal(init=1, name=f"{name}_begins_{k}")  # the next beat begins a packet
                with m.If(come.tvalid & come.tready):
                    m.d.sync += begins.eq(come.tlast)
                m.d.comb += getattr(path, f"{name}_begin")[k].eq(begins)
                connect(m, flipped(come), getattr(path, f"{name}_i")[k])
                m.submodules[f"{name}_end_{k}"] = end = CutEnd()
                m.d.comb += end.cut.eq(empties)
                connect(m, getattr(path, f"{name}_o")[k], end.i)
                connect(m, end.o, flipped(getattr(self, f"m_axis_{name}")[k]))
        self.settle(m, registers, path)
        self.count(m, registers, path)

    def settle(self, m: Module, registers: RegisterBlock, path: PacketPath) -> None:
        """Connect the host's settings to the parts."""
        params, settings, status = self.params, registers.control, registers.status
        exists = (settings.route_node < params.nodes) & (settings.route_port < params.ports)
        named = ("cache", "property_bytes", "concatenate", "node", "ip_base")
        m.d.comb += [
            *(status[name].eq(value) for name, value in constants(params).items()),
            status.route_illegal.eq(~exists),
            path.write.valid.eq(settings.write_route & exists),
            path.write.node.eq(settings.route_node),
            path.write.route.port.eq(low_bits(settings.route_port, params.port_bits)),
            path.write.route.known.eq(settings.route_known),
            path.routed_inputs.eq(settings.route_inputs[: params.ports]),
            *(path.routed_kinds[name].eq(settings[f"route_{name}"]) for name in KINDS),
            path.uplinks.eq(settings.uplinks[: params.ports]),
            path.configure.eq(settings.configure),
            *(path.settings[name].eq(settings[name]) for name in named),
            *(
                path.settings[name].eq(low_bits(settings[name], len(path.settings[name])))
                for name in ("read_delay", "response_delay")
            ),
            path.settings.mac_base.eq(Cat(settings.mac_base_low, settings.mac_base_high)),
            path.stall_limit.eq(settings.stall_limit),
            status.clearing.eq(path.busy),
            status.stalled.eq(path.stalled),
        ]

    def count(self, m: Module, registers: RegisterBlock, path: PacketPath) -> None:
        """Connect the events of ports and middle pipes to counters."""
        params, settings, status = self.params, registers.control, registers.status
        m.submodules.port_counters = ports = CounterBanks.sized(
            counters=PORT_COUNTERS, count=params.ports
        )
        for k, (events, happened) in enumerate(zip(ports.events, path.port_events, strict=True)):
            for name in CLASSES:
                link = getattr(self, f"m_axis_{name}")[k]
                m.d.comb += count_port(m, k, events, name, happened[name], link)
        banks = [(ports, settings.port_counter, status.port_count)]
        if params.pipes:
            m.submodules.pipe_counters = pipes = CounterBanks.sized(
                counters=PIPE_COUNTERS, count=params.pipes
            )
            for events, happened in zip(pipes.events, path.events, strict=True):
                m.d.comb += count_pipe(events, happened)
            banks.append((pipes, settings.pipe_counter, status.pipe_count))
        for bank, counter, value in banks:
            m.d.comb += [
                bank.clear.eq(settings.clear_counters),
                bank.part.eq(settings.counter_part),
                bank.select.eq(counter),
                value.eq(bank.value),
            ]
