"""Makes a design an RTL kernel for Vitis, by what its signature has."""

from collections.abc import Iterator
from typing import Any, ClassVar

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Module, ResetSignal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.axi_lite_decoder import AxiLiteDecoder
from hdl.common.component import Component
from hdl.common.crossing.reset_synchroniser import ResetSynchroniser, ResetSynchroniserParams
from hdl.common.packet_entry import STREAM, PacketEntry
from hdl.common.packet_exit import PacketExit
from hdl.common.packets import BEAT
from hdl.common.stream_arbiter import StreamArbiter
from hdl.netsparse.kind_split import KindSplit
from hdl.u280.axi_wires import connect_bus
from hdl.vitis.base_address import ADDRESS_BITS, BaseAddress, BaseAddressParams
from hdl.vitis.kernel_control import KernelControl
from hdl.vitis.kernel_registers import ADDRESS_BITS as REGISTER_BITS
from hdl.vitis.kernel_registers import KernelParams
from hdl.vitis.memory_mover import MemoryMover, MemoryMoverParams

CONTROL_BITS = REGISTER_BITS + 1  #: width of a byte address of s_axi_control
RESET = ResetSynchroniserParams(stages=15)
MODEL = "axi_model"  #: end of the name of the design's subordinate, and of the manager for it
HBM_CHANNELS = 32  #: channels, of 256 MB each, and the most managers
HOST = "HOST[0]"  #: the bank of host memory that a card reaches
CAGES = 2  #: ports of a card, and the most of a design


