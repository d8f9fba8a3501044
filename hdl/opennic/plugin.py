"""Makes a switch user logic of OpenNIC's box at 250 MHz."""

from typing import Any, ClassVar

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, Mux, Value
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.axi_guard import AxiGuardParams
from hdl.common.component import Component
from hdl.common.crossing.axi_crossing import AxiCrossing
from hdl.common.crossing.synchroniser import Synchroniser, SynchroniserParams
from hdl.common.event_counters import EventCounters
from hdl.common.register_block import RegisterBlock
from hdl.opennic.address_map import AddressMapParams
from hdl.opennic.box import BOX_STREAM, PORTS, mac_bit
from hdl.opennic.module_reset import ModuleReset
from hdl.opennic.port_paths import EVENTS, PortPaths, PortPathsParams
from hdl.opennic.registers import BASE, COUNTERS, plugin_registers

#: domain of what a reset of the plugin resets <- the clock that it has
RESET_DOMAINS = {"bus": "axil", "running": "sync"}


class SwitchPlugin(Component):
    """Places a switch of two ports between the MACs, and leads other packets to the host and back.

    Streams are those of the box, in its 250 MHz: ``s_axis_rx`` and ``m_axis_tx`` of each MAC,
    ``s_axis_h2c`` and ``m_axis_c2h`` of each function (:class:`PortPaths`). ``tuser_src`` of a
    packet that the switch made is 0, as it comes from neither a function nor a MAC. Registers are
    reached by ``s_axil_0``, the switch's, and ``s_axil_1``, the plugin's
    (:func:`plugin_registers`), in the box's 125 MHz, ``axil``. They cross to 250 MHz by an
    :class:`AxiCrossing`, which needs no constraint between clocks whose phases are aligned, and
    relies on no phase: a clock enable would.

    ``mod_rstn`` and ``mod_rst_done`` are a reset pair (:class:`ModuleReset`); ``resets`` is high
    while the plugin is reset, and answers nothing. No other reset is needed: ``rst`` and
    ``axil_rst`` may be tied low. Latency: the switch's and ``PortPaths``'s.
    """

    domains = ("sync", "axil")
    domain_mhz: ClassVar[dict[str, float]] = {"axil": 125}
    switch: ClassVar[type[Any]]
    ethertype: ClassVar[int]  #: that of the switch's packets
    streams: ClassVar[tuple[str, ...]] = ("axis",)  #: by class, without ``s_`` and ``m_``
    switch_words: ClassVar[int] = 512  #: beats of the switch's packets that wait for a MAC

    def __init__(self, params: Any) -> None:
        if params.ports != PORTS:
            raise ValueError(
                f"ports must be {PORTS} in OpenNIC's box, which has as many MACs: {params.ports}"
            )
        self.maps = (self.switch.register_map(params), plugin_registers())
        lite = [AxiLiteSignature(address_bits=map.address_bits) for map in self.maps]
        into, out = In(BOX_STREAM).array(PORTS), Out(BOX_STREAM).array(PORTS)
        super().__init__(
            params,
            **{f"s_axil_{k}": In(bus) for k, bus in enumerate(lite)},
            **{"s_axis_rx": into, "m_axis_tx": out, "s_axis_h2c": into, "m_axis_c2h": out},
            **{"mod_rstn": In(1), "mod_rst_done": Out(1), "resets": Out(1)},
        )

    @property
    def address_map(self) -> AddressMapParams:
        """Return where the registers are in the box's window."""
        bits = [map.address_bits for map in self.maps]
        return AddressMapParams(windows=((0, bits[0]), (BASE, bits[1])))

    @property
    def paths(self) -> PortPathsParams:
        """Return the sizes of a port's paths."""
        return PortPathsParams(ethertype=self.ethertype, switch_words=self.switch_words)

    def build(self, m: Module) -> None:
        reset = self.add_reset(m)
        in_run = DomainRenamer("running")
        m.submodules.core = core = in_run(self.switch(self.params))
        m.submodules.registers = registers = in_run(RegisterBlock(self.maps[1]))
        m.submodules.counters = counters = in_run(EventCounters(COUNTERS))
        for k, (map, bus) in enumerate(zip(self.maps, (core.s_axil, registers.axil), strict=True)):
            crossing = AxiCrossing(AxiGuardParams(address_bits=map.address_bits, lite=True))
            clocks = {"manager": "bus", "sync": "running"}
            m.submodules[f"registers_{k}"] = crossing = DomainRenamer(clocks)(crossing)
            connect(m, flipped(getattr(self, f"s_axil_{k}")), crossing.i)
            connect(m, crossing.o, bus)
        ports = [self.add_port(m, k, core, counters) for k in range(PORTS)]
        idle = ports[0].idle & ports[1].idle
        self.cross(m, "hold", "running", reset.hold, [port.hold for port in ports])
        self.cross(m, "idle", "bus", idle, [reset.idle])
        status = registers.status
        m.d.comb += [
            *(status[name].eq(value) for name, value in self.maps[1].constants.items()),
            *(status[name].eq(counters.counts[name]) for name, _ in COUNTERS.counters),
            counters.clear.eq(registers.control.clear_packets),
        ]

    def add_reset(self, m: Module) -> ModuleReset:
        """Add the reset's sequence, and the clock domains that it resets."""
        m.submodules.sequence = sequence = DomainRenamer("axil")(ModuleReset())
        m.submodules.crossed_reset = crossed = Synchroniser(SynchroniserParams())
        m.d.comb += [
            crossed.i.eq(sequence.reset),
            sequence.mod_rstn.eq(self.mod_rstn),
            self.mod_rst_done.eq(sequence.mod_rst_done),
            self.resets.eq(sequence.reset),
        ]
        for name, source in (("bus", sequence.reset), ("running", crossed.o)):
            m.domains += (domain := ClockDomain(name, local=True))
            m.d.comb += [domain.clk.eq(ClockSignal(RESET_DOMAINS[name])), domain.rst.eq(source)]
        return sequence

    def add_port(self, m: Module, k: int, core: Any, counters: EventCounters) -> PortPaths:
        """Add the paths between a MAC, the host and the switch."""
        m.submodules[f"port_{k}"] = port = DomainRenamer("running")(PortPaths(self.paths))
        connect(m, flipped(self.s_axis_rx[k]), port.rx)
        connect(m, flipped(self.s_axis_h2c[k]), port.h2c)
        for number, name in enumerate(self.streams):
            connect(m, port.to_switch[number], getattr(core, f"s_{name}")[k])
            connect(m, getattr(core, f"m_{name}")[k], port.from_switch[number])
        sent = port.tx.payload
        source = Mux(sent.index == 0, 1 << k, 0)
        to_box(m, port.tx, sent.payload, self.m_axis_tx[k], source, mac_bit(k))
        to_box(m, port.c2h, port.c2h.payload, self.m_axis_c2h[k], mac_bit(k), 1 << k)
        m.d.comb += [counters.events[f"port_{k}_{name}"].eq(port.events[name]) for name in EVENTS]
        return port

    def cross(self, m: Module, name: str, domain: str, level: Value, sinks: list[Any]) -> None:
        """Synchronise a level to the clock of ``domain``."""
        path = DomainRenamer(RESET_DOMAINS[domain])(Synchroniser(SynchroniserParams()))
        m.submodules[name] = path
        m.d.comb += [path.i.eq(level), *(sink.eq(path.o) for sink in sinks)]


def to_box(m: Module, source: Any, beat: Any, box: Any, src: Any, dst: Any) -> None:
    """Connect a stream of sized beats to one of the box, with these bits of its ends."""
    m.d.comb += [
        box.tvalid.eq(source.valid),
        source.ready.eq(box.tready),
        box.tdata.eq(beat.data),
        box.tkeep.eq(beat.keep),
        box.tlast.eq(beat.last),
        box.tuser_size.eq(beat.size),
        box.tuser_src.eq(src),
        box.tuser_dst.eq(dst),
    ]