class Kernel(Component):
    """Wraps a ``design`` as UG1393's table of RTL kernel interfaces has it.

    ``s_axi_control`` has the design's registers at 0 and the kernel's own at 0x1000
    (:func:`kernel_registers`). Each AXI manager of the design is one of the kernel's, at the base
    address that the host sets (:class:`BaseAddress`); those in ``in_host`` reach host memory. A
    subordinate ``s_axi_model`` of the design is copied from and to the buffer of the manager
    ``m_axi_model`` (:class:`MemoryMover`). Each port of the design has a stream in, which never
    waits (:class:`PacketEntry`), and one out, which may have gaps within a packet; classes of
    packets share them (:class:`KindSplit`). Packets that the design marks as broken are dropped
    (:class:`PacketExit`). ``interrupt`` is a level, of a design with ``busy`` or ``irq``: see
    :class:`KernelControl`.

    ``ap_rst_n`` is low for two cycles of ``ap_clk`` or longer; the kernel's own reset lasts
    RESET.stages cycles more, and is asserted even while the clock stands still.
    """

    domains = ()
    clock, reset = "ap_clk", "ap_rst_n"
    design: ClassVar[type[Any]]
    in_host: ClassVar[tuple[str, ...]] = ()  #: names of managers, without ``m_axi_``
    #: the design's streams at a port, without ``s_`` and ``m_``; several are NetSparse's classes,
    #: and none is a design without a network
    streams: ClassVar[tuple[str, ...]] = ("axis",)
    breaks_off: ClassVar[bool] = False  #: whether the design may mark a packet as broken

    def __init__(self, params: Any) -> None:
        if getattr(params, "over_pcie", False):
            raise ValueError("host_bus must be axi in a kernel, which has no block for PCI Express")
        self.core = core = self.design(params)
        members = core.signature.members
        names = [name for name in members if name.startswith("m_axi_")]
        self.buses = {name: BaseAddressParams.of(members[name].signature) for name in names}
        self.shapes = {name: members[name].dimensions for name in names}
        self.mover: MemoryMoverParams | None = None
        if f"s_{MODEL}" in members:
            model = members[f"s_{MODEL}"].signature.flip()
            self.mover = MemoryMoverParams(
                address_bits=model.address_bits, data_bits=model.data_bits
            )
            self.buses[f"m_{MODEL}"] = BaseAddressParams.of(self.mover.axi)
            self.shapes[f"m_{MODEL}"] = ()
        self.macs = members[f"s_{self.streams[0]}"].dimensions if self.streams else (0,)
        if (count := len(self.ends())) > CAGES:
            raise ValueError(f"ports must be at most {CAGES}, those of the card: {count}")
        self.kernel = KernelParams(
            managers=tuple(name[6:] for name, *_ in self.managers()),
            entries=count * len(self.streams),
            copies=self.mover is not None,
            interrupt=next((name for name in ("busy", "irq") if name in members), "none"),
        )
        assert core.registers.address_bits == REGISTER_BITS
        assert core.reset_cycles <= RESET.stages + 2
        ports = {
            name: Out(bus.bus(ADDRESS_BITS)).array(*self.shapes[name])
            for name, bus in self.buses.items()
        }
        super().__init__(
            params,
            ap_clk=In(1),
            ap_rst_n=In(1),
            s_axi_control=In(AxiLiteSignature(address_bits=CONTROL_BITS)),
            **ports,
            **({"m_axis": Out(STREAM).array(*self.macs)} if self.streams else {}),
            **({"s_axis": In(STREAM).array(*self.macs)} if self.streams else {}),
            **({"interrupt": Out(1)} if self.kernel.requests else {}),
        )

    def managers(self) -> Iterator[tuple[str, str, int | None]]:
        """Yield each manager's port, the member that it belongs to, and its index there."""
        for name, dimensions in self.shapes.items():
            for k in range(*dimensions) if dimensions else (None,):
                yield name if k is None else f"{name}_{k}", name, k

    def ends(self) -> list[int | None]:
        """Return the index of each port of the network; None for the only one."""
        return list(range(*self.macs)) if self.macs else [None]

    def banks(self, memory: str = "HBM", count: int = HBM_CHANNELS) -> tuple[str, ...]:
        """Return the bank of each manager's buffer, as far apart as can be in the card's memory."""
        names = self.kernel.managers
        on_card = [name for name in names if name not in self.in_host]
        return tuple(
            f"{memory}[{on_card.index(name) * count // len(on_card)}]" if name in on_card else HOST
            for name in names
        )

    def build(self, m: Module) -> None:
        m.domains += ClockDomain("sync", local=True)
        m.submodules.kernel_reset = reset = ResetSynchroniser(RESET)
        m.d.comb += [
            ClockSignal().eq(self.ap_clk),
            reset.i.eq(~self.ap_rst_n),
            ResetSignal().eq(reset.reset),
        ]
        m.submodules.core = core = self.core
        control = self.add_control(m)
        mover = None if self.mover is None else self.add_mover(m, control, self.mover)
        for page, (port, name, k) in zip(control.pages, self.managers(), strict=True):
            m.submodules[port] = base = BaseAddress(self.buses[name])
            part = mover.memory if mover and MODEL in name else element(getattr(core, name), k)
            connect_bus(m, part, base.i)
            connect(m, base.o, flipped(element(getattr(self, name), k)))
            m.d.comb += base.page.eq(page)
        dropped = [entry.dropped for k in self.ends() for entry in self.add_port(m, k)]
        if dropped:
            m.d.comb += control.dropped.eq(Cat(dropped))

    def add_control(self, m: Module) -> KernelControl:
        """Add the registers of the kernel, and what leads to both maps."""
        m.submodules.decoder = decoder = AxiLiteDecoder.sized()
        m.submodules.control = control = KernelControl(self.kernel)
        connect(m, flipped(self.s_axi_control), decoder.i)
        connect(m, decoder.o[0], self.core.s_axil)
        connect(m, decoder.o[1], control.axil)
        if self.kernel.requests:
            m.d.comb += [
                getattr(control, f"design_{self.kernel.interrupt}").eq(
                    getattr(self.core, self.kernel.interrupt)
                ),
                self.interrupt.eq(control.irq),
            ]
        return control

    def add_mover(
        self, m: Module, control: KernelControl, params: MemoryMoverParams
    ) -> MemoryMover:
        """Add what copies the model."""
        m.submodules.mover = mover = MemoryMover(params)
        m.d.comb += [
            *(getattr(mover, n).eq(getattr(control, n)) for n in ("load", "store", "tick")),
            mover.transfer.eq(control.transfer),
            *(
                getattr(control, f"copy_{n}").eq(getattr(mover, n))
                for n in ("busy", "done", "broken")
            ),
            control.failed_beats.eq(mover.failed_beats),
            control.failed_bursts.eq(mover.failed_bursts),
        ]
        # it adds nothing, and its registers cut the paths to the design
        m.submodules.to_design = path = BaseAddress(BaseAddressParams.of(params.axi))
        connect_bus(m, mover.inner, path.i)
        connect_bus(m, path.o, getattr(self.core, f"s_{MODEL}"))
        return mover

    def add_port(self, m: Module, k: int | None) -> list[PacketEntry]:
        """Connect the streams of a port of the network; return its entries."""
        tail = "" if k is None else f"_{k}"
        come, go = (element(bus, k) for bus in (self.s_axis, self.m_axis))
        taken, sent = (
            [element(getattr(self.core, f"{side}_{name}"), k) for name in self.streams]
            for side in "sm"
        )
        sources = [come]
        if len(taken) > 1:
            m.submodules[f"split{tail}"] = split = KindSplit()
            connect_bus(m, come, split.mac)
            sources = list(split.o)
        if self.breaks_off:
            self.merge(m, tail, sent, go)
        else:
            connect_bus(m, sent[0], go)
        entries = []
        for number, (source, sink) in enumerate(zip(sources, taken, strict=True)):
            name = f"entry{tail}" + f"_{self.streams[number]}" * (len(taken) > 1)
            m.submodules[name] = entry = PacketEntry.sized()
            connect_bus(m, source, entry.i)
            connect(m, entry.o, sink)
            entries.append(entry)
        return entries

    def merge(self, m: Module, tail: str, sent: list[Any], go: Any) -> None:
        """Send packets that are whole, of all classes in turn, to one stream."""
        m.submodules[f"arbiter{tail}"] = arbiter = StreamArbiter.sized(
            shape=BEAT, count=len(sent), last_bit=BEAT["last"].offset
        )
        for source, turn, name in zip(sent, arbiter.i, self.streams, strict=True):
            m.submodules[f"exit{tail}_{name}"] = out = PacketExit.sized()
            connect(m, source, out.i)
            connect(m, out.o, turn)
        beat = arbiter.o.payload.payload
        m.d.comb += [
            go.tdata.eq(beat.data),
            go.tkeep.eq(beat.keep),
            go.tlast.eq(beat.last),
            *[go.tvalid.eq(arbiter.o.valid), arbiter.o.ready.eq(go.tready)],
        ]


def element(bus: Any, index: int | None) -> Any:
    """Return a bus, or one of an array of buses."""
    return bus if index is None else bus[index]
